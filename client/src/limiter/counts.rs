//! How a limiter has answered.

use std::sync::atomic::{AtomicU64, Ordering};

use tallyring_protocol::LocalCounts;

use crate::decision::Source;

/// How a limiter has answered since it was made, counted once a rule that was asked, and what it holds at the moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Allowed by the store.
    pub store_allowed: u64,
    /// Denied by the store.
    pub store_denied: u64,
    /// Denied without asking: the store's last refusal still held.
    pub deny_cache_denied: u64,
    /// Denied without asking: this gateway's own count alone was over the limit.
    pub prefilter_denied: u64,
    /// Allowed out of a grant.
    pub grant_allowed: u64,
    /// Allowed by the fallback: what limits may have been exceeded by.
    pub fallback_allowed: u64,
    /// Denied by the fallback.
    pub fallback_denied: u64,
    /// Denied because the store could not be asked and the rule's mode is to deny then.
    pub mode_denied: u64,
    /// Denied by rules that block.
    pub rule_denied: u64,
    /// Would have been allowed by rules that are not enforced.
    pub shadow_allowed: u64,
    /// Would have been denied by rules that are not enforced.
    pub shadow_denied: u64,
    /// Not asked of rules that are not enforced: too many such questions were under way, or the store did not answer.
    pub shadow_skipped: u64,
    /// Units of outstanding grants, now: what rules with grants may admit too much at most, over any window.
    pub grants_outstanding: u64,
    /// Units that the fallback admitted and that are still to be charged to the store, now.
    pub arrears_owed: u64,
    /// Units that the fallback admitted and that were charged to the store when it was back.
    pub arrears_charged: u64,
    /// Units that the fallback admitted and that the store will never know of.
    pub arrears_lost: u64,
}

/// The counters behind [`Counts`].
#[derive(Debug, Default)]
pub(crate) struct Tally {
    store_allowed: AtomicU64,
    store_denied: AtomicU64,
    deny_cache_denied: AtomicU64,
    prefilter_denied: AtomicU64,
    grant_allowed: AtomicU64,
    fallback_allowed: AtomicU64,
    fallback_denied: AtomicU64,
    mode_denied: AtomicU64,
    rule_denied: AtomicU64,
    shadow_allowed: AtomicU64,
    shadow_denied: AtomicU64,
    shadow_skipped: AtomicU64,
}

impl Tally {
    pub(crate) fn count(&self, source: Source, allowed: bool) {
        let counter = match (source, allowed) {
            (Source::Store, true) => &self.store_allowed,
            (Source::Store, false) => &self.store_denied,
            (Source::DenyCache, _) => &self.deny_cache_denied,
            (Source::Prefilter, _) => &self.prefilter_denied,
            (Source::Grant, _) => &self.grant_allowed,
            (Source::Fallback, true) => &self.fallback_allowed,
            (Source::Fallback, false) => &self.fallback_denied,
            (Source::Mode, _) => &self.mode_denied,
            (Source::Rule, _) => &self.rule_denied,
        };
        add(counter, 1);
    }

    /// Counts what a rule that is not enforced would have done; `None` if it was not asked.
    pub(crate) fn count_shadow(&self, allowed: Option<bool>) {
        let counter = match allowed {
            Some(true) => &self.shadow_allowed,
            Some(false) => &self.shadow_denied,
            None => &self.shadow_skipped,
        };
        add(counter, 1);
    }

    /// The counts; what is held now is for the caller to fill in.
    pub(crate) fn read(&self) -> Counts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            store_allowed: read(&self.store_allowed),
            store_denied: read(&self.store_denied),
            deny_cache_denied: read(&self.deny_cache_denied),
            prefilter_denied: read(&self.prefilter_denied),
            grant_allowed: read(&self.grant_allowed),
            fallback_allowed: read(&self.fallback_allowed),
            fallback_denied: read(&self.fallback_denied),
            mode_denied: read(&self.mode_denied),
            rule_denied: read(&self.rule_denied),
            shadow_allowed: read(&self.shadow_allowed),
            shadow_denied: read(&self.shadow_denied),
            shadow_skipped: read(&self.shadow_skipped),
            ..Counts::default()
        }
    }
}

/// What the store does not know of one rule's decisions, since that was reported last.
#[derive(Debug, Default)]
pub(crate) struct Unreported {
    deny_cache: AtomicU64,
    prefilter: AtomicU64,
    fallback_allowed: AtomicU64,
    fallback_denied: AtomicU64,
    mode_denied: AtomicU64,
    blocked: AtomicU64,
    grant_allowed: AtomicU64,
    soft: AtomicU64,
}

impl Unreported {
    pub(crate) fn count(&self, source: Source, allowed: bool) {
        let counter = match (source, allowed) {
            (Source::Store, _) => return, // the store knows
            (Source::DenyCache, _) => &self.deny_cache,
            (Source::Prefilter, _) => &self.prefilter,
            (Source::Grant, _) => &self.grant_allowed,
            (Source::Fallback, true) => &self.fallback_allowed,
            (Source::Fallback, false) => &self.fallback_denied,
            (Source::Mode, _) => &self.mode_denied,
            (Source::Rule, _) => &self.blocked,
        };
        add(counter, 1);
    }

    /// Counts a call that was allowed near the rule's end, whoever allowed it: the store knows of no such fraction.
    pub(crate) fn count_soft(&self) {
        add(&self.soft, 1);
    }

    /// Takes the counts, to report them.
    pub(crate) fn take(&self) -> LocalCounts {
        let take = |counter: &AtomicU64| counter.swap(0, Ordering::Relaxed);
        LocalCounts {
            deny_cache: take(&self.deny_cache),
            prefilter: take(&self.prefilter),
            fallback_allowed: take(&self.fallback_allowed),
            fallback_denied: take(&self.fallback_denied),
            mode_denied: take(&self.mode_denied),
            blocked: take(&self.blocked),
            grant_allowed: take(&self.grant_allowed),
            grant_excess: 0, // a grant ends with its window
            soft: take(&self.soft),
        }
    }

    /// Counts again what could not be reported.
    pub(crate) fn put_back(&self, counts: &LocalCounts) {
        add(&self.deny_cache, counts.deny_cache);
        add(&self.prefilter, counts.prefilter);
        add(&self.fallback_allowed, counts.fallback_allowed);
        add(&self.fallback_denied, counts.fallback_denied);
        add(&self.mode_denied, counts.mode_denied);
        add(&self.blocked, counts.blocked);
        add(&self.grant_allowed, counts.grant_allowed);
        add(&self.soft, counts.soft);
    }
}

fn add(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}
