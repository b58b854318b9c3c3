//! One limit of a store, through the client crate.

use tallyring_client::{Ask, HandlesFull, Key, Limit, LimitHandle, Store};

use super::Askable;
use crate::cli::bench::dialect::Answer;

/// What `client://` asks.
#[derive(Clone, Debug)]
pub(in crate::cli::bench) struct LimitOfStore {
    store: Store,
    limit: LimitHandle,
}

impl LimitOfStore {
    pub(in crate::cli::bench) fn new(store: Store, limit: Limit) -> Result<LimitOfStore, HandlesFull> {
        Ok(LimitOfStore { limit: store.define(limit)?, store })
    }
}

impl Askable for LimitOfStore {
    async fn ask(&self, account: &str, cost: u64) -> Answer {
        let key = Key::raw(account.as_bytes()).expect("a benchmark's keys are short and not empty");
        match self.store.check(&self.limit, &key, Ask::new(cost)).await {
            Ok(decision) if decision.allowed => Answer::Allowed,
            Ok(_) => Answer::Denied,
            Err(_) => Answer::Undecided,
        }
    }
}
