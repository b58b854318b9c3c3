//! Following the store's rules: what it announces is fetched once, and in force from the next call on.
//!
//! ```text
//! announced, newer than ours ─► fetched ─► compiled ─► swapped in
//!                                  │           └ makes no sense: kept out, said in the log
//!                                  └ no answer: again, a little later
//! ```
//! Invariants:
//! - Only newer rules replace those in force. A store that is gone, or that has lost its rules, changes nothing.
//! - A document that makes no sense changes nothing either, and is not fetched again.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tallyring_protocol::RulesVersion;
use tallyring_protocol::rules::RuleSet;

use super::{Inner, Snapshot};
use crate::error::StoreError;

/// How long to wait before rules that did not come are asked for again.
const RETRY_AFTER: Duration = Duration::from_millis(100);

/// Follows the store's rules until the limiter is gone.
pub(super) async fn follow(inner: Weak<Inner>) {
    let Some(mut announced) = inner.upgrade().map(|inner| inner.store.announced_rules()) else { return };
    let mut known = RulesVersion::NONE;
    loop {
        let version = *announced.borrow_and_update();
        if version > known {
            let Some(inner) = inner.upgrade() else { return };
            match inner.fetch().await {
                Ok(fetched) => known = fetched.max(known),
                Err(error) => tracing::debug!(%error, ?version, "the store's rules did not come"),
            }
        }
        let waited = if version > known {
            tokio::time::timeout(RETRY_AFTER, announced.changed()).await.unwrap_or(Ok(()))
        } else {
            announced.changed().await
        };
        if waited.is_err() {
            return; // nobody can announce any more: the store is closed
        }
    }
}

impl Inner {
    /// Fetches the store's rules and puts them in force if they make sense; says which they were.
    async fn fetch(&self) -> Result<RulesVersion, StoreError> {
        let (version, json) = self.store.rules().await?;
        if version <= self.snapshot.load().version {
            return Ok(version);
        }
        match RuleSet::from_json(&json) {
            Ok(rules) => self.put_in_force(rules, version).await,
            Err(error) => {
                tracing::error!(?version, %error, "the store's rules make no sense; the last good ones stay in force");
            }
        }
        Ok(version)
    }

    async fn put_in_force(&self, rules: RuleSet, version: RulesVersion) {
        let before = self.snapshot.load_full();
        let after = Snapshot::new(rules, version, Some(&before));
        tracing::info!(?version, rules = after.rules.rules().len(), "other rules are in force");
        self.snapshot.store(Arc::new(after));
        self.report(&before).await;
    }
}
