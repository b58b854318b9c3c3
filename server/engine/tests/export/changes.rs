//! What an engine notes for those who follow it.

use tallyring_engine::*;

use crate::call::name;
use crate::world::at;

const MINUTE: Period = Period::Micros(60_000_000);

struct Followed {
    engine: Engine,
    limit: LimitId,
}

impl Followed {
    fn new() -> Followed {
        let mut engine = Engine::new(Bounds::default());
        let limit = Limit::new(Algorithm::FixedWindow, 3, MINUTE, None).unwrap();
        let limit = engine.intern("rule", limit).unwrap();
        engine.follow_changes();
        Followed { engine, limit }
    }

    fn check(&mut self, us: u64, key: u64, cost: u64) -> bool {
        self.engine.check(at(us), name(key, 0), self.limit, Ask::new(cost)).unwrap().allowed
    }

    /// (key, whether it is gone) of each change, in the order of keys.
    fn changes(&mut self, us: u64) -> Vec<(u64, bool)> {
        let batch = self.engine.changes(at(us)).unwrap();
        let told = batch.records.iter().map(|record| match record {
            Record::Counter { identity, counter } => (identity.identity / 1_000 - 1, counter.is_none()),
            Record::Reservation { name, reservation } => (name.identity / 1_000 - 1, reservation.is_none()),
        });
        told.collect()
    }
}

#[test]
fn a_charge_is_a_change_and_what_takes_nothing_is_none() {
    let mut followed = Followed::new();
    assert!(followed.check(0, 1, 3));
    assert_eq!(followed.changes(1), [(1, false)]);
    assert!(!followed.check(2, 1, 1));
    assert!(followed.check(2, 1, 0));
    assert!(followed.check(2, 2, 0));
    assert_eq!(followed.changes(3), []);
}

#[test]
fn a_reset_and_a_refund_to_whole_are_deletions_and_a_sweep_is_nothing() {
    let mut followed = Followed::new();
    for key in 1..4 {
        followed.check(0, key, 1);
    }
    followed.changes(0);
    followed.engine.reset(at(1), name(1, 0));
    followed.engine.refund(at(1), name(2, 0), followed.limit, 1, None);
    assert_eq!(followed.changes(2), [(1, true), (2, true)]);
    assert_eq!(followed.engine.expire(at(120_000_000), 10), 1);
    assert_eq!(followed.changes(120_000_000), []);
}

/// Found by `keys_that_move_are_decided_as_if_they_had_stayed`: what was known of the key would have outlived it.
#[test]
fn a_key_that_is_forgotten_sooner_than_it_was_known_to_be_is_a_deletion() {
    let mut followed = Followed::new();
    followed.check(0, 1, 1);
    followed.check(0, 2, 2);
    assert_eq!(followed.changes(1), [(1, false), (2, false)]);
    let short = Limit::new(Algorithm::FixedWindow, 3, Period::Micros(1_000_000), None).unwrap();
    let short = followed.engine.intern("rule", short).unwrap();
    followed.engine.check(at(2), name(1, 0), short, Ask::new(1)).unwrap();
    followed.engine.check(at(2), name(2, 0), short, Ask::new(1)).unwrap();
    assert_eq!(followed.engine.expire(at(2_000_000), 10), 2);
    assert_eq!(followed.changes(2_000_000), [(1, true), (2, true)]);
}

#[test]
fn a_refused_acquire_is_no_change_and_the_last_release_is_a_deletion() {
    let mut followed = Followed::new();
    let one = Limit::new(Algorithm::Concurrency, 1, MINUTE, None).unwrap();
    let one = followed.engine.intern("slots", one).unwrap();
    let acquire = |engine: &mut Engine, holder| engine.acquire(at(0), name(1, 5), holder, one, 1, 1_000).unwrap();
    assert!(acquire(&mut followed.engine, 7).allowed);
    assert_eq!(followed.changes(0), [(1, false)]);
    assert!(!acquire(&mut followed.engine, 8).allowed);
    assert_eq!(followed.changes(0), []);
    followed.engine.release_slot(at(1), name(1, 5), 7);
    assert_eq!(followed.changes(1), [(1, true)]);
}

#[test]
fn the_parts_of_one_call_are_in_one_batch_as_they_stood_together() {
    let mut followed = Followed::new();
    let part = |key, cost| Part { identity: name(key, 0), limit: followed.limit, ask: Ask::new(cost) };
    let parts = [part(1, 1), part(2, 2), part(3, 3)];
    let mut decisions = Vec::new();
    assert!(followed.engine.check_all(at(0), &parts, &mut decisions).unwrap().allowed);
    assert!(!followed.engine.check_all(at(0), &parts, &mut decisions).unwrap().allowed);
    assert_eq!(followed.changes(0), [(1, false), (2, false), (3, false)]);
}

#[test]
fn a_settled_reservation_is_a_deletion() {
    let mut followed = Followed::new();
    let reserved = name(1, 100);
    followed.engine.reserve(at(0), name(1, 0), reserved, followed.limit, Ask::new(1), 1_000).unwrap();
    assert_eq!(followed.changes(0), [(1, false), (1, false)]);
    followed.engine.settle(at(1), reserved, 1).unwrap().unwrap();
    assert_eq!(followed.changes(1), [(1, false), (1, true)]);
}

#[test]
fn what_is_taken_in_is_not_passed_on_as_a_change() {
    let (mut here, mut there) = (Followed::new(), Followed::new());
    here.check(0, 1, 1);
    let batch = here.engine.changes(at(0)).unwrap();
    let imported = there.engine.import(at(0), &mut Intake::in_order(), &batch).unwrap();
    assert_eq!(imported, Imported { replaced: 1, older: 0 });
    assert_eq!(there.changes(0), []);
}

#[test]
fn the_next_batch_is_newer_in_whichever_way_it_is_read() {
    let mut followed = Followed::new();
    let engine = &mut followed.engine;
    let first = engine.changes(at(0)).unwrap().version;
    let second = engine.export(at(0), &Placements::all(), Cursor::START, 1).0.version;
    engine.begin_epoch(9);
    let third = engine.changes(at(0)).unwrap().version;
    assert!(first < second && second < third);
}
