//! The headers that a gateway is to send with its response, as an object of texts: the one writer of headers speaks.

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use tallyring_protocol::headers::{Budget, Name, Policy, RETRY_AFTER, Told, retry_after_s};

use crate::door::judge::{Decision, RuleDecision};
use crate::sys::random;

/// Names and values, in the order in which they are written.
#[derive(Debug, Default)]
pub(super) struct Headers(Vec<(&'static str, String)>);

impl Headers {
    /// What is announced of a decision that was made at `now_us`.
    pub(super) fn of(decision: &Decision, now_us: u64) -> Headers {
        let defaults = decision.bench().live().set.defaults();
        let mut headers = Headers::default();
        if let Some(wait) =
            decision.speaker().filter(|speaker| !speaker.allowed).and_then(|speaker| speaker.retry_after)
        {
            headers.put(RETRY_AFTER, retry_after_s(wait, defaults.retry_jitter, random::up_to).to_string());
        }
        let budgets: Vec<Budget<'_>> = decision.checks.iter().filter_map(|check| budget(decision, check)).collect();
        let speaker = decision.speaker().map(|speaker| decision.rule(speaker).id());
        let speaker = budgets.iter().position(|budget| Some(budget.policy.name) == speaker);
        Told { budgets: &budgets, speaker, now_us }.write(&defaults.headers, |name, value| headers.put(name, value));
        headers
    }

    fn put(&mut self, name: Name, value: String) {
        self.0.push((name.title, value));
    }
}

/// Where a rule that counts stands.
fn budget<'d>(decision: &'d Decision, check: &RuleDecision) -> Option<Budget<'d>> {
    let RuleDecision { allowed, limit, remaining, retry_after, reset_after, .. } = *check;
    let more_after = if allowed { Some(reset_after) } else { retry_after };
    Some(Budget { policy: Policy::of(decision.rule(check))?, limit, remaining, more_after, reset_after })
}

impl Serialize for Headers {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}
