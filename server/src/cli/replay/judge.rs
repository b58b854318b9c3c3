//! Decides each request as gateways and store would: the rules say which limits are for it, one engine counts.

use tallyring_engine::{Ask, Bounds, Decision, Engine, Identity, LimitId, Part, Timestamp};
use tallyring_protocol::rules::{Action, Rule, RuleSet, Winner};
use tallyring_protocol::{AlgorithmCode, IdentityHasher, IdentityKey, Key, PlacementSeed};

use super::entry::Entry;
use super::order::Counts;
use super::report::Report;
use super::tally::{Tallies, Verdict};
use crate::limits::limit_of;

/// Bytes of counters that the engine may hold.
const ENGINE_BYTES_MAX: usize = 2 << 30;
/// Entries looked at for expiry with each request, so that a long log does not keep what it no longer needs.
const EXPIRIES_PER_REQUEST_MAX: usize = 4;
/// Nobody chooses keys against a replay: these need not be secret.
const SEED: [u8; 16] = [0x5A; 16];

/// The rules, the engine and what they have decided.
pub(super) struct Judge<'r> {
    rules: &'r RuleSet,
    engine: Engine,
    seed: PlacementSeed,
    hasher: IdentityHasher,
    /// The limit of each rule that has one which a log can tell about.
    limits: Vec<Option<LimitId>>,
    decisions: Vec<Decision>,
    tallies: Tallies<'r>,
    full: u64,
}

/// Whether the rules ask for anything that only headers say.
pub(super) fn needs_headers(rules: &RuleSet) -> bool {
    let docs = &rules.document().rule;
    docs.iter().any(|rule| {
        !rule.matches.header.is_empty() || rule.key.iter().flatten().any(|part| part.starts_with("header:"))
    })
}

impl<'r> Judge<'r> {
    pub(super) fn new(rules: &'r RuleSet) -> Judge<'r> {
        let mut engine = Engine::new(Bounds { rule_keys_max: usize::MAX, ..Bounds::of_bytes(ENGINE_BYTES_MAX) });
        let limits = rules.rules().iter().map(|rule| intern(&mut engine, rule)).collect();
        Judge {
            rules,
            engine,
            seed: PlacementSeed(SEED),
            hasher: IdentityHasher::new(IdentityKey(SEED)),
            limits,
            decisions: Vec::new(),
            tallies: Tallies::new(rules),
            full: 0,
        }
    }

    /// Requests decided so far.
    pub(super) fn requests(&self) -> u64 {
        self.tallies.requests()
    }

    /// Decides one request: all enforced rules or none charge it, then the shadow rules if it was admitted.
    pub(super) fn decide(&mut self, entry: &Entry) {
        let now = self.engine.advance(Timestamp::from_micros(entry.t_us));
        self.engine.expire(now, EXPIRIES_PER_REQUEST_MAX);
        let subject = entry.subject();
        let resolution = self.rules.resolve(&subject);
        let admitted = self.enforce(now, &resolution.enforced);
        self.tallies.request(now.as_micros(), admitted);
        if admitted {
            resolution.shadow.iter().for_each(|winner| self.shadow(now, winner));
        }
    }

    /// What was decided, and what was read for it.
    pub(super) fn report(self, counts: Counts) -> Report {
        Report::new(&self.tallies, counts, self.full)
    }

    /// Whether all let it pass.
    fn enforce(&mut self, now: Timestamp, winners: &[Winner<'_>]) -> bool {
        let blocked = winners.iter().filter(|winner| winner.rule.action() == Action::Block);
        let blocked: Vec<&Winner<'_>> = blocked.collect();
        if !blocked.is_empty() {
            // Who is blocked is not asked about anything else, and pays for nothing.
            blocked.into_iter().for_each(|winner| self.count(now, winner, false));
            return false;
        }
        let parts: Vec<(&Winner<'_>, Part)> =
            winners.iter().filter_map(|winner| Some((winner, self.part(winner)?))).collect();
        if parts.is_empty() {
            return true;
        }
        let asked: Vec<Part> = parts.iter().map(|(_, part)| *part).collect();
        let mut decisions = std::mem::take(&mut self.decisions);
        let joint = self.engine.check_all(now, &asked, &mut decisions);
        match joint {
            Ok(_) => {
                for ((winner, _), decision) in parts.iter().zip(&decisions) {
                    self.count(now, winner, decision.allowed);
                }
            }
            Err(_) => self.full += 1,
        }
        self.decisions = decisions;
        joint.is_ok_and(|joint| joint.allowed)
    }

    fn shadow(&mut self, now: Timestamp, winner: &Winner<'_>) {
        if winner.rule.action() == Action::Block {
            self.count(now, winner, false);
            return;
        }
        let Some(part) = self.part(winner) else { return };
        match self.engine.check(now, part.identity, part.limit, part.ask) {
            Ok(decision) => self.count(now, winner, decision.allowed),
            Err(_) => self.full += 1,
        }
    }

    fn part(&self, winner: &Winner<'_>) -> Option<Part> {
        let limit = self.limits[winner.rule.order()]?;
        let identity = self.identity(&winner.key, winner.rule.numbers()?.algorithm);
        Some(Part { identity, limit, ask: Ask::new(1) })
    }

    fn identity(&self, key: &Key, algorithm: AlgorithmCode) -> Identity {
        let key = key.as_ref();
        Identity { placement: self.seed.place(key).0, identity: self.hasher.identity(key, algorithm) }
    }

    fn count(&mut self, now: Timestamp, winner: &Winner<'_>, allowed: bool) {
        let algorithm = winner.rule.numbers().map_or(AlgorithmCode::FixedWindow, |numbers| numbers.algorithm);
        let id = self.hasher.identity(winner.key.as_ref(), algorithm);
        self.tallies
            .count(winner.rule.order(), &Verdict { t_us: now.as_micros(), id, key: winner.key.as_ref(), allowed });
    }
}

/// A rule's limit; `None` if it has none, or one that a log says nothing about: how long slots were held.
fn intern(engine: &mut Engine, rule: &Rule) -> Option<LimitId> {
    let numbers = rule.numbers().filter(|numbers| numbers.algorithm != AlgorithmCode::Concurrency)?;
    Some(engine.intern(rule.id(), limit_of(numbers)).expect("a document has fewer rules than an engine takes limits"))
}
