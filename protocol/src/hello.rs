//! The first frame of each side: who is calling, and where the call has landed.

use crate::bounds::{CLIENT_NAME_BYTES_MAX, TOKEN_BYTES_MAX};
use crate::code::{Kind, Role};
use crate::fields::{Fields, Malformed, put_text};
use crate::frame::{self, Frame};
use crate::ring::NodeId;

/// A client introduces itself. Nothing else is accepted before it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Hello<'a> {
    /// The version that the client speaks, [`PROTOCOL_VERSION`](crate::PROTOCOL_VERSION).
    pub version: u16,
    /// The shard that this connection is for; it is taken modulo the number of shards.
    pub shard: u16,
    /// The longest that this client waits for a decision, in microseconds.
    pub deadline_max_us: u32,
    /// Drawn at random once a process: the connections of one gateway carry the same.
    pub instance: u128,
    /// For people: logs and `cluster status` show it.
    pub name: &'a str,
    /// The secret that gives the client its role; empty where the server asks for none.
    pub token: &'a str,
}

impl std::fmt::Debug for Hello<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Hello { version, shard, deadline_max_us, instance, name, token: _ } = self;
        write!(f, "Hello {{ version: {version}, shard: {shard}, deadline_max_us: {deadline_max_us}, ")?;
        write!(f, "instance: {instance:032x}, name: {name:?}, token: .. }}")
    }
}

impl<'a> Hello<'a> {
    /// Appends the frame.
    pub fn encode(&self, out: &mut Vec<u8>) {
        frame::put(out, Kind::Hello, 0, 0, 0, |out| {
            out.extend_from_slice(&self.version.to_le_bytes());
            out.extend_from_slice(&self.shard.to_le_bytes());
            out.extend_from_slice(&self.deadline_max_us.to_le_bytes());
            out.extend_from_slice(&self.instance.to_le_bytes());
            put_text(out, self.name, CLIENT_NAME_BYTES_MAX);
            put_text(out, self.token, TOKEN_BYTES_MAX);
        });
    }

    /// Reads the frame. What follows the fields of this version is ignored if the version is another one, so that the
    /// server can say which versions it speaks.
    ///
    /// # Errors
    /// [`Malformed`] names the first bad field; `kind` if the frame is no hello.
    pub fn decode(frame: &Frame<'a>) -> Result<Hello<'a>, Malformed> {
        if frame.kind != Kind::Hello as u8 {
            return Err(Malformed::new("kind", "the first frame is a hello (1)"));
        }
        let mut fields = Fields::new(frame.body);
        let version = fields.u16("version")?;
        let shard = fields.u16("shard")?;
        let deadline_max_us = fields.u32("deadline_max_us")?;
        let instance = u128::from_le_bytes(fields.array("instance")?);
        let name = fields.text("name", CLIENT_NAME_BYTES_MAX)?;
        let token = fields.text("token", TOKEN_BYTES_MAX)?;
        if version == crate::PROTOCOL_VERSION {
            fields.end()?;
        }
        Ok(Hello { version, shard, deadline_max_us, instance, name, token })
    }
}

/// The server's answer to a hello that it accepts; a topology follows at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Welcome {
    /// The version that both speak from here on.
    pub version: u16,
    /// The node that the client has reached.
    pub node: NodeId,
    /// The shard that owns this connection.
    pub shard: u16,
    /// The shards of this node.
    pub shards: u16,
    /// What the token entitles to.
    pub role: Role,
}

impl Welcome {
    /// Appends the frame.
    pub fn encode(&self, out: &mut Vec<u8>) {
        frame::put(out, Kind::Welcome, 0, 0, 0, |out| {
            out.extend_from_slice(&self.version.to_le_bytes());
            out.extend_from_slice(&self.shard.to_le_bytes());
            out.extend_from_slice(&self.shards.to_le_bytes());
            out.push(self.role as u8);
            out.extend_from_slice(&self.node.0.to_le_bytes());
        });
    }

    pub(crate) fn decode_body(body: &[u8]) -> Result<Welcome, Malformed> {
        let mut fields = Fields::new(body);
        let version = fields.u16("version")?;
        let shard = fields.u16("shard")?;
        let shards = fields.u16("shards")?;
        let role = Role::from_code(fields.u8("role")?).ok_or(Malformed::new("role", "1 (client) or 2 (admin)"))?;
        let node = NodeId(fields.u64("node")?);
        fields.end()?;
        Ok(Welcome { version, node, shard, shards, role })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello<'static> {
        Hello { version: 1, shard: 2, deadline_max_us: 5_000, instance: 7, name: "edge-1", token: "s3cret" }
    }

    #[test]
    fn a_hello_survives_the_wire() {
        let mut bytes = Vec::new();
        hello().encode(&mut bytes);
        let (frame, _) = frame::split(&bytes, 1024).unwrap().unwrap();
        assert_eq!(Hello::decode(&frame), Ok(hello()));
    }

    #[test]
    fn a_hello_of_another_version_can_still_be_read() {
        let mut bytes = Vec::new();
        frame::put(&mut bytes, Kind::Hello, 0, 0, 0, |out| {
            let mut inner = Vec::new();
            Hello { version: 9, ..hello() }.encode(&mut inner);
            out.extend_from_slice(&inner[12..]);
            out.extend_from_slice(b"what version 9 added");
        });
        let (frame, _) = frame::split(&bytes, 1024).unwrap().unwrap();
        assert_eq!(Hello::decode(&frame).unwrap().version, 9);
    }

    #[test]
    fn the_first_bad_field_is_named() {
        let check = |body: &[u8], field| {
            let frame = Frame { kind: Kind::Hello as u8, flags: 0, handle: 0, id: 0, body };
            assert_eq!(Hello::decode(&frame).unwrap_err().field, field);
        };
        check(&[], "version");
        check(&[1, 0, 0], "shard");
        check(&[0; 24], "name");
        check(&[&[0; 24][..], &[1, 0, 0xFF]].concat(), "name");
        check(&[&[0; 24][..], &[0xFF, 0xFF]].concat(), "name");
        check(&[&[1, 0][..], &[0; 22], &[0; 4], &[9]].concat(), "body");
        let ping = Frame { kind: 3, flags: 0, handle: 0, id: 0, body: &[] };
        assert_eq!(Hello::decode(&ping).unwrap_err().field, "kind");
    }

    #[test]
    fn a_token_is_not_shown() {
        assert!(!format!("{:?}", hello()).contains("s3cret"));
    }
}
