//! What a gateway decided of a rule by itself, so that the store's metrics tell the whole of it.

use crate::bounds::RULE_ID_BYTES_MAX;
use crate::code::Kind;
use crate::fields::{Fields, Malformed, put_text};
use crate::frame::{self, Frame};

/// Flag: the rule is not enforced, so what would have been denied was not.
const SHADOW: u8 = 1;

/// The body of a report: counts since the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report<'a> {
    /// The rule's id; empty = limits of no rule.
    pub rule: &'a str,
    /// Whether the rule was not enforced: its outcomes are counted apart.
    pub shadow: bool,
    /// What was decided.
    pub counts: LocalCounts,
}

/// Calls of one rule that were decided without the store, and by what; and what the store cannot know of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LocalCounts {
    /// Denied from memory: the store had denied the key until later.
    pub deny_cache: u64,
    /// Denied by the local pre-filter of a hot key.
    pub prefilter: u64,
    /// Allowed by the local fallback: the store did not answer.
    pub fallback_allowed: u64,
    /// Denied by the local fallback.
    pub fallback_denied: u64,
    /// Denied because the store did not answer and the rule says so.
    pub mode_denied: u64,
    /// Denied by a rule that blocks.
    pub blocked: u64,
    /// Allowed out of a grant.
    pub grant_allowed: u64,
    /// Units spent out of grants behind the end of the window they were taken in: at most so much was admitted in excess.
    pub grant_excess: u64,
    /// Allowed by whomever, the store included, with so much used that the rule's `soft` fraction is reached. Only who knows
    /// the rule can tell, so the store has to be told; each is counted as allowed as well.
    pub soft: u64,
}

impl LocalCounts {
    /// The names of the counts, in the order of [`LocalCounts::values`].
    pub const NAMES: [&'static str; 9] = [
        "deny_cache",
        "prefilter",
        "fallback_allowed",
        "fallback_denied",
        "mode_denied",
        "blocked",
        "grant_allowed",
        "grant_excess",
        "soft",
    ];

    /// The counts, in the order in which they travel.
    pub fn values(&self) -> [u64; 9] {
        let LocalCounts { deny_cache, prefilter, fallback_allowed, fallback_denied, .. } = *self;
        let LocalCounts { mode_denied, blocked, grant_allowed, grant_excess, soft, .. } = *self;
        [
            deny_cache,
            prefilter,
            fallback_allowed,
            fallback_denied,
            mode_denied,
            blocked,
            grant_allowed,
            grant_excess,
            soft,
        ]
    }

    /// Counts on; a sum stops at the largest number.
    ///
    /// ```
    /// use tallyring_protocol::request::LocalCounts;
    /// let mut sum = LocalCounts { blocked: 1, ..LocalCounts::default() };
    /// sum.add(&LocalCounts { blocked: 2, deny_cache: u64::MAX, ..LocalCounts::default() });
    /// sum.add(&LocalCounts { deny_cache: 9, ..LocalCounts::default() });
    /// assert_eq!((sum.blocked, sum.deny_cache), (3, u64::MAX));
    /// ```
    pub fn add(&mut self, more: &LocalCounts) {
        let (sum, more) = (self.values(), more.values());
        *self = LocalCounts::from_values(std::array::from_fn(|at| sum[at].saturating_add(more[at])));
    }

    /// Whether there is nothing to report.
    pub fn is_empty(&self) -> bool {
        *self == LocalCounts::default()
    }

    fn from_values(values: [u64; 9]) -> LocalCounts {
        let [
            deny_cache,
            prefilter,
            fallback_allowed,
            fallback_denied,
            mode_denied,
            blocked,
            grant_allowed,
            grant_excess,
            soft,
        ] = values;
        LocalCounts {
            deny_cache,
            prefilter,
            fallback_allowed,
            fallback_denied,
            mode_denied,
            blocked,
            grant_allowed,
            grant_excess,
            soft,
        }
    }
}

impl<'a> Report<'a> {
    pub(super) fn decode(frame: &Frame<'a>) -> Result<Report<'a>, Malformed> {
        let mut fields = Fields::new(frame.body);
        let mut values = [0; 9];
        for (value, name) in values.iter_mut().zip(LocalCounts::NAMES) {
            *value = fields.u64(name)?;
        }
        let rule = fields.rule_id("rule")?;
        fields.end()?;
        Ok(Report { rule, shadow: frame.flags & SHADOW != 0, counts: LocalCounts::from_values(values) })
    }

    pub(super) fn encode(&self, id: u32, out: &mut Vec<u8>) {
        frame::put(out, Kind::Report, if self.shadow { SHADOW } else { 0 }, 0, id, |out| {
            for value in self.counts.values() {
                out.extend_from_slice(&value.to_le_bytes());
            }
            put_text(out, self.rule, RULE_ID_BYTES_MAX);
        });
    }
}
