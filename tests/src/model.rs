//! The independent model: what the engine must decide, written for the reader and not for the clock.
//!
//! It was written from the sentences of the semantics alone, apart from the engine, so that the two can disagree. It
//! keeps one plain state per (key, algorithm), computes in exact rationals, and finds every wait by *searching* for the
//! first microsecond at which the call would pass, which is what a wait means. It is some thousand times slower than
//! the engine and that is fine.
//!
//! The path of a line: [`fields`] → [`event`] → [`Model::line`] → one [`usage`] per algorithm → [`decision`].
//!
//! Not here: sweeping (the model forgets nothing and looks at the clock instead), bytes on a wire, threads.

mod bucket;
mod calendar;
mod decision;
mod event;
mod fields;
mod fixed_window;
mod holders;
mod limit;
mod reservation;
mod same;
mod sliding_counter;
mod sliding_log;
mod usage;

use std::collections::BTreeMap;

pub use same::same;

use decision::{AllDecision, Decision, Grant};
use event::{Call, Event};
use fields::{Fields, Invalid};
use holders::Holders;
use limit::{Algorithm, Limit};
use reservation::{RESERVATIONS_MAX, Reservation};
use usage::Usage;

/// Microseconds, an instant since the Unix epoch or a wait; signed and wide, so that nothing can overflow.
type Micros = i128;

/// Whole units of a limit; signed and wide for the same reason.
type Units = i128;

/// What a reservation that no longer fits is told, and a holder too many.
const FULL: &str = r#"{"error":"full"}"#;

/// Whose state: `gcra` is read as `token_bucket`, so the two names share one.
type StateKey = (String, Algorithm);

/// A usage beside the numbers it was stored with, by which it ages until an operation brings other numbers.
struct Stored {
    limit: Limit,
    usage: Box<dyn Usage>,
}

impl Clone for Stored {
    fn clone(&self) -> Self {
        Self { limit: self.limit, usage: self.usage.boxed() }
    }
}

/// Every key's state and the highest time seen: a whole store that decides one event at a time.
///
/// ```
/// let mut model = tallyring_tests::model::Model::new();
/// let event = r#"{"t_us":0,"key":"k","algorithm":"gcra","limit":2,"period_us":10}"#;
/// let decision = r#"{"allowed":true,"limit":2,"remaining":1,"retry_after_us":0,"reset_after_us":5}"#;
/// assert_eq!(model.line(event).as_deref(), Some(decision));
/// ```
#[derive(Default)]
pub struct Model {
    now_us: Micros,
    states: BTreeMap<StateKey, Stored>,
    holders: BTreeMap<String, Holders>,
    reservations: BTreeMap<(String, String), Reservation>,
}

impl Model {
    /// A store that has seen nothing, at the Unix epoch.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Decides one event, a JSON object in text, and answers with a JSON object in text; an empty line has no answer.
    ///
    /// What cannot be an event is answered `{"error":"invalid","field":…}` and changes nothing, except that a valid
    /// `op` and `t_us` move time.
    pub fn line(&mut self, line: &str) -> Option<String> {
        if line.trim().is_empty() {
            return None;
        }
        Some(self.decide(line).unwrap_or_else(|invalid| invalid.to_string()))
    }

    fn decide(&mut self, line: &str) -> Result<String, Invalid> {
        let fields = Fields::parse(line)?;
        let op = event::op(&fields)?;
        let t_us = event::t_us(&fields)?;
        self.now_us = self.now_us.max(t_us); // before the other fields are judged: time moves even if they are bad
        Ok(self.apply(Event::parse(op, &fields)?))
    }

    fn apply(&mut self, event: Event) -> String {
        match event {
            Event::Check(call) => self.check(&call).to_string(),
            Event::CheckAll(calls) => self.check_all(&calls).to_string(),
            Event::Take(call) => self.take(&call).to_string(),
            Event::Refund { call, charged_at_us } => self.refund(&call, charged_at_us).to_string(),
            Event::Reserve { call, id, ttl_us } => self.reserve(&call, id, ttl_us),
            Event::Settle { key, id, actual } => self.settle(&key, &id, actual),
            Event::Acquire { key, holder, cost, limit, ttl_us } => {
                self.holders.entry(key).or_default().acquire(holder, cost, limit, ttl_us, self.now_us)
            }
            Event::Release { key, holder } => self.holders.entry(key).or_default().release(&holder, self.now_us),
        }
    }
}

/// State: how it is found, what another limit sees in it, when it is converted.
impl Model {
    /// The state as it stands now under its own numbers, unless it is whole again, which is to be fresh.
    fn live(&self, key: &str, algorithm: Algorithm) -> Option<Stored> {
        let stored = self.states.get(&(key.to_owned(), algorithm))?;
        let usage = stored.usage.aged(&stored.limit, self.now_us);
        let is_fresh = usage::is_whole(usage.as_ref(), &stored.limit);
        (!is_fresh).then(|| Stored { limit: stored.limit, usage })
    }

    /// What a call under `limit` finds: its own state, another limit's state converted, or a fresh one.
    fn view(&self, key: &str, limit: &Limit) -> Box<dyn Usage> {
        match self.live(key, limit.algorithm) {
            None => usage::fresh(limit, self.now_us),
            Some(stored) if stored.limit == *limit => stored.usage,
            Some(stored) => stored.usage.converted(&stored.limit, limit),
        }
    }

    fn store(&mut self, key: &str, limit: &Limit, usage: Box<dyn Usage>) {
        self.states.insert((key.to_owned(), limit.algorithm), Stored { limit: *limit, usage });
    }
}

/// The operations on a counted limit.
impl Model {
    /// Whatever is no peek leaves its state behind, also in vain: by that the state is converted to its numbers.
    fn check(&mut self, call: &Call) -> Decision {
        let (decision, after) = Decision::of(call, self.view(&call.key, &call.limit).as_ref());
        if !call.is_peek() {
            self.store(&call.key, &call.limit, after);
        }
        decision
    }

    fn check_all(&mut self, calls: &[Call]) -> AllDecision {
        for call in calls.iter().filter(|call| !call.is_peek()) {
            let converted = self.view(&call.key, &call.limit);
            self.store(&call.key, &call.limit, converted);
        }
        let before = self.snapshot(calls);
        let mut parts: Vec<Decision> = calls.iter().map(|call| self.check(call)).collect();
        if parts.iter().any(|part| !part.allowed) {
            self.restore(&before);
            for (call, part) in calls.iter().zip(&mut parts) {
                part.nothing_charged(&call.limit, self.view(&call.key, &call.limit).as_ref());
            }
        }
        AllDecision { parts }
    }

    fn snapshot(&self, calls: &[Call]) -> BTreeMap<StateKey, Option<Stored>> {
        let keys = calls.iter().map(Call::state_key);
        keys.map(|key| (key.clone(), self.states.get(&key).cloned())).collect()
    }

    fn restore(&mut self, before: &BTreeMap<StateKey, Option<Stored>>) {
        for (key, stored) in before {
            match stored {
                Some(stored) => self.states.insert(key.clone(), stored.clone()),
                None => self.states.remove(key),
            };
        }
    }

    fn take(&mut self, call: &Call) -> Grant {
        let mut usage = self.view(&call.key, &call.limit);
        let granted = (usage::remaining(usage.as_ref(), &call.limit) - call.keep).min(call.cost).max(0);
        usage.charge(granted);
        let grant = Grant::of(granted, &call.limit, usage.as_ref());
        if !call.is_peek() {
            self.store(&call.key, &call.limit, usage);
        }
        grant
    }

    fn refund(&mut self, call: &Call, charged_at_us: Option<Micros>) -> Decision {
        if !call.is_peek() {
            self.give_back(&call.key, &call.limit, call.cost, charged_at_us);
        }
        Decision::of(&call.as_peek(), self.view(&call.key, &call.limit).as_ref()).0
    }

    fn give_back(&mut self, key: &str, limit: &Limit, units: Units, charged_at_us: Option<Micros>) {
        let mut usage = self.view(key, limit);
        usage.give_back(limit, units, charged_at_us);
        self.store(key, limit, usage);
    }
}

/// Reservations.
impl Model {
    fn reserve(&mut self, call: &Call, id: String, ttl_us: Micros) -> String {
        let name = (call.key.clone(), id);
        if let Some(known) = self.reservations.get(&name).filter(|known| known.is_live(self.now_us)) {
            return known.first_decision.to_string();
        }
        let would_be = Decision::of(call, self.view(&call.key, &call.limit).as_ref()).0;
        if would_be.allowed && self.reservations_are_full() {
            return FULL.to_owned();
        }
        let decision = self.check(call);
        let answer = decision.to_string();
        if decision.allowed {
            self.reservations.insert(name, Reservation::new(call, decision, self.now_us, ttl_us));
        }
        answer
    }

    fn reservations_are_full(&mut self) -> bool {
        if self.reservations.len() >= RESERVATIONS_MAX {
            self.reservations.retain(|_, reservation| reservation.is_live(self.now_us));
        }
        self.reservations.len() >= RESERVATIONS_MAX
    }

    fn settle(&mut self, key: &str, id: &str, actual: Units) -> String {
        let found = self.reservations.remove(&(key.to_owned(), id.to_owned()));
        let Some(reservation) = found.filter(|known| known.is_live(self.now_us)) else {
            return r#"{"settled":false}"#.to_owned();
        };
        let limit = self.live(key, reservation.limit.algorithm).map_or(reservation.limit, |stored| stored.limit);
        self.give_back(key, &limit, reservation.charged - actual, Some(reservation.reserved_at_us));
        reservation::settled(&limit, self.view(key, &limit).as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reserve(id: &str, limit: u64) -> String {
        let limit = format!(r#""algorithm":"fixed_window","limit":{limit},"period_us":10"#);
        format!(r#"{{"t_us":0,"op":"reserve","key":"k","id":"{id}",{limit},"ttl_us":5}}"#)
    }

    #[test]
    fn one_reservation_too_many_is_told_full_unless_it_is_rejected_anyway() {
        let mut model = Model::new();
        model.line(&reserve("first", 9));
        let (_, first) = model.reservations.pop_first().expect("one was made");
        let names = (0..RESERVATIONS_MAX).map(|id| ("k".to_owned(), id.to_string()));
        model.reservations = names.map(|name| (name, first)).collect();
        assert_eq!(model.line(&reserve("another", 9)).as_deref(), Some(FULL));
        assert!(model.line(&reserve("another", 1)).expect("an answer").starts_with(r#"{"allowed":false"#));
        model.line(r#"{"t_us":0,"op":"settle","key":"k","id":"7","actual":1}"#);
        assert!(model.line(&reserve("another", 9)).expect("an answer").starts_with(r#"{"allowed":true"#));
    }
}
