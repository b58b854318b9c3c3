//! The tokens that are valid now: they can be exchanged while the node runs.

use std::sync::Arc;

use arc_swap::ArcSwap;
use tallyring_protocol::Role;
use tokio::sync::Notify;

use super::{Pass, Tokens};

/// The tokens that are valid now.
#[derive(Debug, Default)]
pub struct LiveTokens {
    tokens: ArcSwap<Tokens>,
    changed: Notify,
}

impl LiveTokens {
    /// These, until others replace them.
    pub fn new(tokens: Tokens) -> LiveTokens {
        LiveTokens { tokens: ArcSwap::from_pointee(tokens), changed: Notify::new() }
    }

    /// From now on these are valid and no others.
    pub fn replace(&self, tokens: Tokens) {
        self.tokens.store(Arc::new(tokens));
        self.changed.notify_one();
    }

    /// Waits until others are valid than at the last wait. For one waiter.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// As [`Tokens::open`].
    pub fn open(&self) -> bool {
        self.tokens.load().open()
    }

    /// As [`Tokens::pass_of`].
    pub fn pass_of(&self, token: &str) -> Option<Pass> {
        self.tokens.load().pass_of(token)
    }

    /// As [`Tokens::role_of`].
    pub fn role_of(&self, token: &str) -> Option<Role> {
        self.tokens.load().role_of(token)
    }

    /// Whether somebody with `token` may speak as another node.
    pub fn accepts_peer(&self, token: &str) -> bool {
        let tokens = self.tokens.load();
        tokens.open() || tokens.is_peer(token)
    }

    /// As [`Tokens::allows`].
    pub fn allows(&self, pass: &Pass) -> bool {
        self.tokens.load().allows(pass)
    }
}
