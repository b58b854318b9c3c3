//! Rules and reports: what a gateway and its store tell each other beside decisions.

use std::time::Duration;

use tallyring_protocol::{Report, Request, RulesVersion};
use tokio::sync::watch;

use super::Store;
use crate::connection::{Answer, Call, Outcome, Timing};
use crate::error::StoreError;
use crate::sys::clock;

/// How long a whole rules document may take: nobody's request waits for it.
const PATIENCE: Duration = Duration::from_secs(2);

impl Store {
    /// The newest rules that any node has announced: [`RulesVersion::NONE`] before the first.
    pub fn announced_rules(&self) -> watch::Receiver<RulesVersion> {
        self.router.gateway().announced_rules()
    }

    /// The store's rules, as JSON, and which they are.
    ///
    /// # Errors
    /// [`StoreError::Unreachable`] if no connection is up; else as [`Store::check`].
    pub async fn rules(&self) -> Result<(RulesVersion, Vec<u8>), StoreError> {
        match self.ask_anybody(Request::GetRules).await? {
            Answer::Rules(version, json) => Ok((version, json)),
            _ => Err(StoreError::Unexpected),
        }
    }

    /// Tells the store what this gateway has decided by itself.
    ///
    /// # Errors
    /// As [`Store::rules`].
    pub async fn report(&self, report: Report<'_>) -> Result<(), StoreError> {
        match self.ask_anybody(Request::Report(report)).await? {
            Answer::Reported => Ok(()),
            _ => Err(StoreError::Unexpected),
        }
    }

    async fn ask_anybody(&self, request: Request<'_>) -> Outcome {
        let connection = self.router.any()?;
        let now = clock::now();
        Call::new(&connection, request, &[], Timing { now, deadline: now + PATIENCE }).await
    }
}
