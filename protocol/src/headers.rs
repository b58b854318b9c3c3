//! What the callers of an API are told about their budgets: the one writer of every family of rate-limit headers.
//!
//! | family | headers | says |
//! |---|---|---|
//! | `structured` | `RateLimit-Policy: "a";q=10;w=60, "b";q=100;w=3600` and `RateLimit: "a";r=4;t=13, "b";r=2;t=1800` | every rule that applies, in the order of the document (draft-ietf-httpapi-ratelimit-headers-10, 2025-09) |
//! | `ratelimit` | `RateLimit-Limit`, `RateLimit-Remaining`, `RateLimit-Reset` | one rule, the speaker; the reset in seconds from now (the drafts until -06) |
//! | `x-ratelimit` | `X-RateLimit-Limit`, `X-RateLimit-Remaining`, `X-RateLimit-Reset` | the same rule; the reset as seconds since the Unix epoch, as GitHub and many libraries have it |
//!
//! No two families share a header: `RateLimit-Policy`, which drafts -03 to -06 had in another syntax, is sent as a
//! structured field or not at all. Every number is a whole one, and every time is rounded up: none is earlier than the
//! truth, and none lies in the past.
//!
//! The *speaker* is the rule that decided: of a refused request the one with the longest wait, of an allowed one that with
//! the fewest units left. A single-valued header never mixes two rules.
//!
//! Not here: how headers are put into a response (`tallyring-client`, and the doors of the server), and which rule speaks.

mod name;
mod policy;
mod retry_after;

use std::fmt::Write as _;
use std::time::Duration;

use self::name::{DELTA, EPOCH, POLICY, RATELIMIT, Triple};
pub use self::name::{Name, RETRY_AFTER};
pub use self::policy::Policy;
pub use self::retry_after::{RETRY_JITTER_MAX, retry_after_s};
use crate::rules::HeaderFamily;

/// The largest integer of a structured field (RFC 9651, 3.3.1): larger numbers are cut to it.
pub const INTEGER_MAX: u64 = 999_999_999_999_999;

const MICROS_PER_SECOND: u64 = 1_000_000;

/// One rule's budget after a decision.
///
/// ```
/// use std::time::Duration;
/// use tallyring_protocol::headers::{Budget, Policy};
///
/// let policy = Policy { name: "minute", quota: 10, window_s: Some(60) };
/// let budget = Budget {
///     policy,
///     limit: 10,
///     remaining: 4,
///     more_after: Some(Duration::from_millis(12_300)),
///     reset_after: Duration::from_millis(12_300),
/// };
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget<'a> {
    /// The rule's name and numbers.
    pub policy: Policy<'a>,
    /// The ceiling that units are left of: the policy's quota, or a gateway's share of it while the store is gone.
    pub limit: u64,
    /// Whole units left.
    pub remaining: u64,
    /// When there is more for this caller: of a rule that refused, when the same request would pass (`None` if no wait
    /// helps); else when the whole budget is free again.
    pub more_after: Option<Duration>,
    /// When the whole budget is free again.
    pub reset_after: Duration,
}

/// What one response says.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    /// The enforced rules that apply and count, in the order of the document.
    pub budgets: &'a [Budget<'a>],
    /// Which of them speaks; `None` if none counts: a request that is blocked, or that no rule is for.
    pub speaker: Option<usize>,
    /// The instant of the decision, in microseconds since the Unix epoch.
    pub now_us: u64,
}

impl Told<'_> {
    /// Gives `put` the name and the value of each header of these families. Nothing if no rule applies.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tallyring_protocol::headers::{Budget, Policy, Told};
    /// use tallyring_protocol::rules::HeaderFamily;
    ///
    /// let policy = Policy { name: "minute", quota: 10, window_s: Some(60) };
    /// let wait = Duration::from_millis(12_300);
    /// let budget = Budget { policy, limit: 10, remaining: 4, more_after: Some(wait), reset_after: wait };
    /// let told = Told { budgets: &[budget], speaker: Some(0), now_us: 1_700_000_000_000_000 };
    ///
    /// let mut lines = Vec::new();
    /// told.write(&HeaderFamily::ALL, |name, value| lines.push(format!("{}: {value}", name.title)));
    /// assert_eq!(lines, [
    ///     "RateLimit-Limit: 10",
    ///     "RateLimit-Remaining: 4",
    ///     "RateLimit-Reset: 13",
    ///     "X-RateLimit-Limit: 10",
    ///     "X-RateLimit-Remaining: 4",
    ///     "X-RateLimit-Reset: 1700000013",
    ///     "RateLimit-Policy: \"minute\";q=10;w=60",
    ///     "RateLimit: \"minute\";r=4;t=13",
    /// ]);
    /// ```
    pub fn write(&self, families: &[HeaderFamily], mut put: impl FnMut(Name, String)) {
        for family in families {
            match family {
                HeaderFamily::RateLimit => self.write_triple(&DELTA, seconds_up, &mut put),
                HeaderFamily::XRateLimit => self.write_triple(&EPOCH, |wait| self.epoch_s(wait), &mut put),
                HeaderFamily::Structured => self.write_structured(&mut put),
            }
        }
    }

    /// What the speaker says, in numbers alone.
    fn write_triple(&self, names: &Triple, reset: impl Fn(Duration) -> u64, put: &mut impl FnMut(Name, String)) {
        let Some(speaker) = self.speaking() else { return };
        put(names.limit, speaker.limit.to_string());
        put(names.remaining, speaker.remaining.to_string());
        put(names.reset, reset(speaker.reset_after).to_string());
    }

    /// Draft -10. The open changes to it rename `r` and `t`: they are written here and nowhere else.
    fn write_structured(&self, put: &mut impl FnMut(Name, String)) {
        if self.budgets.is_empty() {
            return;
        }
        put(POLICY, list(self.budgets, |out, budget| budget.policy.write(out)));
        put(RATELIMIT, list(self.budgets, write_budget));
    }

    fn speaking(&self) -> Option<&Budget<'_>> {
        self.budgets.get(self.speaker?)
    }

    /// The second in which a wait that begins at the decision has ended.
    fn epoch_s(&self, wait: Duration) -> u64 {
        let wait_us = u64::try_from(wait.as_micros()).unwrap_or(u64::MAX);
        self.now_us.saturating_add(wait_us).div_ceil(MICROS_PER_SECOND).min(INTEGER_MAX)
    }
}

/// A list of structured items.
fn list(budgets: &[Budget<'_>], item: impl Fn(&mut String, &Budget<'_>)) -> String {
    const ITEM_BYTES: usize = 40;
    let mut out = String::with_capacity(budgets.len() * ITEM_BYTES);
    for (at, budget) in budgets.iter().enumerate() {
        out.push_str(if at == 0 { "" } else { ", " });
        item(&mut out, budget);
    }
    out
}

fn write_budget(out: &mut String, budget: &Budget<'_>) {
    budget.policy.write_name(out);
    let _ = write!(out, ";r={}", budget.remaining.min(INTEGER_MAX));
    if let Some(wait) = budget.more_after {
        let _ = write!(out, ";t={}", seconds_up(wait));
    }
}

/// Whole seconds, rounded up.
fn seconds_up(wait: Duration) -> u64 {
    wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0)).min(INTEGER_MAX)
}

#[cfg(test)]
mod tests;
