//! Which rules are for a request: one winner a group.

use smallvec::SmallVec;

use super::RuleSet;
use super::facts::Facts;
use super::index::Candidate;
use super::path::PathBuffer;
use super::rule::{Action, Rule};
use super::subject::Subject;
use crate::key::Key;

/// Enforced rules, and shadow rules, that can apply to one request: one of each group.
pub const WINNERS_MAX: usize = crate::bounds::PARTS_MAX;

/// Winners that need no allocation.
const WINNERS_INLINE: usize = 8;

/// The rules that decide about a request, in the order of the document.
///
/// A group that a rule with `action = "allow"` won has no winner here.
#[derive(Clone, Debug, Default)]
pub struct Resolution<'s> {
    /// All of these must let it pass.
    pub enforced: SmallVec<[Winner<'s>; WINNERS_INLINE]>,
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
        let mut path = PathBuffer::new();
        let facts = Facts::new(subject, self.defaults().ipv6_prefix_bits, &mut path);
        let mut leaders = Leaders::new();
        self.index.for_each(&facts, |candidate| {
            let rule = &self.rules[candidate.rule as usize];
            if may_lead(candidate, &leaders)
                && rule.conditions.hold_without_route(&facts)
                && rule.recipe.applies(&facts)
            {
                lead(candidate, &mut leaders);
            }
        });
        leaders.sort_unstable_by_key(|leader| leader.rule);
        self.resolution(&leaders, &facts)
    }

    fn resolution<'s>(&'s self, leaders: &[Candidate], facts: &Facts<'_>) -> Resolution<'s> {
        let mut resolution = Resolution::default();
        let rules = leaders.iter().map(|leader| &self.rules[leader.rule as usize]);
        for rule in rules.filter(|rule| rule.action != Action::Allow) {
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

/// The most specific rule of each contest so far.
type Leaders = SmallVec<[Candidate; WINNERS_INLINE]>;

/// Whether a rule, if it is for this request at all, is the most specific one of its contest so far.
fn may_lead(candidate: Candidate, leaders: &Leaders) -> bool {
    let rival = leaders.iter().find(|leader| leader.contest == candidate.contest);
    rival.is_none_or(|leader| candidate.precedence > leader.precedence)
}

fn lead(candidate: Candidate, leaders: &mut Leaders) {
    match leaders.iter_mut().find(|leader| leader.contest == candidate.contest) {
        Some(leader) => *leader = candidate,
        None => leaders.push(candidate),
    }
}
