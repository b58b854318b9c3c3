//! Changes that were applied lately, and what became of them: who got no answer may ask again.

use std::collections::VecDeque;

use super::super::change::ChangeId;
use super::super::outcome::Outcome;
use crate::sys::defect::{self, Defect};

/// Changes that are remembered. Authors give up within seconds; a thousand changes take longer.
pub(super) const RECENT_MAX: usize = 1_024;

/// The memory, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Recent(VecDeque<(ChangeId, Outcome)>);

impl Recent {
    /// What became of a change, if it was applied and is remembered.
    pub(super) fn outcome(&self, id: ChangeId) -> Option<&Outcome> {
        if defect::has(Defect::AppliesTwice) {
            return None;
        }
        self.0.iter().rev().find(|(known, _)| *known == id).map(|(_, outcome)| outcome)
    }

    /// Remembers a change, and forgets the oldest for it.
    pub(super) fn remember(&mut self, id: ChangeId, outcome: Outcome) {
        if self.0.len() == RECENT_MAX {
            self.0.pop_front();
        }
        self.0.push_back((id, outcome));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(ChangeId, Outcome)> {
        self.0.iter()
    }
}

impl FromIterator<(ChangeId, Outcome)> for Recent {
    fn from_iter<I: IntoIterator<Item = (ChangeId, Outcome)>>(entries: I) -> Recent {
        let mut recent = Recent::default();
        entries.into_iter().for_each(|(id, outcome)| recent.remember(id, outcome));
        recent
    }
}
