//! The least gateway: rules, an engine, and no network between them.

use std::collections::BTreeMap;

use tallyring::limits::limit_of;
use tallyring_engine::{Algorithm, Ask, Bounds, Decision, Engine, Identity, LimitId, Part, Timestamp, Wait};
use tallyring_protocol::rules::{Action, Resolution, Rule, RuleSet, Winner};
use tallyring_protocol::{AlgorithmCode, IdentityHasher, IdentityKey};

use crate::line::Line;

pub(crate) struct Gateway<'r> {
    rules: &'r RuleSet,
    engine: Engine,
    hasher: IdentityHasher,
    /// Identities of reservations, and the rule of each, by the name that the page gives them.
    reservations: BTreeMap<String, (Identity, String)>,
}

impl<'r> Gateway<'r> {
    pub(crate) fn new(rules: &'r RuleSet) -> Gateway<'r> {
        let hasher = IdentityHasher::new(IdentityKey([1; 16]));
        Gateway { rules, engine: Engine::new(Bounds::of_bytes(64 << 20)), hasher, reservations: BTreeMap::new() }
    }

    /// What a line brings; of several calls all must bring the same, but for what is left.
    pub(crate) fn outcome(&mut self, line: &Line, text: &str) -> String {
        let now = Timestamp::from_micros(line.t_us);
        if line.method == "settle" {
            return self.settle(now, line);
        }
        let with_rest = line.expect.contains("left");
        let outcomes = (0..line.times).map(|_| self.call(now, line, with_rest)).collect::<Vec<_>>();
        assert!(with_rest || outcomes.iter().all(|outcome| *outcome == outcomes[0]), "{text}: {outcomes:?}");
        outcomes.into_iter().next_back().expect("at least one call")
    }

    fn call(&mut self, now: Timestamp, line: &Line, with_rest: bool) -> String {
        let subject = line.subject();
        let resolution = self.rules.resolve(&subject);
        if let Some(blocked) = resolution.enforced.iter().find(|winner| winner.rule.action() == Action::Block) {
            return format!("blocked by {}", blocked.rule.id());
        }
        let decided = self.decide(now, line, &resolution);
        let denied = decided.iter().filter(|(_, decision)| !decision.allowed);
        // The first of the longest waits, the first of the fewest units.
        let speaks = denied.rev().max_by_key(|(_, decision)| decision.retry_after);
        if let Some((rule, decision)) = speaks {
            return format!("denied by {}, retry in {}", rule.id(), wait(decision.retry_after));
        }
        match decided.iter().min_by_key(|(_, decision)| decision.remaining) {
            Some((rule, decision)) if with_rest => format!("allowed, {} left by {}", decision.remaining, rule.id()),
            _ => "allowed".to_owned(),
        }
    }

    fn decide(&mut self, now: Timestamp, line: &Line, resolution: &Resolution<'r>) -> Vec<(&'r Rule, Decision)> {
        let counted: Vec<&Winner<'r>> =
            resolution.enforced.iter().filter(|winner| !is_concurrency(winner.rule)).collect();
        if let Some(id) = line.field("reserve") {
            return self.reserve(now, line, id, &counted);
        }
        let parts: Vec<Part> = counted.iter().map(|winner| self.part(winner, line)).collect();
        if parts.is_empty() {
            return Vec::new();
        }
        let mut decisions = Vec::new();
        self.engine.check_all(now, &parts, &mut decisions).expect("there is room");
        counted.iter().map(|winner| winner.rule).zip(decisions).collect()
    }

    fn reserve(&mut self, now: Timestamp, line: &Line, id: &str, winners: &[&Winner<'r>]) -> Vec<(&'r Rule, Decision)> {
        let [winner] = winners else { panic!("the page reserves under one rule at a time") };
        let part = self.part(winner, line);
        let reservation = self.hasher.reservation(winner.key.as_ref(), id.as_bytes());
        let reservation = Identity { placement: part.identity.placement, identity: reservation };
        self.reservations.insert(id.to_owned(), (reservation, winner.rule.id().to_owned()));
        let decision = self.engine.reserve(now, part.identity, reservation, part.limit, part.ask, 60_000_000);
        vec![(winner.rule, decision.expect("there is room"))]
    }

    fn settle(&mut self, now: Timestamp, line: &Line) -> String {
        let (reservation, rule) = &self.reservations[&line.path];
        let settled = self.engine.settle(now, *reservation, line.number("actual").expect("what it was"));
        format!("{} left by {rule}", settled.expect("there is room").expect("it is live").remaining)
    }

    fn part(&mut self, winner: &Winner<'_>, line: &Line) -> Part {
        let numbers = winner.rule.numbers().expect("a rule that counts");
        let limit = self.limit(winner.rule);
        let identity = self.hasher.identity(winner.key.as_ref(), numbers.algorithm);
        let priority = winner.rule.priority(line.field("priority"));
        let ask = Ask { cost: line.number("cost").unwrap_or(1), keep: priority.keep, force: priority.force };
        Part { identity: Identity { placement: 0, identity }, limit, ask }
    }

    fn limit(&mut self, rule: &Rule) -> LimitId {
        let numbers = rule.numbers().expect("a rule that counts");
        let limit = limit_of(numbers);
        self.engine.intern(rule.id(), limit).expect("there is room")
    }
}

fn is_concurrency(rule: &Rule) -> bool {
    rule.numbers().is_some_and(|numbers| numbers.algorithm == AlgorithmCode::Concurrency)
}

/// A wait in whole hours or seconds, as the page writes it.
fn wait(wait: Wait) -> String {
    let Wait::Micros(micros) = wait else { return "no time".to_owned() };
    assert_eq!(micros % 1_000_000, 0, "the page has whole seconds: {micros} µs");
    match micros / 1_000_000 {
        seconds if seconds % 3_600 == 0 => format!("{}h", seconds / 3_600),
        seconds => format!("{seconds}s"),
    }
}

/// Rules may say what the engine can take, and no less.
#[test]
fn the_bounds_of_rules_are_the_engines() {
    use tallyring_protocol::rules;
    assert_eq!(rules::UNITS_MAX, tallyring_engine::UNITS_MAX);
    assert_eq!(rules::LOG_UNITS_MAX, tallyring_engine::LOG_UNITS_MAX);
    assert_eq!(rules::WINDOW_US_MAX, tallyring_engine::PERIOD_US_MAX);
    for algorithm in Algorithm::ALL {
        assert!(rules::algorithm_from_name(algorithm.name()).is_some(), "{algorithm:?}");
    }
}
