//! RESP2 and RESP3: what stock Redis clients speak, as pure functions between bytes and commands.
//!
//! The path of a command: `parse` finds its arguments in the bytes (`inline` for what a person typed), `command` looks it up
//! in the `catalogue` and reads its arguments, a shard decides it (`shard::resp`), `asked` remembers how its answer is worded,
//! `write` spells that out.
//!
//! Nothing here does I/O or keeps state, so that any bytes can be tried on it: a fuzz target does.

pub mod asked;
pub mod catalogue;
pub mod command;
pub mod info;
mod inline;
pub mod parse;
pub mod write;
