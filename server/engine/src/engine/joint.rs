//! Several checks as one: all are charged, or none.

use super::Engine;
use super::keep::{Effect, Growth, Standing};
use crate::algorithm::any::AnyCounter;
use crate::algorithm::{self, Budget, Counter, Verdict};
use crate::decision::{Decision, Full, Joint, JointError, Wait};
use crate::identity::Identity;
use crate::limit::Ask;
use crate::limits::{LimitId, Outcome};
use crate::time::Timestamp;

/// Parts of one call.
pub const PARTS_MAX: usize = 16;

/// One of several checks that are decided together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Whose budget.
    pub identity: Identity,
    /// Under which limit.
    pub limit: LimitId,
    /// What is asked of it.
    pub ask: Ask,
}

/// Room for one call's parts, kept so that a call does not allocate.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    accounts: Vec<Account>,
    /// Which account each part is of.
    part_accounts: Vec<usize>,
}

/// One counter of the call, and what its parts do to it together.
#[derive(Debug)]
struct Account {
    standing: Standing<AnyCounter>,
    cost: u64,
    charged: u64,
}

impl Account {
    fn growth(&self) -> Growth {
        self.standing.growth(self.charged)
    }
}

impl Engine {
    /// Decides each part in order, as if the earlier allowed ones were charged, and charges all of them or none.
    ///
    /// `decisions` is cleared and gets one decision a part; if any part was refused, `remaining` and `reset_after_us` are
    /// as they stand with nothing charged. State under other numbers is converted either way.
    ///
    /// # Errors
    /// One (key, algorithm) comes under two limits, or there is no room for the entries that are needed.
    ///
    /// # Panics
    /// If there are more than [`PARTS_MAX`] parts.
    pub fn check_all(
        &mut self,
        now: Timestamp,
        parts: &[Part],
        decisions: &mut Vec<Decision>,
    ) -> Result<Joint, JointError> {
        assert!(parts.len() <= PARTS_MAX, "the caller bounds the parts");
        let now = self.advance(now);
        self.reject_two_limits(parts)?;
        let mut scratch = std::mem::take(&mut self.joint);
        let mut joint = self.decide_parts(now, parts, decisions, &mut scratch);
        if joint.is_err() && self.drop_fresh() {
            joint = self.decide_parts(now, parts, decisions, &mut scratch);
        }
        self.joint = scratch;
        self.count_parts(parts, joint);
        Ok(joint?)
    }

    fn decide_parts(
        &mut self,
        now: Timestamp,
        parts: &[Part],
        decisions: &mut Vec<Decision>,
        scratch: &mut Scratch,
    ) -> Result<Joint, Full> {
        decisions.clear();
        scratch.part_accounts.clear();
        for part in parts {
            decisions.push(self.decide_part(now, part, scratch));
        }
        self.conclude_parts(now, decisions, scratch)
    }

    fn decide_part(&mut self, now: Timestamp, part: &Part, scratch: &mut Scratch) -> Decision {
        let known = scratch.accounts.iter().position(|account| account.standing.identity == part.identity);
        let no = known.unwrap_or(scratch.accounts.len());
        if known.is_none() {
            let standing = self.stand(now, part.identity, part.limit);
            scratch.accounts.push(Account { standing, cost: 0, charged: 0 });
        }
        scratch.part_accounts.push(no);
        let account = &mut scratch.accounts[no];
        let Verdict { decision, charged } = algorithm::decide(&mut account.standing.counter, part.ask);
        account.cost += part.ask.cost;
        account.charged += charged;
        decision
    }

    fn conclude_parts(
        &mut self,
        now: Timestamp,
        decisions: &mut [Decision],
        scratch: &mut Scratch,
    ) -> Result<Joint, Full> {
        let refused = decisions.iter().filter(|decision| !decision.allowed);
        let retry_after = refused.map(|decision| decision.retry_after).max();
        let room = if retry_after.is_none() { self.room_for_all(&scratch.accounts) } else { Ok(()) };
        if retry_after.is_some() || room.is_err() {
            undo(now, decisions, scratch);
        }
        for Account { standing, cost, charged } in scratch.accounts.drain(..) {
            let effect = if room.is_ok() { Effect::of(cost, charged) } else { Effect::Nothing };
            self.conclude(standing, effect);
        }
        let joint = Joint { allowed: retry_after.is_none(), retry_after: retry_after.unwrap_or(Wait::NOW) };
        room.map(|()| joint)
    }

    /// Whether there is memory for all that is added, and each rule may hold what is added under it.
    fn room_for_all(&self, accounts: &[Account]) -> Result<(), Full> {
        let all = accounts.iter().map(Account::growth).fold(Growth::NONE, Growth::and);
        let keys_under = |limit| {
            let same = accounts.iter().filter(|account| self.limits.share_a_rule(account.standing.limit, limit));
            same.map(|account| account.growth().keys as u64).sum()
        };
        let rule_has_room = |account: &Account| {
            let limit = account.standing.limit;
            account.growth().keys == 0 || self.limits.has_room(limit, keys_under(limit))
        };
        let room = all == Growth::NONE || self.has_memory(all) && accounts.iter().all(rule_has_room);
        if room { Ok(()) } else { Err(Full) }
    }

    fn count_parts(&mut self, parts: &[Part], joint: Result<Joint, Full>) {
        let outcome = Outcome::of_call(&joint, |joint| joint.allowed);
        for part in parts.iter().filter(|part| !part.ask.is_peek()) {
            self.limits.count(part.limit, outcome);
        }
    }

    fn reject_two_limits(&self, parts: &[Part]) -> Result<(), JointError> {
        let differs = |part: &Part, other: &Part| {
            part.identity == other.identity && self.limits.get(part.limit) != self.limits.get(other.limit)
        };
        let later = |&part: &usize| parts[..part].iter().any(|earlier| differs(earlier, &parts[part]));
        match (0..parts.len()).find(later) {
            Some(part) => Err(JointError::TwoLimits { part }),
            None => Ok(()),
        }
    }
}

/// Takes every charge back and shows the budgets as they stand without them.
fn undo(now: Timestamp, decisions: &mut [Decision], scratch: &mut Scratch) {
    for account in &mut scratch.accounts {
        account.standing.counter.refund(account.charged, Some(now));
        account.charged = 0;
    }
    for (decision, &no) in decisions.iter_mut().zip(&scratch.part_accounts) {
        let counter = &scratch.accounts[no].standing.counter;
        decision.remaining = counter.remaining();
        decision.reset_after_us = counter.wait_until_whole();
        decision.charged = decision.charged.map(|_| 0);
        decision.delay_us = decision.delay_us.map(|_| 0);
    }
}
