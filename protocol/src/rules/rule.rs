//! One rule, compiled.

use super::conditions::{Conditions, Specificity};
use super::fraction::Fraction;
use super::key::{KeyPart, KeyRecipe};
use super::numbers::Numbers;
use super::route::Route;

/// A rule: which requests it is for, what it counts apart, what it does to them.
#[derive(Clone, Debug)]
pub struct Rule {
    pub(crate) id: Box<str>,
    pub(crate) group: Box<str>,
    pub(crate) order: usize,
    pub(crate) conditions: Conditions,
    pub(crate) recipe: KeyRecipe,
    pub(crate) rank: i32,
    pub(crate) action: Action,
    pub(crate) mode: Mode,
    pub(crate) sync: bool,
    pub(crate) soft: Option<Fraction>,
    pub(crate) priorities: Box<[(Box<str>, Kept)]>,
    pub(crate) keys_max: Option<u64>,
    pub(crate) fallback_gateways: Option<u32>,
    pub(crate) grant: Option<u64>,
    pub(crate) prefilter: bool,
}

/// What a rule does to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Counts it.
    Limit(Numbers),
    /// Lets it pass, as far as its group is concerned.
    Allow,
    /// Refuses it.
    Block,
}

/// What a rule does while the store cannot be asked, and whether it rejects at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// The gateway decides by its own share of the limit.
    Protect,
    /// Nobody passes.
    Deny,
    /// It decides and counts but never rejects, with a store or without.
    Shadow,
}

/// What a priority leaves for the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// This part of the ceiling.
    Fraction(Fraction),
    /// Nothing, and it passes even if nothing is there.
    Always,
}

/// How a call of some priority asks a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Priority {
    /// Units that must remain after the call.
    pub keep: u64,
    /// Always allowed; charges what there is.
    pub force: bool,
}

impl Rule {
    /// Its name, unique among the rules and part of its keys.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The group in which it competes: the most specific rule of each group wins.
    pub fn group(&self) -> &str {
        &self.group
    }

    /// Its place in the document, from 0.
    pub fn order(&self) -> usize {
        self.order
    }

    /// What it does.
    pub fn action(&self) -> Action {
        self.action
    }

    /// What it counts by; `None` for a rule that allows or blocks.
    pub fn numbers(&self) -> Option<&Numbers> {
        match &self.action {
            Action::Limit(numbers) => Some(numbers),
            Action::Allow | Action::Block => None,
        }
    }

    /// The most units that one call can get; 0 for a rule that allows or blocks.
    pub fn ceiling(&self) -> u64 {
        self.numbers().map_or(0, Numbers::ceiling)
    }

    /// What it does while the store is gone, and whether it rejects.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Whether it never rejects, by its own mode. The document's kill switch is not its own.
    pub fn is_shadow(&self) -> bool {
        self.mode == Mode::Shadow
    }

    /// Whether a decision waits until a replica has it.
    pub fn sync(&self) -> bool {
        self.sync
    }

    /// The used part of the ceiling from which on a decision is soft.
    pub fn soft(&self) -> Option<Fraction> {
        self.soft
    }

    /// Whether a decision that leaves so many units is soft: near the limit, not over it.
    pub fn is_soft(&self, remaining: u64) -> bool {
        let ceiling = self.ceiling();
        self.soft.is_some_and(|soft| soft.is_reached(ceiling.saturating_sub(remaining), ceiling))
    }

    /// How a call of that priority asks. A name that the rule does not know, or none, leaves nothing for others.
    pub fn priority(&self, name: Option<&str>) -> Priority {
        let known = name.and_then(|name| self.priorities.iter().find(|(known, _)| **known == *name));
        match known {
            Some((_, Kept::Always)) => Priority { keep: 0, force: true },
            Some((_, Kept::Fraction(kept))) => Priority { keep: kept.of_rounded_up(self.ceiling()), force: false },
            None => Priority::default(),
        }
    }

    /// Keys that it may hold in one node, if it has a bound of its own.
    pub fn keys_max(&self) -> Option<u64> {
        self.keys_max
    }

    /// Gateways that its limit is divided by while the store has never been reached; at least 1.
    pub fn fallback_gateways(&self) -> Option<u32> {
        self.fallback_gateways
    }

    /// Units that a gateway may take ahead at once; `None` = each is asked for.
    pub fn grant(&self) -> Option<u64> {
        self.grant
    }

    /// Whether a gateway rejects by itself what alone is over the limit.
    pub fn prefilter(&self) -> bool {
        self.prefilter
    }

    /// How specific it is among its group.
    pub(crate) fn specificity(&self) -> Specificity {
        self.conditions.specificity(self.rank)
    }

    /// Its pattern of method and path.
    pub fn route(&self) -> Option<&Route> {
        self.conditions.route.as_ref()
    }

    /// What it counts apart; nothing = one counter for all.
    pub fn key_parts(&self) -> &[KeyPart] {
        self.recipe.parts()
    }
}
