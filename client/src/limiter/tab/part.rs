//! One rule's part in a call.

use std::sync::Arc;

use tallyring_engine::{Ask, UNITS_MAX};
use tallyring_protocol::Key;
use tallyring_protocol::rules::Winner;

use crate::decision::{RuleDecision, RuleRef};
use crate::limiter::Inner;
use crate::limiter::call::Call;
use crate::limiter::snapshot::Snapshot;
use crate::limiter::verdict::Verdict;

/// One rule's part in a call.
#[derive(Debug)]
pub(in crate::limiter) struct Part {
    /// The rule's place in the document.
    pub(in crate::limiter) order: usize,
    pub(in crate::limiter) key: Key,
    /// The key's keyed hash; 0 for a rule that blocks.
    pub(in crate::limiter) identity: u64,
    pub(in crate::limiter) ask: Ask,
    /// What it came to; none as long as it is open.
    pub(super) verdict: Option<Verdict>,
}

impl Part {
    pub(super) fn new(inner: &Inner, winner: Winner<'_>, call: &Call<'_>) -> Part {
        let Winner { rule, key } = winner;
        let priority = rule.priority(call.priority);
        let ask = Ask { cost: call.cost.min(UNITS_MAX), keep: priority.keep, force: priority.force };
        let algorithm = rule.numbers().map(|numbers| numbers.algorithm);
        let identity = algorithm.map_or(0, |algorithm| inner.hasher.identity(key.as_ref(), algorithm));
        Part { order: rule.order(), key, identity, ask, verdict: None }
    }

    /// Whether it is not decided yet.
    pub(super) fn is_open(&self) -> bool {
        self.verdict.is_none()
    }

    /// Whether a grant can pay for it: nothing has to remain, and there is something to pay.
    pub(super) fn is_payable(&self) -> bool {
        self.is_open() && self.ask.keep == 0 && !self.ask.force && self.ask.cost > 0
    }

    pub(super) fn into_decision(self, snapshot: &Arc<Snapshot>) -> Option<RuleDecision> {
        let Part { order, key, identity, verdict, .. } = self;
        let verdict = verdict.filter(|verdict| verdict.is_known)?;
        Some(verdict.into_decision(RuleRef::new(snapshot, order), key, identity))
    }
}
