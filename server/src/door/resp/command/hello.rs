//! `HELLO`: which version of the protocol, and perhaps who one is.

use tallyring_protocol::bounds::CLIENT_NAME_BYTES_MAX;

use super::error::found;
use super::{Command, CommandError};
use crate::door::resp::write::{self, Version};

/// What somebody says first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hello<'a> {
    /// The version to speak from now on; `None` = as before.
    pub version: Option<Version>,
    /// Who one is.
    pub token: Option<&'a [u8]>,
    /// What the connection is to be called.
    pub name: Option<&'a [u8]>,
}

/// `HELLO [2|3 [AUTH user token] [SETNAME name]]`.
pub fn hello<'a>(args: &[&'a [u8]]) -> Result<Command<'a>, CommandError> {
    let Some((version, mut rest)) = args.split_first() else { return Ok(Command::Hello(Hello::default())) };
    let version = match *version {
        b"2" => Version::Resp2,
        b"3" => Version::Resp3,
        _ => return Err(CommandError::Version),
    };
    let mut hello = Hello { version: Some(version), ..Hello::default() };
    while !rest.is_empty() {
        rest = match rest {
            [word, _user, token, behind @ ..] if word.eq_ignore_ascii_case(b"AUTH") => {
                hello.token = Some(token);
                behind
            }
            [word, name, behind @ ..] if word.eq_ignore_ascii_case(b"SETNAME") => {
                hello.name = Some(client_name("HELLO", name)?);
                behind
            }
            // Not what came: it may be a secret behind a slip of the pen.
            _ => return Err(CommandError::Missing { command: "HELLO", option: "AUTH user token or SETNAME name" }),
        };
    }
    Ok(Command::Hello(hello))
}

/// A name for a connection: printable, without spaces, or empty for none.
pub(super) fn client_name<'a>(command: &'static str, name: &'a [u8]) -> Result<&'a [u8], CommandError> {
    if name.len() > CLIENT_NAME_BYTES_MAX {
        let (len, len_max) = (name.len(), CLIENT_NAME_BYTES_MAX);
        return Err(CommandError::Length { command, field: "name", len, len_max });
    }
    if !name.iter().all(u8::is_ascii_graphic) {
        let allowed = "printable characters without spaces";
        return Err(CommandError::Word { command, field: "name", found: found(name), allowed });
    }
    Ok(name)
}

/// Appends what is said of the server to a connection with this id.
pub fn write_answer(out: &mut Vec<u8>, version: Version, id: u64) {
    write::map(out, version, 7);
    let texts = |pairs: &[(&str, &str)], out: &mut Vec<u8>| {
        pairs.iter().flat_map(|(name, text)| [name, text]).for_each(|text| write::bulk(out, text.as_bytes()));
    };
    texts(&[("server", "tallyring"), ("version", env!("CARGO_PKG_VERSION"))], out);
    for (name, number) in [("proto", version.number()), ("id", id)] {
        write::bulk(out, name.as_bytes());
        write::integer(out, number);
    }
    texts(&[("mode", "standalone"), ("role", "master")], out);
    write::bulk(out, b"modules");
    write::array(out, 0);
}
