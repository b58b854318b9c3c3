//! What a shard holds of a key, for people who ask about the key.

use tallyring_engine::{Stock, Timestamp};
use tallyring_protocol::{AlgorithmCode, KeyRef};

use super::Shard;

impl Shard {
    /// What is left of the key's budgets that are not whole, in the order of the algorithms' numbers.
    pub(super) fn peek(&mut self, key: KeyRef<'_>, now: Timestamp) -> Vec<Stock> {
        let identities = AlgorithmCode::ALL.map(|algorithm| self.seeds.identify(key, algorithm));
        identities.into_iter().filter_map(|identity| self.engine.peek(now, identity)).collect()
    }
}
