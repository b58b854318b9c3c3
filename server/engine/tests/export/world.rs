//! One engine that keeps every key, beside two that hand keys to each other.

use tallyring_engine::*;

use crate::call::{Call, KEYS, Under, arc};

/// An ordinary morning.
pub(crate) const START_US: u64 = 1_700_000_000_000_000;

pub(crate) fn at(us: u64) -> Timestamp {
    Timestamp::from_micros(START_US + us)
}

/// Everything that an engine holds of `within`, read in steps of at most `records_max`.
pub(crate) fn export_all(engine: &mut Engine, now: Timestamp, within: &Placements, records_max: usize) -> Vec<Batch> {
    let (mut batches, mut from) = (Vec::new(), Some(Cursor::START));
    while let Some(cursor) = from {
        let (batch, next) = engine.export(now, within, cursor, records_max);
        assert!(batch.records.len() <= records_max);
        batches.push(batch);
        from = next;
    }
    batches
}

pub(crate) struct World {
    pub(crate) now: Timestamp,
    still: Engine,
    moving: [Engine; 2],
    owner: [usize; KEYS as usize],
}

impl World {
    pub(crate) fn new() -> World {
        let engine = || Engine::new(Bounds::of_bytes(64 << 20));
        World { now: at(0), still: engine(), moving: [engine(), engine()], owner: [0; KEYS as usize] }
    }

    /// Decides a call on both sides; they must agree.
    pub(crate) fn decide(&mut self, call: &Call) {
        if let Call::Pass { us } = call {
            self.now = Timestamp::from_micros(self.now.as_micros() + us);
        }
        let Some(key) = call.key() else { return };
        let expect = call.answer(&mut self.still, self.now);
        let found = call.answer(&mut self.moving[self.owner[key as usize]], self.now);
        assert_eq!(found, expect, "{call:?} at {:?}", self.now);
    }

    /// Hands keys over between two calls.
    pub(crate) fn move_at_once(&mut self, key: u64, records_max: usize) {
        let within = Placements::of_arcs([arc(key)]);
        let mut intake = Intake::in_order();
        let giver = &mut self.moving[self.owner[key as usize]];
        for batch in export_all(giver, self.now, &within, records_max) {
            self.give(key, &mut intake, &batch);
        }
        self.hand_over(key, &within);
    }

    /// Hands a key over while calls go on; what was read arrives in some order and twice.
    pub(crate) fn move_live(&mut self, key: u64, meanwhile: &[Call], turn: usize) {
        let within = Placements::of_arcs([arc(key)]);
        let giver = self.owner[key as usize];
        self.moving[giver].follow_changes();
        let (mut batches, mut from) = (Vec::new(), Some(Cursor::START));
        for call in meanwhile {
            if let Some(cursor) = from {
                let (batch, next) = self.moving[giver].export(self.now, &within, cursor, 1);
                batches.push(batch);
                from = next;
            }
            self.decide(call);
        }
        while let Some(cursor) = from {
            let (batch, next) = self.moving[giver].export(self.now, &within, cursor, 1);
            batches.push(batch);
            from = next;
        }
        let mut changes = self.moving[giver].changes(self.now).unwrap();
        changes.retain(|placement| within.contains(placement));
        batches.push(changes);
        self.moving[giver].unfollow_changes();
        self.deliver_shuffled(key, &batches, turn);
        self.hand_over(key, &within);
    }

    fn deliver_shuffled(&mut self, key: u64, batches: &[Batch], turn: usize) {
        let mut intake = Intake::in_any_order();
        let len = batches.len();
        for no in (0..len).map(|no| (no * 7 + turn) % len).chain((0..len).rev()) {
            self.give(key, &mut intake, &batches[no]);
        }
        intake.settle(batches[len - 1].version);
        assert_eq!(intake.versions(), 0);
    }

    fn give(&mut self, key: u64, intake: &mut Intake, batch: &Batch) {
        self.moving[1 - self.owner[key as usize]].import(self.now, intake, batch).unwrap();
    }

    fn hand_over(&mut self, key: u64, within: &Placements) {
        let giver = &mut self.moving[self.owner[key as usize]];
        let mut from = Some(Cursor::START);
        while let Some(cursor) = from {
            from = giver.discard(within, cursor);
        }
        let left = export_all(giver, self.now, within, 1_000);
        assert!(left.iter().all(|batch| batch.records.is_empty()), "something is left: {left:?}");
        self.owner[key as usize] = 1 - self.owner[key as usize];
    }

    /// Looks at every budget, then lets all of it end: nothing may be left over.
    pub(crate) fn end(mut self) {
        for key in 0..KEYS {
            for algorithm in 0..5 {
                self.decide(&Call::Check { key, under: Under { algorithm, no: 0 }, ask: Ask::PEEK });
            }
        }
        let end = at(400 * 86_400 * 1_000_000);
        for engine in self.moving.iter_mut().chain([&mut self.still]) {
            while engine.expire(end, 100) > 0 {}
            assert_eq!((engine.keys(), engine.limits()), (0, 0));
        }
    }
}
