//! Which rules are for a request: one winner a group.

use smallvec::SmallVec;

use super::RuleSet;
use super::facts::{Facts, FactsBuffer};
use super::rule::{Action, Rule};
use super::subject::Subject;
use crate::key::Key;

/// Enforced rules, and shadow rules, that can apply to one request: one of each group.
pub const WINNERS_MAX: usize = crate::bounds::PARTS_MAX;

/// The rules that decide about a request, in the order of the document.
///
/// A group that a rule with `action = "allow"` won has no winner here.
#[derive(Clone, Debug, Default)]
pub struct Resolution<'s> {
    /// All of these must let it pass.
    pub enforced: SmallVec<[Winner<'s>; 4]>,
    /// These count it if it passed, and reject nobody.
    pub shadow: SmallVec<[Winner<'s>; 2]>,
}

/// The most specific rule of a group, and whom it counts.
#[derive(Clone, Debug)]
pub struct Winner<'s> {
    /// The rule. Its action is to limit or to block.
    pub rule: &'s Rule,
    /// What it counts this request under.
    pub key: Key,
}

impl RuleSet {
    /// Finds the most specific rule of every group.
    ///
    /// Shadow rules compete among themselves: adding one never switches an enforced rule off.
    pub fn resolve<'s>(&'s self, subject: &Subject<'_>) -> Resolution<'s> {
        let mut buffer = FactsBuffer::default();
        let facts = Facts::new(subject, self.defaults().ipv6_prefix_bits, &mut buffer);
        let mut best: SmallVec<[&'s Rule; 8]> = SmallVec::new();
        for rule in self.rules() {
            if rule.conditions.hold(&facts) && rule.recipe.applies(&facts) {
                compete(rule, &mut best);
            }
        }
        best.sort_unstable_by_key(|rule| rule.order);
        self.resolution(&best, &facts)
    }

    fn resolution<'s>(&'s self, best: &[&'s Rule], facts: &Facts<'_>) -> Resolution<'s> {
        let mut resolution = Resolution::default();
        for rule in best.iter().filter(|rule| rule.action != Action::Allow) {
            let winner = Winner { rule, key: rule.recipe.key(facts) };
            if rule.is_shadow() || !self.defaults().enforce {
                resolution.shadow.push(winner);
            } else {
                resolution.enforced.push(winner);
            }
        }
        resolution
    }
}

/// Puts a rule in the place of a less specific one of its group.
fn compete<'s>(rule: &'s Rule, best: &mut SmallVec<[&'s Rule; 8]>) {
    let rival = best.iter_mut().find(|rival| rival.group == rule.group && rival.is_shadow() == rule.is_shadow());
    match rival {
        Some(rival) if specificity(rule) > specificity(rival) => *rival = rule,
        Some(_) => {}
        None => best.push(rule),
    }
}

fn specificity(rule: &Rule) -> super::conditions::Specificity {
    rule.conditions.specificity(rule.rank)
}
