//! What a shard knows of one RESP connection.

use super::replies::Replies;
use crate::door::resp::parse::Bounds;
use crate::door::resp::write::Version;
use crate::shard::session::{Foreign, WayBack};
use crate::tokens::Pass;

/// Wrong tokens that one connection may try; each costs the shard a hash.
const WRONG_TOKENS_MAX: u8 = 3;

/// The state of one connection.
#[derive(Debug)]
pub(in crate::shard) struct Session {
    /// Its number among the node's.
    pub(super) id: u64,
    /// Its place in the shard.
    pub(super) ticket: u64,
    /// What it came in by, and is entitled to; `None`: it has not shown a token.
    pub(super) pass: Option<Pass>,
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
    pub(super) fn new(id: u64, pass: Option<Pass>) -> Session {
        Session {
            id,
            ticket: 0,
            pass,
            version: Version::default(),
            name: Box::default(),
            way: WayBack::new(Foreign::Forwarded),
            replies: Replies::default(),
            is_over: false,
            wrong_tokens: 0,
        }
    }

    /// How large its commands may be.
    pub(super) fn bounds(&self) -> Bounds {
        if self.pass.is_some() { Bounds::MEMBER } else { Bounds::STRANGER }
    }

    /// Whether so much waits for others to decide that no more may be asked.
    pub(super) fn is_backed_up(&self) -> bool {
        self.way.is_full() || self.replies.is_backed_up()
    }

    /// Makes it what it was at first; `pass` is what somebody without a token has.
    pub(super) fn reset(&mut self, pass: Option<Pass>) {
        self.pass = pass;
        self.version = Version::default();
        self.name = Box::default();
    }

    /// Notes a wrong token; after a few the connection is over.
    pub(super) fn count_wrong_token(&mut self) {
        self.wrong_tokens += 1;
        self.is_over |= self.wrong_tokens == WRONG_TOKENS_MAX;
    }
}
