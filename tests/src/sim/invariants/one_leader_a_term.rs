//! No two nodes lead in one term.

use crate::sim::history::History;

pub(super) fn check(history: &History) -> Result<(), String> {
    match history.terms.iter().find(|(_, leaders)| leaders.len() > 1) {
        Some((term, leaders)) => Err(format!("in term {term} {leaders:?} led")),
        None => Ok(()),
    }
}
