//! An export's steps: bounded, and complete in spite of what goes on between them.

use std::collections::BTreeMap;

use tallyring_engine::*;

use crate::world::{at, export_all};

fn identity(no: u64) -> Identity {
    Identity { placement: no.wrapping_mul(0x9e37_79b9_7f4a_7c15), identity: no }
}

fn engine_of(keys: u64, algorithm: Algorithm) -> (Engine, LimitId) {
    let mut engine = Engine::new(Bounds::default());
    let limit = Limit::new(algorithm, 50_000, Period::Micros(3_600_000_000), None).unwrap();
    let limit = engine.intern("rule", limit).unwrap();
    for no in 0..keys {
        engine.check(at(0), identity(no), limit, Ask::new(1)).unwrap();
    }
    (engine, limit)
}

#[test]
fn every_key_that_stays_is_read_once_while_others_come_and_go() {
    const STAYING: u64 = 40_000;
    let (mut engine, limit) = engine_of(STAYING, Algorithm::TokenBucket);
    let mut read: BTreeMap<Identity, usize> = BTreeMap::new();
    let (mut from, mut steps) = (Some(Cursor::START), 0);
    while let Some(cursor) = from {
        let (batch, next) = engine.export(at(1), &Placements::all(), cursor, 700);
        assert!(batch.records.len() <= 700);
        for record in &batch.records {
            let Record::Counter { identity, .. } = record else { panic!("there is no reservation: {record:?}") };
            *read.entry(*identity).or_default() += 1;
        }
        steps += 1;
        for no in (STAYING..).take(50) {
            engine.check(at(1), identity(no + steps % 2 * 50), limit, Ask::new(1)).unwrap();
            engine.reset(at(1), identity(no + (steps + 1) % 2 * 50));
        }
        from = next;
    }
    assert!((0..STAYING).all(|no| read.get(&identity(no)) == Some(&1)));
}

#[test]
fn parts_of_the_ring_add_up_to_the_whole() {
    let (mut engine, _) = engine_of(10_000, Algorithm::SlidingCounter);
    let cuts = [5, 1 << 61, 1 << 62, 1 << 63, u64::MAX - 9];
    let arcs = (0..cuts.len()).map(|no| (cuts[no], cuts[(no + 1) % cuts.len()]));
    let mut records = |arc| {
        let batches = export_all(&mut engine, at(1), &Placements::of_arcs([arc]), 1_000);
        batches.iter().map(|batch| batch.records.len()).sum::<usize>()
    };
    assert_eq!(arcs.map(&mut records).sum::<usize>(), 10_000);
}

#[test]
fn long_logs_end_a_step_early() {
    let (mut engine, limit) = engine_of(10, Algorithm::SlidingLog);
    for us in 1..10_000 {
        for no in 0..10 {
            engine.check(at(us), identity(no), limit, Ask::new(1)).unwrap();
        }
    }
    let batches = export_all(&mut engine, at(10_000), &Placements::all(), 1_000);
    assert!(batches.iter().all(|batch| batch.records.len() <= 2), "two logs of 10,000 are enough for a step");
    assert_eq!(batches.iter().map(|batch| batch.records.len()).sum::<usize>(), 10);
}

#[test]
fn whole_state_is_left_out() {
    let (mut engine, _) = engine_of(100, Algorithm::FixedWindow);
    let batches = export_all(&mut engine, at(7_200_000_000), &Placements::all(), 1_000);
    assert_eq!(engine.keys(), 100);
    assert!(batches.iter().all(|batch| batch.records.is_empty()));
}

#[test]
fn a_discarded_range_is_gone_and_its_neighbours_are_not() {
    let (mut engine, _) = engine_of(40_000, Algorithm::TokenBucket);
    let lower = Placements::of_arcs([(u64::MAX, u64::MAX / 2)]);
    let in_lower = (0..40_000).filter(|&no| lower.contains(identity(no).placement)).count();
    let mut from = Some(Cursor::START);
    while let Some(cursor) = from {
        from = engine.discard(&lower, cursor);
    }
    assert_eq!(engine.keys(), 40_000 - in_lower);
    assert!(export_all(&mut engine, at(1), &lower, 1_000).iter().all(|batch| batch.records.is_empty()));
}

#[test]
fn a_refill_forgets_what_it_did_not_bring_and_nothing_before_it_is_over() {
    let (mut source, limit) = engine_of(1_000, Algorithm::TokenBucket);
    let (mut replica, _) = engine_of(2_000, Algorithm::TokenBucket);
    let reserved = |no| Identity { identity: no + 1_000_000, ..identity(no) };
    source.reserve(at(1), identity(5), reserved(5), limit, Ask::new(1), 9_000_000).unwrap();
    for no in 4..7 {
        replica.reserve(at(1), identity(no), reserved(no), limit, Ask::new(1), 9_000_000).unwrap();
    }
    let lower = Placements::of_arcs([(u64::MAX, u64::MAX / 2)]);
    let mut intake = Intake::refill();
    for batch in export_all(&mut source, at(2), &lower, 100) {
        replica.import(at(2), &mut intake, &batch).unwrap();
    }
    assert_eq!(replica.keys(), 2_000);
    let mut from = Some(Cursor::START);
    while let Some(cursor) = from {
        from = replica.discard_unseen(&lower, &intake, cursor);
    }
    let in_lower = |no: &u64| lower.contains(identity(*no).placement);
    assert_eq!(replica.keys(), 2_000 - (1_000..2_000).filter(in_lower).count());
    let left = [4, 5, 6].map(|no| replica.reserved_at(at(2), reserved(no)).is_some());
    assert_eq!(left, [4, 5, 6].map(|no| no == 5 || !in_lower(&no)));
    assert!(intake.bytes() > 0);
    intake.refilled();
    assert_eq!(intake.bytes(), 0);
}

#[test]
fn changes_too_many_for_one_batch_come_in_several_and_no_place_is_parted() {
    let mut engine = Engine::new(Bounds::default());
    let limit = Limit::new(Algorithm::SlidingLog, 50_000, Period::Micros(3_600_000_000), None).unwrap();
    let limit = engine.intern("rule", limit).unwrap();
    engine.follow_changes();
    let parts = [1, 2].map(|no| [1, 2].map(|place| Identity { placement: place, identity: no }));
    for us in 0..40_000 {
        for identity in parts.as_flattened().iter().chain(&[3, 4].map(identity)) {
            engine.check(at(us), *identity, limit, Ask::new(1)).unwrap();
        }
    }
    let mut places = Vec::new();
    while engine.has_changes() {
        let batch = engine.changes(at(40_000)).unwrap();
        places.push(batch.records.iter().map(Record::placement).collect::<Vec<_>>());
    }
    let sizes: Vec<usize> = places.iter().map(Vec::len).collect();
    assert_eq!(sizes, [4, 2], "{places:?}");
    assert!(places.concat().is_sorted());
}
