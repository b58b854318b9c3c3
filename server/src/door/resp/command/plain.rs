//! The commands that take next to nothing.

use super::error::CommandError;
use super::field::Reader;
use super::{Command, Commands};
use crate::door::resp::asked::Verb;

/// `TR.RESET key`.
pub fn tr_reset<'a>(args: &[&'a [u8]]) -> Result<Command<'a>, CommandError> {
    let reader = Reader { command: Verb::Reset.name() };
    reader.key(args[0]).map(Command::Forget)
}

/// `AUTH [user] token`.
pub fn auth<'a>(args: &[&'a [u8]]) -> Result<Command<'a>, CommandError> {
    Ok(Command::Auth { token: args.last().copied().unwrap_or_default() })
}

/// `PING [message]`.
pub fn ping<'a>(args: &[&'a [u8]]) -> Result<Command<'a>, CommandError> {
    Ok(Command::Ping(args.first().copied()))
}

/// `ECHO message`.
pub fn echo<'a>(args: &[&'a [u8]]) -> Result<Command<'a>, CommandError> {
    Ok(Command::Echo(args[0]))
}

/// `COMMAND [COUNT|DOCS|INFO …]`. Whoever asks for some is told all.
pub fn command<'a>(args: &[&'a [u8]]) -> Result<Command<'a>, CommandError> {
    let is = |name: &[u8]| args.first().is_some_and(|arg| arg.eq_ignore_ascii_case(name));
    match args {
        [] => Ok(Command::Commands(Commands::All)),
        _ if is(b"INFO") || is(b"LIST") => Ok(Command::Commands(Commands::All)),
        _ if is(b"COUNT") => Ok(Command::Commands(Commands::Count)),
        _ if is(b"DOCS") => Ok(Command::Commands(Commands::Docs)),
        [other, ..] => Err(CommandError::subcommand("COMMAND", other, "COUNT, DOCS or INFO")),
    }
}

/// `INFO [section …]`.
pub fn info<'a>(args: &[&'a [u8]]) -> Result<Command<'a>, CommandError> {
    Ok(Command::Info(args.to_vec()))
}

/// `SELECT 0`: there is one database.
pub fn select<'a>(args: &[&'a [u8]]) -> Result<Command<'a>, CommandError> {
    if args[0] == b"0" { Ok(Command::Select) } else { Err(CommandError::Database) }
}

/// A command whose arguments do not matter.
pub fn no_arguments<'a>(_args: &[&'a [u8]], command: Command<'a>) -> Result<Command<'a>, CommandError> {
    Ok(command)
}
