//! The limits in use: each (rule, numbers) once, behind a small id, counted so that it can be freed.
//!
//! An entry keeps four bytes of id in place of forty of numbers, and outcomes are counted a rule, not a key: no metric
//! has a label that an attacker can grow.

use std::collections::BTreeMap;

use crate::bounds::Bounds;
use crate::decision::{Full, LimitsFull};
use crate::limit::Limit;

/// Limits that ids can tell apart; the last id is no limit's.
const LIMITS_MAX: usize = u32::MAX as usize - 1;

/// A limit in use: a handle from [`Engine::intern`](crate::Engine::intern), good until it is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LimitId(pub(crate) u32);

/// How a charging call ended, as counted a rule. Peeks are not counted: they are questions, not traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Allowed,
    Denied,
    Full,
}

impl Outcome {
    /// How a call ended that was allowed if `allowed` says so of its answer.
    pub(crate) fn of_call<T>(answer: &Result<T, Full>, allowed: impl Fn(&T) -> bool) -> Outcome {
        match answer {
            Ok(answer) => Outcome::of(allowed(answer)),
            Err(Full) => Outcome::Full,
        }
    }

    pub(crate) fn of(allowed: bool) -> Outcome {
        if allowed { Outcome::Allowed } else { Outcome::Denied }
    }
}

/// What limits are counted under, and what bounds the keys that they hold together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleRef<'a> {
    /// The rule's name; empty for limits that belong to no rule.
    pub name: &'a str,
    /// Whether the rule is not enforced: it is counted apart from an enforced one of the same name.
    pub shadow: bool,
    /// Keys that the rule may hold from now on; `None` = what was said last, at first as many as [`Bounds`] give any rule.
    pub keys_max: Option<u64>,
}

impl<'a> RuleRef<'a> {
    /// An enforced rule, of which nothing else is said.
    pub fn named(name: &'a str) -> RuleRef<'a> {
        RuleRef { name, ..RuleRef::default() }
    }
}

/// One rule's counts, for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleCounts<'a> {
    /// The rule's name, as interned; empty for limits that belong to no rule.
    pub rule: &'a str,
    /// Whether it is not enforced.
    pub shadow: bool,
    /// Keys held now.
    pub keys: u64,
    /// Charging calls that were allowed, ever.
    pub allowed: u64,
    /// Charging calls that were refused, ever.
    pub denied: u64,
    /// Charging calls that found no room, ever.
    pub full: u64,
}

#[derive(Debug)]
struct Slot {
    limit: Limit,
    rule: u32,
    holders: u64,
    entries: u64,
}

#[derive(Debug, Default)]
struct Rule {
    name: Box<str>,
    shadow: bool,
    keys_max: u64,
    limits: usize,
    keys: u64,
    allowed: u64,
    denied: u64,
    full: u64,
}

impl Rule {
    fn has_room(&self, keys: u64) -> bool {
        self.keys.saturating_add(keys) <= self.keys_max
    }
}

/// Every limit in use and every rule that was ever counted.
#[derive(Debug)]
pub(crate) struct Limits {
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    ids: BTreeMap<(u32, Limit), LimitId>,
    rules: Vec<Rule>,
    /// By name: the enforced rules, then the shadow ones.
    names: [BTreeMap<Box<str>, u32>; 2],
    limits_max: usize,
    rule_limits_max: usize,
    rules_max: usize,
    rule_keys_max: u64,
}

impl Limits {
    pub(crate) fn new(bounds: &Bounds) -> Limits {
        Limits {
            slots: Vec::new(),
            free: Vec::new(),
            ids: BTreeMap::new(),
            rules: Vec::new(),
            names: Default::default(),
            limits_max: bounds.limits_max.min(LIMITS_MAX),
            rule_limits_max: bounds.rule_limits_max,
            rules_max: bounds.rules_max.min(u32::MAX as usize),
            rule_keys_max: bounds.rule_keys_max as u64,
        }
    }

    /// The id of `limit` under `rule`; the same pair has the same id, and every call needs its own release.
    pub(crate) fn intern(&mut self, rule: RuleRef<'_>, limit: Limit) -> Result<LimitId, LimitsFull> {
        let rule = self.rule(rule)?;
        if let Some(&id) = self.ids.get(&(rule, limit)) {
            self.slot_mut(id).holders += 1;
            return Ok(id);
        }
        if self.ids.len() >= self.limits_max || self.rules[rule as usize].limits >= self.rule_limits_max {
            return Err(LimitsFull);
        }
        let id = self.place(Slot { limit, rule, holders: 1, entries: 0 });
        self.ids.insert((rule, limit), id);
        self.rules[rule as usize].limits += 1;
        Ok(id)
    }

    /// One more holder claims `id`.
    pub(crate) fn hold(&mut self, id: LimitId) {
        self.slot_mut(id).holders += 1;
    }

    /// Gives one holder's claim back.
    pub(crate) fn release(&mut self, id: LimitId) {
        let slot = self.slot_mut(id);
        assert!(slot.holders > 0, "a limit is released once for each time it was interned");
        slot.holders -= 1;
        self.free_if_unused(id);
    }

    pub(crate) fn get(&self, id: LimitId) -> &Limit {
        &self.slot(id).limit
    }

    /// The name of the rule that `id` belongs to.
    pub(crate) fn rule_name(&self, id: LimitId) -> &str {
        &self.rules[self.slot(id).rule as usize].name
    }

    /// Whether both belong to one rule.
    pub(crate) fn share_a_rule(&self, id: LimitId, other: LimitId) -> bool {
        self.slot(id).rule == self.slot(other).rule
    }

    /// Whether the rule of `id` may hold so many more keys.
    pub(crate) fn has_room(&self, id: LimitId, keys: u64) -> bool {
        self.rules[self.slot(id).rule as usize].has_room(keys)
    }

    /// One more entry uses `id`.
    pub(crate) fn enter(&mut self, id: LimitId) {
        let slot = self.slot_mut(id);
        slot.entries += 1;
        let rule = slot.rule as usize;
        self.rules[rule].keys += 1;
    }

    /// One entry less uses `id`.
    pub(crate) fn leave(&mut self, id: LimitId) {
        let slot = self.slot_mut(id);
        slot.entries -= 1;
        let rule = slot.rule as usize;
        self.rules[rule].keys -= 1;
        self.free_if_unused(id);
    }

    pub(crate) fn count(&mut self, id: LimitId, outcome: Outcome) {
        let rule = self.slot(id).rule as usize;
        let rule = &mut self.rules[rule];
        match outcome {
            Outcome::Allowed => rule.allowed += 1,
            Outcome::Denied => rule.denied += 1,
            Outcome::Full => rule.full += 1,
        }
    }

    pub(crate) fn counts(&self) -> impl Iterator<Item = RuleCounts<'_>> {
        self.names.iter().flat_map(BTreeMap::values).map(|&rule| {
            let rule = &self.rules[rule as usize];
            RuleCounts {
                rule: &rule.name,
                shadow: rule.shadow,
                keys: rule.keys,
                allowed: rule.allowed,
                denied: rule.denied,
                full: rule.full,
            }
        })
    }

    /// Limits in use now.
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Bytes of the slots; the maps of names are small change, bounded by `limits_max` and `rules_max`.
    pub(crate) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Option<Slot>>() + self.rules.capacity() * size_of::<Rule>()
    }

    fn rule(&mut self, RuleRef { name, shadow, keys_max }: RuleRef<'_>) -> Result<u32, LimitsFull> {
        if let Some(&rule) = self.names[usize::from(shadow)].get(name) {
            let rule_now = &mut self.rules[rule as usize];
            rule_now.keys_max = keys_max.unwrap_or(rule_now.keys_max);
            return Ok(rule);
        }
        let keys_max = keys_max.unwrap_or(self.rule_keys_max);
        let fresh = Rule { name: name.into(), shadow, keys_max, ..Rule::default() };
        let rule = if self.rules.len() < self.rules_max {
            self.rules.push(fresh);
            (self.rules.len() - 1) as u32
        } else {
            let unused = self.rules.iter().position(|rule| rule.limits == 0).ok_or(LimitsFull)?;
            let old = std::mem::replace(&mut self.rules[unused], fresh);
            self.names[usize::from(old.shadow)].remove(&old.name);
            unused as u32
        };
        self.names[usize::from(shadow)].insert(name.into(), rule);
        Ok(rule)
    }

    fn place(&mut self, slot: Slot) -> LimitId {
        if let Some(free) = self.free.pop() {
            self.slots[free as usize] = Some(slot);
            return LimitId(free);
        }
        self.slots.push(Some(slot));
        LimitId((self.slots.len() - 1) as u32)
    }

    fn free_if_unused(&mut self, id: LimitId) {
        let &Slot { limit, rule, holders, entries } = self.slot(id);
        if holders > 0 || entries > 0 {
            return;
        }
        self.slots[id.0 as usize] = None;
        self.free.push(id.0);
        self.ids.remove(&(rule, limit));
        self.rules[rule as usize].limits -= 1;
    }

    fn slot(&self, id: LimitId) -> &Slot {
        self.slots[id.0 as usize].as_ref().expect("a limit is used only between intern and release")
    }

    fn slot_mut(&mut self, id: LimitId) -> &mut Slot {
        self.slots[id.0 as usize].as_mut().expect("a limit is used only between intern and release")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::{Algorithm, Period};

    fn limits(limits_max: usize, rules_max: usize) -> Limits {
        Limits::new(&Bounds { limits_max, rules_max, ..Bounds::default() })
    }

    fn per_second(limit: u64) -> Limit {
        Limit::new(Algorithm::TokenBucket, limit, Period::Micros(1_000_000), None).unwrap()
    }

    #[test]
    fn a_rule_in_shadow_is_counted_apart_from_the_enforced_one() {
        let mut limits = limits(9, 9);
        let enforced = limits.intern(RuleRef::named("a"), per_second(1)).unwrap();
        let shadow = limits.intern(RuleRef { shadow: true, ..RuleRef::named("a") }, per_second(1)).unwrap();
        limits.count(shadow, Outcome::Denied);
        limits.count(enforced, Outcome::Allowed);
        let counts = limits.counts().map(|counts| (counts.shadow, counts.allowed, counts.denied));
        assert_eq!(counts.collect::<Vec<_>>(), [(false, 1, 0), (true, 0, 1)]);
    }

    #[test]
    fn the_last_word_about_a_rule_says_how_many_keys_it_may_hold() {
        let mut limits = limits(9, 9);
        let rule = |keys_max| RuleRef { keys_max, ..RuleRef::named("a") };
        let id = limits.intern(rule(Some(2)), per_second(1)).unwrap();
        limits.enter(id);
        assert_eq!((limits.has_room(id, 1), limits.has_room(id, 2)), (true, false));
        limits.intern(rule(Some(1)), per_second(2)).unwrap();
        limits.intern(rule(None), per_second(2)).unwrap();
        assert!(!limits.has_room(id, 1), "an import says nothing of a bound");
        limits.intern(rule(Some(1_000)), per_second(2)).unwrap();
        assert!(limits.has_room(id, 999) && !limits.has_room(id, u64::MAX));
    }

    #[test]
    fn the_same_pair_has_one_id_until_the_last_release() {
        let mut limits = limits(9, 9);
        let first = limits.intern(RuleRef::named("a"), per_second(1)).unwrap();
        assert_eq!(limits.intern(RuleRef::named("a"), per_second(1)), Ok(first));
        assert_ne!(limits.intern(RuleRef::named("b"), per_second(1)), Ok(first));
        assert_ne!(limits.intern(RuleRef::named("a"), per_second(2)), Ok(first));
        limits.release(first);
        assert_eq!(limits.len(), 3);
        limits.release(first);
        assert_eq!(limits.len(), 2);
    }

    #[test]
    fn an_entry_keeps_its_limit_alive() {
        let mut limits = limits(9, 9);
        let id = limits.intern(RuleRef::named("a"), per_second(1)).unwrap();
        limits.enter(id);
        limits.release(id);
        assert_eq!(*limits.get(id), per_second(1));
        limits.leave(id);
        assert_eq!(limits.len(), 0);
    }

    #[test]
    fn limits_are_bounded_and_room_comes_back() {
        let mut limits = limits(2, 9);
        let first = limits.intern(RuleRef::named("a"), per_second(1)).unwrap();
        limits.intern(RuleRef::named("a"), per_second(2)).unwrap();
        assert_eq!(limits.intern(RuleRef::named("a"), per_second(3)), Err(LimitsFull));
        limits.release(first);
        assert!(limits.intern(RuleRef::named("a"), per_second(3)).is_ok());
    }

    #[test]
    fn one_rule_cannot_use_up_the_limits_of_the_others() {
        let mut limits = Limits::new(&Bounds { limits_max: 9, rule_limits_max: 2, ..Bounds::default() });
        let first = limits.intern(RuleRef::named(""), per_second(1)).unwrap();
        limits.intern(RuleRef::named(""), per_second(2)).unwrap();
        assert_eq!(limits.intern(RuleRef::named(""), per_second(3)), Err(LimitsFull));
        assert_eq!(limits.intern(RuleRef::named(""), per_second(1)), Ok(first), "what is in use may be used");
        assert!(limits.intern(RuleRef::named("a"), per_second(3)).is_ok());
    }

    #[test]
    fn a_rule_keeps_its_counts_until_its_place_is_needed() {
        let mut limits = limits(9, 2);
        let first = limits.intern(RuleRef::named("a"), per_second(1)).unwrap();
        limits.count(first, Outcome::Allowed);
        limits.release(first);
        limits.intern(RuleRef::named("b"), per_second(1)).unwrap();
        assert_eq!(
            limits.counts().map(|counts| (counts.rule, counts.allowed)).collect::<Vec<_>>(),
            [("a", 1), ("b", 0)]
        );
        limits.intern(RuleRef::named("c"), per_second(1)).unwrap();
        assert_eq!(limits.counts().map(|counts| counts.rule).collect::<Vec<_>>(), ["b", "c"]);
        assert_eq!(limits.intern(RuleRef::named("d"), per_second(1)), Err(LimitsFull));
    }
}
