//! Giving back what a call was charged that is not admitted after all.

use tokio::time::timeout_at;

use super::Tab;
use crate::limiter::slot::Slot;
use crate::limiter::undo::{self, Word};
use crate::limiter::verdict::Spent;

impl Tab<'_> {
    /// Gives back what a denied call was charged. What the store has to be told is told by a task, so that it is said
    /// even if the caller goes away, and waited for until the deadline.
    pub(super) async fn give_back(&mut self) {
        let words = self.take_back();
        if words.is_empty() {
            return;
        }
        let Some(told) = undo::tell(self.inner, words) else { return };
        let Ok(Ok(left)) = timeout_at(self.deadline(), told).await else { return };
        for (at, decision) in left {
            if let Some(verdict) = &mut self.parts[at].verdict {
                verdict.left(&decision);
            }
        }
    }

    /// The same, and nobody waits for it.
    pub(super) fn give_back_unattended(&mut self) {
        let words = self.take_back();
        if !words.is_empty() {
            drop(undo::tell(self.inner, words));
        }
    }

    /// Takes back at once what was charged here; returns what the store has to be told.
    fn take_back(&mut self) -> Vec<Word> {
        let slots = std::mem::take(&mut self.slots).into_iter();
        let mut words: Vec<Word> = slots.filter(Slot::is_of_store).map(Word::Release).collect();
        for at in 0..self.parts.len() {
            let Some(verdict) = &mut self.parts[at].verdict else { continue };
            let spent = verdict.take_spent();
            let (part, limited) = (&self.parts[at], self.limited(at));
            match spent {
                Spent::Nothing => {}
                Spent::Grant { units } => {
                    limited.grants.iter().for_each(|grants| grants.give_back(part.identity, units));
                }
                Spent::Local { units } => self.inner.fallback.refund(self.now, self.whose(at), units),
                Spent::Store { units, at_us } => {
                    words.push(Word::refund(at, limited.handle(), part, units, at_us));
                }
                Spent::Reserved(reservation) => words.push(Word::Settle(*reservation)),
            }
        }
        words
    }
}
