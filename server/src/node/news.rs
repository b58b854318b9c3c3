//! What every shard has to hear, whoever it comes from: gateways that come and go, topologies, rules, tokens.

use std::sync::Arc;
use std::time::Duration;

use tallyring_protocol::RulesVersion;
use tracing::info;

use crate::cluster::gateways::Gateways;
use crate::cluster::view::View;
use crate::rules::Rules;
use crate::shard::{Message, ShardMailbox};
use crate::tokens::LiveTokens;

/// How long news of gateways gathers before it is pushed: a rolling restart of a fleet is not a thousand pushes.
const GATEWAYS_DEBOUNCE: Duration = Duration::from_millis(100);

/// How long a shard with a full mailbox is left alone before it is told again.
const INSIST_EVERY: Duration = Duration::from_millis(1);

/// Spreads the news of gateways that come and go, of rules and of tokens.
pub(super) struct News {
    pub(super) mailboxes: Arc<[ShardMailbox]>,
    pub(super) view: Arc<View>,
    pub(super) gateways: Arc<Gateways>,
    pub(super) rules: Arc<Rules>,
    /// The rules that the shards begin with: nobody can publish before the HTTP door is open.
    pub(super) told: RulesVersion,
    pub(super) tokens: Arc<LiveTokens>,
}

impl News {
    pub(super) async fn spread_gateways(self: Arc<Self>) {
        loop {
            self.gateways.changed().await;
            tokio::time::sleep(GATEWAYS_DEBOUNCE).await;
            self.view.set_gateways(self.gateways.live());
        }
    }

    /// Tells every shard who is in the cluster.
    pub(super) async fn spread_topologies(self: Arc<Self>) {
        loop {
            self.view.changed().await;
            let territory = self.view.territory();
            self.insist(|| Message::Territory(Arc::clone(&territory))).await;
        }
    }

    /// Tells every shard which rules are live.
    pub(super) async fn spread_rules(self: Arc<Self>) {
        let mut told = self.told;
        loop {
            self.rules.changed().await;
            let live = self.rules.live();
            if live.version == told {
                continue;
            }
            self.insist(|| Message::Rules(Arc::clone(&live.frames))).await;
            info!(from = told.version, to = live.version.version, "other rules are live");
            told = live.version;
        }
    }

    /// Tells every shard that other tokens are valid: who was let in by one that is not has to go.
    pub(super) async fn spread_tokens(self: Arc<Self>) {
        loop {
            self.tokens.changed().await;
            self.insist(|| Message::Tokens).await;
        }
    }

    /// Tells every shard. What is true now may be so for months: one whose mailbox is full is told again until it listens.
    async fn insist(&self, message: impl Fn() -> Message) {
        for mailbox in self.mailboxes.iter() {
            while mailbox.push(message()).is_err() {
                tokio::time::sleep(INSIST_EVERY).await;
            }
        }
    }
}
