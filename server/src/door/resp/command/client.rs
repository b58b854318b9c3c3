//! `CLIENT`: what a connection says of itself and asks about itself.

use super::Command;
use super::error::CommandError;
use super::hello::client_name;

/// A subcommand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client<'a> {
    /// Which number does this connection have?
    Id,
    /// What is it called?
    GetName,
    /// Call it this; empty = nothing.
    SetName(&'a [u8]),
    /// How is it?
    Info,
    /// Something that is accepted and changes nothing: which library asks, what not to evict.
    Noted,
}

const USAGE: &str = "GETNAME, ID, INFO, NO-EVICT, NO-TOUCH, SETINFO or SETNAME";

/// `CLIENT subcommand …`.
pub fn client<'a>(args: &[&'a [u8]]) -> Result<Command<'a>, CommandError> {
    let (subcommand, rest) = args.split_first().expect("the catalogue asks for one argument at least");
    let is = |name: &str, args: usize| subcommand.eq_ignore_ascii_case(name.as_bytes()) && rest.len() == args;
    let client = match rest {
        [] if is("ID", 0) => Client::Id,
        [] if is("GETNAME", 0) => Client::GetName,
        [] if is("INFO", 0) => Client::Info,
        [name] if is("SETNAME", 1) => Client::SetName(client_name("CLIENT SETNAME", name)?),
        _ if is("SETINFO", 2) || is("NO-EVICT", 1) || is("NO-TOUCH", 1) => Client::Noted,
        _ => return Err(CommandError::subcommand("CLIENT", subcommand, USAGE)),
    };
    Ok(Command::Client(client))
}
