//! What was decided, counted: rule by rule, key by key, and over time.

mod timeline;

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use siphasher::sip::SipHasher13;
use tallyring_protocol::rules::{Action, DescribedKey, Rule, RuleSet};
use tallyring_protocol::{AlgorithmCode, KeyRef, PeriodCode};

pub(super) use self::timeline::Timeline;

/// Keys that are counted apart, of all rules together; those beyond are in the rules' sums alone.
const KEYS_MAX: usize = 1_000_000;

const DAY_US: u64 = 86_400_000_000;

/// One decision.
pub(super) struct Verdict<'k> {
    pub(super) t_us: u64,
    /// A hash of the key.
    pub(super) id: u64,
    pub(super) key: KeyRef<'k>,
    pub(super) allowed: bool,
}

/// Everything that is counted.
pub(super) struct Tallies<'r> {
    rules: Vec<RuleTally<'r>>,
    timeline: Timeline,
    requests: u64,
    admitted: u64,
    /// The first and the last request.
    span_us: Option<(u64, u64)>,
    keys: usize,
    untracked: u64,
}

/// What one rule decided.
pub(super) struct RuleTally<'r> {
    pub(super) rule: &'r Rule,
    pub(super) allowed: u64,
    pub(super) denied: u64,
    pub(super) peak: Option<Peak>,
    window_us: u64,
    by_key: HashMap<u64, KeyTally, BuildHasherDefault<SipHasher13>>,
}

/// The most requests of one key in one window of its rule: a limit of as much would have denied nobody a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Peak {
    pub(super) requests: u64,
    pub(super) key: Box<str>,
    pub(super) t_us: u64,
}

/// What one rule decided about one key.
#[derive(Default)]
struct KeyTally {
    denied: u64,
    /// Its text, once it matters.
    text: Option<Box<str>>,
    window: u64,
    in_window: u64,
}

impl<'r> Tallies<'r> {
    pub(super) fn new(rules: &'r RuleSet) -> Tallies<'r> {
        Tallies {
            rules: rules.rules().iter().map(RuleTally::new).collect(),
            timeline: Timeline::new(rules.rules().len()),
            requests: 0,
            admitted: 0,
            span_us: None,
            keys: 0,
            untracked: 0,
        }
    }

    /// Counts a request.
    pub(super) fn request(&mut self, t_us: u64, admitted: bool) {
        self.requests += 1;
        self.admitted += u64::from(admitted);
        self.span_us = Some((self.span_us.map_or(t_us, |(first, _)| first), t_us));
    }

    /// Counts what a rule says about a request.
    pub(super) fn count(&mut self, rule: usize, verdict: &Verdict<'_>) {
        self.timeline.count(rule, verdict.t_us, verdict.allowed);
        let has_room = self.keys < KEYS_MAX;
        match self.rules[rule].count(verdict, has_room) {
            Counted::NewKey => self.keys += 1,
            Counted::KnownKey => {}
            Counted::Untracked => self.untracked += 1,
        }
    }

    pub(super) fn requests(&self) -> u64 {
        self.requests
    }

    pub(super) fn admitted(&self) -> u64 {
        self.admitted
    }

    pub(super) fn span_us(&self) -> Option<(u64, u64)> {
        self.span_us
    }

    /// Decisions about keys that there was no room to count apart.
    pub(super) fn untracked(&self) -> u64 {
        self.untracked
    }

    /// In the order of the document.
    pub(super) fn rules(&self) -> &[RuleTally<'r>] {
        &self.rules
    }

    pub(super) fn timeline(&self) -> &Timeline {
        &self.timeline
    }
}

/// What became of a verdict's key.
enum Counted {
    NewKey,
    KnownKey,
    Untracked,
}

impl<'r> RuleTally<'r> {
    fn new(rule: &'r Rule) -> RuleTally<'r> {
        let by_key = HashMap::default();
        RuleTally { rule, allowed: 0, denied: 0, peak: None, window_us: window_us(rule), by_key }
    }

    /// Whether this rule's decisions can be replayed, and are of interest.
    pub(super) fn is_judged(&self) -> bool {
        match self.rule.action() {
            Action::Limit(numbers) => numbers.algorithm != AlgorithmCode::Concurrency,
            Action::Block => true,
            Action::Allow => false,
        }
    }

    /// Keys that it decided about.
    pub(super) fn keys(&self) -> usize {
        self.by_key.len()
    }

    /// Keys that it denied something.
    pub(super) fn keys_denied(&self) -> usize {
        self.by_key.values().filter(|key| key.denied > 0).count()
    }

    /// The keys that were denied most, and how often, the worst first.
    pub(super) fn worst(&self, count: usize) -> Vec<(String, u64)> {
        let denied = self.by_key.values().filter(|key| key.denied > 0);
        let mut worst: Vec<_> = denied.map(|key| (key.text.as_deref().unwrap_or_default(), key.denied)).collect();
        worst.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        worst.into_iter().take(count).map(|(text, denied)| (text.to_owned(), denied)).collect()
    }

    fn count(&mut self, verdict: &Verdict<'_>, has_room: bool) -> Counted {
        self.allowed += u64::from(verdict.allowed);
        self.denied += u64::from(!verdict.allowed);
        let known = self.by_key.len();
        if !has_room && !self.by_key.contains_key(&verdict.id) {
            return Counted::Untracked;
        }
        let key = self.by_key.entry(verdict.id).or_default();
        key.count(verdict, verdict.t_us / self.window_us);
        let highest = self.peak.as_ref().map_or(0, |peak| peak.requests);
        if key.in_window > highest {
            let text = key.text.clone().unwrap_or_else(|| text_of(verdict.key));
            self.peak = Some(Peak { requests: key.in_window, key: text, t_us: verdict.t_us });
        }
        if self.by_key.len() > known { Counted::NewKey } else { Counted::KnownKey }
    }
}

impl KeyTally {
    fn count(&mut self, verdict: &Verdict<'_>, window: u64) {
        if self.window != window {
            (self.window, self.in_window) = (window, 0);
        }
        self.in_window += 1;
        if !verdict.allowed {
            self.denied += 1;
            self.text.get_or_insert_with(|| text_of(verdict.key));
        }
    }
}

/// A key as people read it.
fn text_of(key: KeyRef<'_>) -> Box<str> {
    DescribedKey::read(key.rest()).map_or("(a long key)".into(), |key| key.to_string().into())
}

/// A rule's window for its peak; of a calendar about that.
fn window_us(rule: &Rule) -> u64 {
    match rule.numbers().map(|numbers| numbers.period) {
        Some(PeriodCode::Micros(micros)) => micros,
        Some(PeriodCode::Day) | None => DAY_US,
        Some(PeriodCode::Week) => 7 * DAY_US,
        Some(PeriodCode::Month) => 30 * DAY_US,
    }
}
