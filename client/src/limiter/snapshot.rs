//! The rules that are in force, and what this gateway needs to enforce each of them.
//!
//! A snapshot never changes; other rules are another one. What has not changed from one to the next is shared: a push of
//! a hundred rules of which one is new costs one new handle, and no key of the others loses anything that is known of it.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tallyring_engine::{Algorithm, Limit};
use tallyring_protocol::RulesVersion;
use tallyring_protocol::rules::{Action, Mode, Rule, RuleSet};

use super::counts::Unreported;
use crate::definition::{Definition, LimitHandle};
use crate::error::HandlesFull;
use crate::fallback::period_us;
use crate::grants::Grants;
use crate::limits::limit_of;
use crate::permit::Hold;
use crate::store::Store;

/// Rules in force.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// The rules.
    pub(crate) rules: Arc<RuleSet>,
    /// Which they are.
    pub(crate) version: RulesVersion,
    /// In the order of the document.
    limited: Vec<Arc<Limited>>,
}

/// One rule, as this gateway enforces it.
#[derive(Debug)]
pub(crate) struct Limited {
    traits: Traits,
    handle: OnceLock<LimitHandle>,
    /// For rules that let gateways take units ahead.
    pub(crate) grants: Option<Grants>,
    /// What was decided here and the store does not know yet.
    pub(crate) unreported: Unreported,
}

/// What makes two versions of a rule the same to this gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Traits {
    /// `None` for a rule that allows or blocks.
    definition: Option<Definition>,
    is_shadow: bool,
    mode: Mode,
    fallback_gateways: Option<u32>,
    grant: Option<u64>,
    prefilter: bool,
}

impl Snapshot {
    /// The snapshot of these rules; shares with the one `before` what is the same.
    pub(crate) fn new(rules: RuleSet, version: RulesVersion, before: Option<&Snapshot>) -> Snapshot {
        let known: BTreeMap<&str, &Arc<Limited>> = before.iter().flat_map(|before| before.by_id()).collect();
        let limited = rules.rules().iter().map(|rule| {
            let limited = Limited::new(rule, &rules, version);
            match known.get(rule.id()) {
                Some(known) if known.traits.is_like(&limited.traits) => Arc::clone(known),
                _ => Arc::new(limited),
            }
        });
        Snapshot { limited: limited.collect(), rules: Arc::new(rules), version }
    }

    /// How the rule of that place in the document is enforced.
    pub(crate) fn limited(&self, order: usize) -> &Limited {
        &self.limited[order]
    }

    /// Every rule with its id and how it is enforced.
    pub(crate) fn by_id(&self) -> impl Iterator<Item = (&str, &Arc<Limited>)> {
        self.rules.rules().iter().map(Rule::id).zip(&self.limited)
    }
}

impl Limited {
    fn new(rule: &Rule, rules: &RuleSet, version: RulesVersion) -> Limited {
        let is_shadow = rule.is_shadow() || !rules.defaults().enforce;
        let traits = Traits {
            definition: definition(rule, is_shadow, version),
            is_shadow,
            mode: rule.mode(),
            fallback_gateways: rule.fallback_gateways().or(rules.defaults().fallback_gateways),
            grant: rule.grant(),
            prefilter: rule.prefilter(),
        };
        let grants = traits.definition.as_ref().zip(traits.grant);
        Limited {
            grants: grants.map(|(definition, units)| Grants::new(definition.limit, units)),
            traits,
            handle: OnceLock::new(),
            unreported: Unreported::default(),
        }
    }

    /// Makes sure that the rule's limit has a handle. Only rules that are used take one.
    pub(super) fn define(&self, store: &Store) -> Result<(), HandlesFull> {
        if let (None, Some(definition)) = (self.handle.get(), &self.traits.definition) {
            let handle = store.define(definition.clone())?;
            self.handle.get_or_init(|| handle);
        }
        Ok(())
    }

    /// The handle of the rule's limit.
    ///
    /// # Panics
    /// If it was not [defined](Limited::define): whoever decides by a rule does that first.
    pub(super) fn handle(&self) -> &LimitHandle {
        self.handle.get().expect("a limit is defined before it is asked")
    }

    /// The rule's limit.
    ///
    /// # Panics
    /// For a rule that blocks: nobody asks what it leaves.
    pub(crate) fn limit(&self) -> Limit {
        self.traits.definition.as_ref().expect("a rule that is counted has a limit").limit
    }

    /// Whether it limits how much goes on at the same time.
    pub(super) fn is_slots(&self) -> bool {
        self.limit().algorithm() == Algorithm::Concurrency
    }

    /// What it lets be held, of a rule that limits concurrency.
    pub(super) fn hold(&self, cost: u64) -> Hold {
        let limit = self.limit();
        Hold { limit: limit.limit(), cost: cost.max(1), ttl: Duration::from_micros(period_us(limit.period())) }
    }

    /// What happens while the store cannot be asked.
    pub(super) fn mode(&self) -> Mode {
        self.traits.mode
    }

    /// Gateways that share the limit as far as the rules know.
    pub(super) fn fallback_gateways(&self) -> Option<u32> {
        self.traits.fallback_gateways
    }

    /// Whether this gateway's own count of a key may refuse it.
    pub(super) fn has_prefilter(&self) -> bool {
        self.traits.prefilter
    }

    /// Whether it refuses whatever it is for.
    pub(super) fn blocks(&self) -> bool {
        self.traits.definition.is_none() // a rule that allows never comes so far
    }

    /// Whether it decides and counts without rejecting anybody.
    pub(super) fn is_shadow(&self) -> bool {
        self.traits.is_shadow
    }
}

impl Traits {
    /// Whether a rule with these traits needs nothing new: the version that its numbers are from is no difference.
    fn is_like(&self, new: &Traits) -> bool {
        let rule_version = self.definition.as_ref().map_or(0, |definition| definition.rule_version);
        let definition = new.definition.clone().map(|definition| Definition { rule_version, ..definition });
        *self == Traits { definition, ..new.clone() }
    }
}

fn definition(rule: &Rule, shadow: bool, version: RulesVersion) -> Option<Definition> {
    let Action::Limit(numbers) = rule.action() else { return None };
    Some(Definition {
        limit: limit_of(&numbers),
        rule: rule.id().to_owned(),
        rule_version: version.version,
        keys_max: rule.keys_max().unwrap_or(0),
        shadow,
        sync: rule.sync(),
    })
}
