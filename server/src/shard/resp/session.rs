//! What a shard knows of one RESP connection.

use tallyring_protocol::Role;

use super::replies::Replies;
use crate::door::resp::parse::Bounds;
use crate::door::resp::write::Version;
use crate::shard::session::WayBack;

/// Wrong tokens that one connection may try; each costs the shard a hash.
const WRONG_TOKENS_MAX: u8 = 3;

/// The state of one connection.
#[derive(Debug)]
pub(in crate::shard) struct Session {
    /// Its number among the node's.
    pub(super) id: u64,
    /// What its token entitles it to; `None`: it has not shown one.
    pub(super) role: Option<Role>,
    pub(super) version: Version,
    /// What it wants to be called.
    pub(super) name: Box<[u8]>,
    pub(super) way: WayBack,
    pub(super) replies: Replies,
    /// Whether it is to end once everything is answered.
    pub(super) is_over: bool,
    wrong_tokens: u8,
}

impl Session {
    pub(super) fn new(id: u64, role: Option<Role>) -> Session {
        Session {
            id,
            role,
            version: Version::default(),
            name: Box::default(),
            way: WayBack::default(),
            replies: Replies::default(),
            is_over: false,
            wrong_tokens: 0,
        }
    }

    /// How large its commands may be.
    pub(super) fn bounds(&self) -> Bounds {
        if self.role.is_some() { Bounds::MEMBER } else { Bounds::STRANGER }
    }

    /// Makes it what it was at first; `role` is what somebody without a token is entitled to.
    pub(super) fn reset(&mut self, role: Option<Role>) {
        self.role = role;
        self.version = Version::default();
        self.name = Box::default();
    }

    /// Notes a wrong token; after a few the connection is over.
    pub(super) fn count_wrong_token(&mut self) {
        self.wrong_tokens += 1;
        self.is_over |= self.wrong_tokens == WRONG_TOKENS_MAX;
    }
}
