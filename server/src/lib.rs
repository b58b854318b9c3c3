//! Tallyring: a rate-limit counter store.
//!
//! One question, *has this key used up its allowance?*, answered exactly for many gateways at once. The path of a request
//! is the list of modules: `entrance` lets a connection in, `acceptor` listens to its hello and hands it to a `shard`, which reads, decides and
//! answers; `door` holds the foreign protocols; `rules` is the document that every gateway enforces; `cluster` knows who owns
//! what; `observe` tells people; `node` starts them all. `sys` is the only way to the operating system's clock, sockets, threads and entropy.

pub mod acceptor;
pub mod cli;
pub mod cluster;
pub mod config;
pub mod data;
pub mod door;
pub mod entrance;
pub mod event;
pub mod limits;
pub mod node;
pub mod observe;
pub mod reload;
pub mod rules;
pub mod shard;
pub mod snapshot;
pub mod sys;
pub mod tokens;
