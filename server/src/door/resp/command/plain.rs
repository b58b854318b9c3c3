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

/// `COMMAND [COUNT|DOCS [name …]|INFO [name …]|LIST]`.
pub fn command<'a>(args: &[&'a [u8]]) -> Result<Command<'a>, CommandError> {
    let Some((subcommand, names)) = args.split_first() else { return Ok(Command::Commands(Commands::All)) };
    let is = |name: &str| subcommand.eq_ignore_ascii_case(name.as_bytes());
    let commands = match names {
        [] if is("INFO") => Commands::All,
        names if is("INFO") => Commands::These(names.to_vec()),
        [] if is("LIST") => Commands::Names,
        [] if is("COUNT") => Commands::Count,
        _ if is("DOCS") => Commands::Docs,
        _ if is("COUNT") => return Err(CommandError::SubcommandArity("command|count")),
        [filter, ..] if is("LIST") => {
            return Err(CommandError::word("COMMAND LIST", "filter", filter, "none: all commands are listed"));
        }
        _ => return Err(CommandError::subcommand("COMMAND", subcommand, "COUNT, DOCS, INFO or LIST")),
    };
    Ok(Command::Commands(commands))
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
