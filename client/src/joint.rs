//! Several checks that are decided together.

use tallyring_engine::Ask;
use tallyring_protocol::reply::CheckedAll;
use tallyring_protocol::{Charge, Key};

use crate::StoreDecision;
use crate::definition::LimitHandle;

/// One of several checks that are decided together: see [`Store::check_all`](crate::Store::check_all).
#[derive(Clone, Copy, Debug)]
pub struct Check<'a> {
    /// Under which limit.
    pub limit: &'a LimitHandle,
    /// Whose budget.
    pub key: &'a Key,
    /// What is asked of it.
    pub ask: Ask,
}

impl<'a> Check<'a> {
    pub(crate) fn charge(&self) -> Charge<'a> {
        let Ask { cost, keep, force } = self.ask;
        Charge { handle: self.limit.handle(), cost, keep, force, key: self.key.as_ref() }
    }
}

/// What several checks came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreJoint {
    /// Whether every check was allowed. If not, none was charged.
    pub allowed: bool,
    /// The longest wait of the refused checks, in microseconds; `u64::MAX` = never. A lower bound if a key was named
    /// twice.
    pub retry_after_us: u64,
    /// The instant of the decisions, in microseconds of the store's clock: a refund can name it.
    pub at_us: u64,
    /// The decision on each check, in their order.
    pub checks: Vec<StoreDecision>,
}

impl From<CheckedAll<'_>> for StoreJoint {
    fn from(checked: CheckedAll<'_>) -> StoreJoint {
        let checks = checked.decisions().collect();
        let CheckedAll { allowed, retry_after_us, at_us, checks: _ } = checked;
        StoreJoint { allowed, retry_after_us, at_us, checks }
    }
}
