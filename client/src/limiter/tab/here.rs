//! What is decided here, without a question: by refusals that still hold, out of grants, and alone while the store is
//! known to be gone. Nothing in this file waits.

use tallyring_protocol::rules::Mode;

use super::Tab;
use crate::deny_cache::Refused;
use crate::limiter::slot::Slot;
use crate::limiter::tab::Manner;
use crate::limiter::verdict::Verdict;
use crate::permit::Hold;

impl Tab<'_> {
    /// Decides as many rules as can be without the store; says whether the call is decided.
    pub(super) fn decide_here(&mut self) -> bool {
        if self.refuses_here() {
            return true; // and nothing was charged
        }
        if self.manner == Manner::Check {
            (0..self.parts.len()).for_each(|at| self.spend_grant(at));
        }
        let is_decided = !self.parts.iter().any(|part| part.is_open());
        is_decided || self.decide_without_store()
    }

    /// Whether a rule blocks, or refuses without being asked.
    fn refuses_here(&mut self) -> bool {
        for at in 0..self.parts.len() {
            self.parts[at].verdict = self.refusal(at);
        }
        self.is_denied()
    }

    fn refusal(&self, at: usize) -> Option<Verdict> {
        let (part, limited) = (&self.parts[at], self.limited(at));
        if limited.blocks() {
            return Some(Verdict::blocked());
        }
        if limited.define(&self.inner.store).is_err() {
            return Some(Verdict::denied_by_mode(limited.limit().ceiling()));
        }
        if limited.is_slots() {
            return None;
        }
        let whose = Refused { identity: part.identity, version: limited.handle().version() };
        if let Some(refusal) = self.inner.deny.look_up(self.now, whose, part.ask) {
            return Some(Verdict::refused(limited.limit().ceiling(), part.ask, &refusal));
        }
        let own = limited.has_prefilter().then(|| self.inner.prefilter.refuses(self.now, self.whose(at), part.ask));
        own.flatten().as_ref().map(Verdict::prefiltered)
    }

    /// Pays a part out of its key's grant, if there is one that is large enough.
    pub(super) fn spend_grant(&mut self, at: usize) {
        let (part, limited) = (&self.parts[at], self.limited(at));
        let Some(grants) = limited.grants.as_ref().filter(|_| part.is_payable()) else { return };
        let spent = grants.spend(self.now, part.identity, part.ask.cost);
        let verdict = spent.map(|spent| Verdict::granted(limited.limit().ceiling(), part.ask.cost, spent));
        self.parts[at].verdict = verdict;
    }

    /// Decides all that is open alone, if the store is known to be gone for all of it.
    fn decide_without_store(&mut self) -> bool {
        let store = &self.inner.store;
        let mut refusals =
            self.parts.iter().filter(|part| part.is_open()).map(|part| store.refuses(&part.key, self.opened));
        let Some(Some(error)) = refusals.next() else { return false };
        if refusals.any(|refusal| refusal.is_none()) {
            return false;
        }
        drop(refusals);
        self.inner.note_alone(&error);
        for at in 0..self.parts.len() {
            if self.parts[at].is_open() && !self.limited(at).is_slots() {
                self.decide_alone(at);
            }
        }
        while let Some(at) = self.next_slots() {
            let hold = self.limited(at).hold(self.parts[at].ask.cost);
            self.acquire_alone(at, &hold);
        }
        if self.is_denied() {
            self.give_back_unattended();
        }
        true
    }

    /// Decides by the rule's mode: the store could not be asked.
    pub(super) fn decide_alone(&mut self, at: usize) {
        let (part, limited) = (&self.parts[at], self.limited(at));
        let verdict = match limited.mode() {
            Mode::Deny => Verdict::denied_by_mode(limited.limit().ceiling()),
            Mode::Protect | Mode::Shadow => {
                let decision = self.inner.fallback.check(self.now, self.whose(at), part.ask);
                let units = decision.charged.unwrap_or(part.ask.cost);
                Verdict::of_fallback(&decision, if decision.allowed { units } else { 0 })
            }
        };
        self.parts[at].verdict = Some(verdict);
    }

    /// Takes slots of this gateway's share, or none, by the rule's mode.
    pub(super) fn acquire_alone(&mut self, at: usize, hold: &Hold) {
        let verdict = if self.limited(at).mode() == Mode::Deny {
            Verdict::denied_by_mode(hold.limit)
        } else {
            let (slots, slot) = Slot::alone(self.inner, self.whose(at), *hold);
            self.slots.extend(slot);
            Verdict::of_local_slots(hold, &slots)
        };
        self.parts[at].verdict = Some(verdict);
    }
}
