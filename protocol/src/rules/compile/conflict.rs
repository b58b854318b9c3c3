//! Rules that make sense alone but not together: ties, and too many groups at once.

mod demands;
mod ties;
mod widest;

use std::collections::{BTreeMap, BTreeSet};

use crate::rules::error::Faults;
use crate::rules::resolve::WINNERS_MAX;
use crate::rules::rule::{Action, Rule};

/// Different headers, and different attributes, that a document may ask for: each is looked up for every request.
pub const NAMES_MAX: usize = 64;

/// Notes what is wrong among rules that are right each by itself.
pub(crate) fn conflicts(rules: &[Rule], faults: &mut Faults) {
    same_ids(rules, faults);
    too_many_names(rules, faults);
    ties::find(rules, faults);
    for (what, is_shadow) in [("enforced", false), ("shadow", true)] {
        let contest = |rule: &&Rule| rule.is_shadow() == is_shadow && rule.action() != Action::Allow;
        let contestants: Vec<&Rule> = rules.iter().filter(contest).collect();
        if let Some(groups) = widest::too_wide(&contestants) {
            let reason = format!(
                "{} {what} groups could apply to one request, at most {WINNERS_MAX} may: among them {}",
                groups.len(),
                groups[..3].join(", ")
            );
            faults.add("rule", reason);
        }
    }
}

/// Notes an id that is there more than once, wherever it is: whoever mends it looks at both.
fn same_ids(rules: &[Rule], faults: &mut Faults) {
    let mut by_id: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for rule in rules {
        by_id.entry(rule.id()).or_default().push(rule.order());
    }
    for (id, orders) in by_id.into_iter().filter(|(_, orders)| orders.len() > 1) {
        let (first, others) = (orders[0], &orders[1..]);
        faults.add(format!("rule[{first}].id"), format!("{id:?} is the id of rule[{}] too", others[0]));
        for other in others {
            faults.add(format!("rule[{other}].id"), format!("{id:?} is the id of rule[{first}] too"));
        }
    }
}

fn too_many_names(rules: &[Rule], faults: &mut Faults) {
    let headers = rules.iter().flat_map(|rule| &rule.conditions.headers);
    let attributes = rules.iter().flat_map(|rule| &rule.conditions.attributes);
    for (what, count) in [("headers", distinct(headers)), ("attributes", distinct(attributes))] {
        if count > NAMES_MAX {
            faults.add("rule", format!("the rules match {count} different {what}: at most {NAMES_MAX} are looked up"));
        }
    }
}

fn distinct<'r>(pairs: impl Iterator<Item = &'r (Box<str>, Box<str>)>) -> usize {
    pairs.map(|(name, _)| name).collect::<BTreeSet<_>>().len()
}
