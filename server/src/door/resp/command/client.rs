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

/// Each with the number of its arguments, and how Redis calls it in an error.
const SUBCOMMANDS: [(&str, usize, &str); 7] = [
    ("GETNAME", 0, "client|getname"),
    ("ID", 0, "client|id"),
    ("INFO", 0, "client|info"),
    ("NO-EVICT", 1, "client|no-evict"),
    ("NO-TOUCH", 1, "client|no-touch"),
    ("SETINFO", 2, "client|setinfo"),
    ("SETNAME", 1, "client|setname"),
];

const USAGE: &str = "GETNAME, ID, INFO, NO-EVICT, NO-TOUCH, SETINFO or SETNAME";

/// `CLIENT subcommand …`.
pub fn client<'a>(args: &[&'a [u8]]) -> Result<Command<'a>, CommandError> {
    let (subcommand, rest) = args.split_first().expect("the catalogue asks for one argument at least");
    let is = |name: &str| subcommand.eq_ignore_ascii_case(name.as_bytes());
    let known = SUBCOMMANDS.into_iter().find(|(name, ..)| is(name));
    let Some((_, arity, full_name)) = known else {
        return Err(CommandError::subcommand("CLIENT", subcommand, USAGE));
    };
    if rest.len() != arity {
        return Err(CommandError::SubcommandArity(full_name));
    }
    let client = match rest {
        [] if is("ID") => Client::Id,
        [] if is("GETNAME") => Client::GetName,
        [] => Client::Info,
        [name] if is("SETNAME") => Client::SetName(client_name("CLIENT SETNAME", name)?),
        [switch] => return noted(if is("NO-EVICT") { "CLIENT NO-EVICT" } else { "CLIENT NO-TOUCH" }, switch),
        _ => Client::Noted,
    };
    Ok(Command::Client(client))
}

/// A switch that changes nothing here: nothing is evicted, and no key is young or old.
fn noted<'a>(command: &'static str, switch: &[u8]) -> Result<Command<'a>, CommandError> {
    let is_one = switch.eq_ignore_ascii_case(b"ON") || switch.eq_ignore_ascii_case(b"OFF");
    if is_one {
        Ok(Command::Client(Client::Noted))
    } else {
        Err(CommandError::word(command, "switch", switch, "ON, OFF"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expect: Result<Client<'_>, &str>) {
        let args: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        let read = client(&args).map_err(|error| error.to_string());
        assert_eq!(read, expect.map(Command::Client).map_err(str::to_owned), "{line}");
    }

    #[test]
    fn subcommands_are_read_in_any_case() {
        check("id", Ok(Client::Id));
        check("GetName", Ok(Client::GetName));
        check("INFO", Ok(Client::Info));
        check("SETNAME gw", Ok(Client::SetName(b"gw")));
        check("SETINFO LIB-NAME x", Ok(Client::Noted));
        check("NO-EVICT on", Ok(Client::Noted));
    }

    #[test]
    fn what_is_not_served_is_named() {
        let try_these = "Try CLIENT GETNAME, ID, INFO, NO-EVICT, NO-TOUCH, SETINFO or SETNAME";
        for name in ["LIST", "KILL", "REPLY", "TRACKING", "PAUSE"] {
            check(name, Err(&format!("ERR unknown subcommand '{name}'. {try_these}")));
        }
        check("ID 7", Err("ERR wrong number of arguments for 'client|id' command"));
        check("NO-EVICT", Err("ERR wrong number of arguments for 'client|no-evict' command"));
        check("NO-EVICT maybe", Err("ERR CLIENT NO-EVICT: switch: 'maybe' is not one of ON, OFF"));
        check("SETNAME", Err("ERR wrong number of arguments for 'client|setname' command"));
    }
}
