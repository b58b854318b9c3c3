//! The calls under way on one connection: a slab of slots, oldest deadline first.
//!
//! A slot has two holders: the caller, who waits for an outcome, and the store, which owes an answer. It is free again
//! when both have let go. So a cancelled or timed-out call keeps its slot until the store has answered it or the
//! connection ends: a late answer always meets its own slot and is dropped there, and the number of slots in use is the
//! number of answers that the store owes, however many callers gave up.
//!
//! Waiting calls form a list in the order of their deadlines. Nearly all have the same time to wait, so a new one goes
//! to the end, one sweep expires from the front, and no call needs a timer of its own.

use std::task::{Poll, Waker};

use super::Outcome;
use crate::error::StoreError;
use crate::sys::clock::Instant;

/// A call, as the frame's id names it: the slot, and which use of the slot it is. Never 0, and below [`CallId::END`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallId(u32);

impl CallId {
    /// Ids from here on are no calls'.
    pub(crate) const END: u32 = 1 << 31;

    const SLOT_BITS: u32 = 16;

    fn new(slot: u16, generation: u16) -> CallId {
        CallId(u32::from(generation) << CallId::SLOT_BITS | u32::from(slot))
    }

    /// The id that a frame carries.
    pub(crate) fn from_wire(id: u32) -> CallId {
        CallId(id)
    }

    /// The id for a frame.
    pub(crate) fn to_wire(self) -> u32 {
        self.0
    }

    fn slot(self) -> u16 {
        (self.0 & 0xFFFF) as u16
    }

    fn generation(self) -> u16 {
        (self.0 >> CallId::SLOT_BITS) as u16
    }
}

/// What became of an answer.
#[derive(Debug)]
pub(crate) enum Delivery {
    /// A caller was waiting: wake it.
    InTime(Waker),
    /// Its caller has gone, or its deadline has passed: dropped.
    Late,
    /// No such call is under way: the store made a mistake.
    Unknown,
}

/// The slots of one connection.
#[derive(Debug)]
pub(crate) struct Slots {
    slots: Vec<Slot>,
    free: Vec<u16>,
    first: Option<u16>,
    last: Option<u16>,
    unanswered: usize,
    in_flight_max: usize,
}

#[derive(Debug)]
struct Slot {
    generation: u16,
    unanswered: bool,
    caller: Caller,
    deadline: Instant,
    previous: Option<u16>,
    next: Option<u16>,
}

#[derive(Debug)]
enum Caller {
    Gone,
    Waiting(Waker),
    Told(Outcome),
}

impl Slots {
    /// No calls yet, and room for `in_flight_max`, at most 32,768.
    pub(crate) fn new(in_flight_max: usize) -> Slots {
        assert!(in_flight_max <= crate::config::IN_FLIGHT_MAX, "a slot's number has 16 bits");
        Slots { slots: Vec::new(), free: Vec::new(), first: None, last: None, unanswered: 0, in_flight_max }
    }

    /// Answers that the store owes.
    pub(crate) fn unanswered(&self) -> usize {
        self.unanswered
    }

    /// Whether one more call may start.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        !self.free.is_empty() || self.slots.len() < self.in_flight_max
    }

    /// Starts a call that `waker`'s task waits for until `deadline`. There must be room.
    #[inline]
    pub(crate) fn start(&mut self, deadline: Instant, waker: Waker) -> CallId {
        let slot = self.take(deadline, Caller::Waiting(waker));
        self.link(slot);
        CallId::new(slot, self.slots[usize::from(slot)].generation)
    }

    /// Starts a call that nobody waits for. There must be room.
    pub(crate) fn start_unattended(&mut self, now: Instant) -> CallId {
        let slot = self.take(now, Caller::Gone);
        CallId::new(slot, self.slots[usize::from(slot)].generation)
    }

    fn take(&mut self, deadline: Instant, caller: Caller) -> u16 {
        assert!(self.has_room(), "the caller looks before it starts a call");
        self.unanswered += 1;
        if let Some(index) = self.free.pop() {
            let slot = &mut self.slots[usize::from(index)];
            slot.generation = next_generation(slot.generation);
            (slot.unanswered, slot.caller, slot.deadline) = (true, caller, deadline);
            return index;
        }
        let index = u16::try_from(self.slots.len()).expect("in_flight_max fits 15 bits");
        self.slots.push(Slot { generation: 1, unanswered: true, caller, deadline, previous: None, next: None });
        index
    }

    /// Hands over the store's answer to a call.
    #[inline]
    pub(crate) fn answer(&mut self, id: CallId, outcome: Outcome) -> Delivery {
        let Some(slot) = self.slots.get_mut(usize::from(id.slot())) else { return Delivery::Unknown };
        if slot.generation != id.generation() || !slot.unanswered {
            return Delivery::Unknown;
        }
        slot.unanswered = false;
        self.unanswered -= 1;
        if !matches!(slot.caller, Caller::Waiting(_)) {
            self.free_if_left(id.slot());
            return Delivery::Late;
        }
        Delivery::InTime(self.tell(id.slot(), outcome))
    }

    /// The outcome of a call, if it has one; else `waker` is who waits for it. After an outcome the id is void.
    #[inline]
    pub(crate) fn poll(&mut self, id: CallId, waker: &Waker) -> Poll<Outcome> {
        let slot = self.of_caller(id);
        match &mut slot.caller {
            Caller::Waiting(waiting) => {
                waiting.clone_from(waker);
                return Poll::Pending;
            }
            Caller::Gone => unreachable!("a caller keeps its id no longer than its call"),
            Caller::Told(_) => {}
        }
        let Caller::Told(outcome) = std::mem::replace(&mut slot.caller, Caller::Gone) else {
            unreachable!("matched above")
        };
        self.free_if_left(id.slot());
        Poll::Ready(outcome)
    }

    /// The caller goes away before it has seen an outcome.
    pub(crate) fn abandon(&mut self, id: CallId) {
        let waited = matches!(self.of_caller(id).caller, Caller::Waiting(_));
        if waited {
            self.unlink(id.slot());
        }
        self.slots[usize::from(id.slot())].caller = Caller::Gone;
        self.free_if_left(id.slot());
    }

    /// The earliest deadline that somebody waits for.
    #[inline]
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.first.map(|slot| self.slots[usize::from(slot)].deadline)
    }

    /// Times out one call whose deadline is not after `now`.
    pub(crate) fn expire_one(&mut self, now: Instant) -> Option<Waker> {
        let first = self.first.filter(|slot| self.slots[usize::from(*slot)].deadline <= now)?;
        Some(self.tell(first, Err(StoreError::Timeout)))
    }

    /// The connection is lost: fails one call that somebody waits for.
    pub(crate) fn lose_one(&mut self) -> Option<Waker> {
        self.first.map(|slot| self.tell(slot, Err(StoreError::ConnectionLost)))
    }

    /// The connection is lost: no answer is owed any more. Nobody may be waiting.
    pub(crate) fn forgive(&mut self) {
        assert!(self.first.is_none(), "whoever waits is told first");
        for index in 0..self.slots.len() {
            if std::mem::take(&mut self.slots[index].unanswered) {
                self.free_if_left(u16::try_from(index).expect("in_flight_max fits 15 bits"));
            }
        }
        self.unanswered = 0;
    }

    fn of_caller(&mut self, id: CallId) -> &mut Slot {
        let slot = &mut self.slots[usize::from(id.slot())];
        assert_eq!(slot.generation, id.generation(), "a caller holds its slot");
        slot
    }

    /// Gives a waiting caller its outcome and says whom to wake.
    fn tell(&mut self, index: u16, outcome: Outcome) -> Waker {
        self.unlink(index);
        match std::mem::replace(&mut self.slots[usize::from(index)].caller, Caller::Told(outcome)) {
            Caller::Waiting(waker) => waker,
            Caller::Gone | Caller::Told(_) => unreachable!("only waiting callers are told"),
        }
    }

    fn free_if_left(&mut self, index: u16) {
        let slot = &self.slots[usize::from(index)];
        if !slot.unanswered && matches!(slot.caller, Caller::Gone) {
            self.free.push(index);
        }
    }

    /// Puts a slot behind the last one whose deadline is not later: nearly always the very last.
    fn link(&mut self, index: u16) {
        let deadline = self.slots[usize::from(index)].deadline;
        let mut before = self.last;
        while let Some(at) = before.filter(|at| self.slots[usize::from(*at)].deadline > deadline) {
            before = self.slots[usize::from(at)].previous;
        }
        let after = before.map_or(self.first, |at| self.slots[usize::from(at)].next);
        self.set_next(before, Some(index));
        self.set_previous(after, Some(index));
        let slot = &mut self.slots[usize::from(index)];
        (slot.previous, slot.next) = (before, after);
    }

    fn unlink(&mut self, index: u16) {
        let slot = &mut self.slots[usize::from(index)];
        let (previous, next) = (slot.previous.take(), slot.next.take());
        self.set_next(previous, next);
        self.set_previous(next, previous);
    }

    /// What follows `at`; the list's start if there is no `at`.
    fn set_next(&mut self, at: Option<u16>, next: Option<u16>) {
        match at {
            Some(at) => self.slots[usize::from(at)].next = next,
            None => self.first = next,
        }
    }

    /// What precedes `at`; the list's end if there is no `at`.
    fn set_previous(&mut self, at: Option<u16>, previous: Option<u16>) {
        match at {
            Some(at) => self.slots[usize::from(at)].previous = previous,
            None => self.last = previous,
        }
    }
}

/// Generations are `1 ..= 32,767`: an id is then neither a push's 0 nor at or over [`CallId::END`].
fn next_generation(generation: u16) -> u16 {
    if generation == 0x7FFF { 1 } else { generation + 1 }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::connection::Answer;
    use crate::sys::clock;

    const OUTCOME: Outcome = Ok(Answer::Pong);

    fn slots() -> Slots {
        Slots::new(4)
    }

    fn poll(slots: &mut Slots, id: CallId) -> Poll<Outcome> {
        slots.poll(id, Waker::noop())
    }

    fn start(slots: &mut Slots, deadline: Instant) -> CallId {
        slots.start(deadline, Waker::noop().clone())
    }

    #[test]
    fn an_answer_in_time_reaches_its_caller_and_frees_the_slot() {
        let (mut slots, now) = (slots(), clock::now());
        let id = start(&mut slots, now);
        assert_eq!(poll(&mut slots, id), Poll::Pending);
        assert!(matches!(slots.answer(id, OUTCOME), Delivery::InTime(_)));
        assert_eq!(poll(&mut slots, id), Poll::Ready(OUTCOME));
        assert_eq!((slots.free.len(), slots.unanswered()), (1, 0));
    }

    #[test]
    fn a_late_answer_is_dropped_and_frees_the_slot() {
        let (mut slots, now) = (slots(), clock::now());
        let id = start(&mut slots, now);
        assert!(slots.expire_one(now).is_some());
        assert_eq!(poll(&mut slots, id), Poll::Ready(Err(StoreError::Timeout)));
        assert_eq!((slots.free.len(), slots.unanswered()), (0, 1));
        assert!(matches!(slots.answer(id, OUTCOME), Delivery::Late));
        assert_eq!((slots.free.len(), slots.unanswered()), (1, 0));
    }

    #[test]
    fn an_answer_between_the_timeout_and_the_poll_changes_nothing() {
        let (mut slots, now) = (slots(), clock::now());
        let id = start(&mut slots, now);
        assert!(slots.expire_one(now).is_some());
        assert!(matches!(slots.answer(id, OUTCOME), Delivery::Late));
        assert_eq!(poll(&mut slots, id), Poll::Ready(Err(StoreError::Timeout)));
        assert_eq!(slots.free.len(), 1);
    }

    #[test]
    fn a_second_answer_to_one_call_reaches_nobody() {
        let (mut slots, now) = (slots(), clock::now());
        let id = start(&mut slots, now);
        slots.answer(id, OUTCOME);
        assert!(matches!(slots.answer(id, OUTCOME), Delivery::Unknown));
        assert_eq!(poll(&mut slots, id), Poll::Ready(OUTCOME));
        let second = start(&mut slots, now);
        assert_eq!(second.slot(), id.slot());
        assert!(matches!(slots.answer(id, OUTCOME), Delivery::Unknown));
        assert_eq!(poll(&mut slots, second), Poll::Pending);
    }

    #[test]
    fn an_answer_to_nothing_is_unknown() {
        let mut slots = slots();
        for id in [1, 0x1_0000, 0x7FFF_FFFF] {
            assert!(matches!(slots.answer(CallId::from_wire(id), OUTCOME), Delivery::Unknown), "{id:#x}");
        }
    }

    #[test]
    fn deadlines_expire_in_their_own_order() {
        let (mut slots, now) = (slots(), clock::now());
        let at = |ms| now + Duration::from_millis(ms);
        let ids = [5, 7, 6].map(|ms| start(&mut slots, at(ms)));
        assert_eq!(slots.next_deadline(), Some(at(5)));
        assert!(slots.expire_one(at(4)).is_none());
        assert!(slots.expire_one(at(6)).is_some() && slots.expire_one(at(6)).is_some());
        assert!(slots.expire_one(at(6)).is_none());
        assert_eq!(ids.map(|id| poll(&mut slots, id).is_ready()), [true, false, true]);
    }

    #[test]
    fn there_is_room_for_so_many_answers_owed() {
        let (mut slots, now) = (slots(), clock::now());
        let ids = [(); 4].map(|()| start(&mut slots, now));
        assert!(!slots.has_room());
        ids.iter().for_each(|id| slots.abandon(*id));
        assert!(!slots.has_room(), "callers gave up, but the store still owes four answers");
        slots.answer(ids[0], OUTCOME);
        assert!(slots.has_room());
    }

    #[test]
    fn generations_avoid_zero_and_the_top_bit() {
        assert_eq!(next_generation(1), 2);
        assert_eq!(next_generation(0x7FFF), 1);
        assert!(CallId::new(u16::MAX, 0x7FFF).to_wire() < CallId::END);
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Start(u8),
        Answer(usize),
        Poll(usize),
        Abandon(usize),
        Expire(u8),
        Lose,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0..20u8).prop_map(Step::Start),
            4 => any::<usize>().prop_map(Step::Answer),
            3 => any::<usize>().prop_map(Step::Poll),
            2 => any::<usize>().prop_map(Step::Abandon),
            1 => (0..20u8).prop_map(Step::Expire),
            1 => Just(Step::Lose),
        ]
    }

    proptest! {
        /// Whatever happens in whatever order, no slot is lost: when all callers have gone and the connection has
        /// ended, every slot is free.
        #[test]
        fn no_order_of_events_leaks_a_slot(steps in prop::collection::vec(step(), 0..200)) {
            let (mut slots, epoch) = (slots(), clock::now());
            let at = |ms: u8| epoch + Duration::from_millis(ms.into());
            let (mut callers, mut owed) = (Vec::new(), Vec::new());
            for step in steps {
                match step {
                    Step::Start(ms) if slots.has_room() => {
                        let id = start(&mut slots, at(ms));
                        callers.push(id);
                        owed.push(id);
                    }
                    Step::Answer(n) if !owed.is_empty() => {
                        let id = owed.swap_remove(n % owed.len());
                        prop_assert!(!matches!(slots.answer(id, OUTCOME), Delivery::Unknown));
                    }
                    Step::Poll(n) if !callers.is_empty() => {
                        let n = n % callers.len();
                        if poll(&mut slots, callers[n]).is_ready() {
                            callers.swap_remove(n);
                        }
                    }
                    Step::Abandon(n) if !callers.is_empty() => {
                        let id = callers.swap_remove(n % callers.len());
                        slots.abandon(id);
                    }
                    Step::Expire(ms) => while slots.expire_one(at(ms)).is_some() {},
                    Step::Lose => {
                        while slots.lose_one().is_some() {}
                        slots.forgive();
                        owed.clear();
                    }
                    _ => {}
                }
                prop_assert_eq!(slots.unanswered(), owed.len());
            }
            for id in callers {
                slots.abandon(id);
            }
            while slots.lose_one().is_some() {}
            slots.forgive();
            prop_assert_eq!(slots.free.len(), slots.slots.len());
            prop_assert_eq!((slots.first, slots.last), (None, None));
        }
    }
}
