//! Batches that are not taken in, as a whole, and records that are too old.

use tallyring_engine::*;

use crate::call::name;
use crate::world::{at, export_all};

const MINUTE: Period = Period::Micros(60_000_000);
const NOW_US: u64 = 5_000_000;

fn limit(algorithm: Algorithm) -> Limit {
    Limit::new(algorithm, 10, MINUTE, None).unwrap()
}

fn batch(sequence: u64, algorithm: Algorithm, records: Vec<Record>) -> Batch {
    let limits = vec![RuleLimit { rule: "rule".into(), limit: limit(algorithm) }];
    Batch { version: Version { epoch: 1, sequence }, read_at: at(NOW_US), limits, records }
}

fn counter(key: u64, state: State) -> Record {
    Record::Counter { identity: name(key, 0), counter: Some(CounterState { limit: 0, state }) }
}

fn gone(key: u64) -> Record {
    Record::Counter { identity: name(key, 0), counter: None }
}

fn window_end_us() -> u64 {
    (at(NOW_US).as_micros() / 60_000_000 + 1) * 60_000_000
}

fn counted(key: u64, count: u64) -> Record {
    counter(key, State::FixedWindow { end_us: window_end_us(), count })
}

fn window(sequence: u64, key: u64, count: u64) -> Batch {
    batch(sequence, Algorithm::FixedWindow, vec![counted(key, count)])
}

fn remaining(engine: &mut Engine, key: u64) -> u64 {
    let id = engine.intern("rule", limit(Algorithm::FixedWindow)).unwrap();
    let remaining = engine.check(at(NOW_US), name(key, 0), id, Ask::PEEK).unwrap().remaining;
    engine.release(id);
    remaining
}

/// A batch of a sound counter and `record` is refused for that reason, and the sound one is not taken in either.
fn check(algorithm: Algorithm, record: Record, expect: &str) {
    let mut engine = Engine::new(Bounds::default());
    let mut batch = batch(1, algorithm, vec![counted(1, 4), record]);
    batch.limits.push(RuleLimit { rule: "window".into(), limit: limit(Algorithm::FixedWindow) });
    let Record::Counter { counter: Some(sound), .. } = &mut batch.records[0] else { panic!("a counter was just made") };
    sound.limit = 1;
    let refused = engine.import(at(NOW_US), &mut Intake::in_order(), &batch).unwrap_err();
    assert_eq!(refused.to_string(), format!("record 1 is malformed: {expect}"));
    assert_eq!((engine.keys(), engine.limits()), (0, 0));
}

#[test]
fn no_state_is_taken_in_that_no_engine_writes() {
    use Algorithm::*;
    let now_us = at(NOW_US).as_micros();
    let full = 10 * 60_000_000;
    let log = |entries: &[(u64, u64)]| State::SlidingLog {
        admitted: entries.iter().map(|&(at_us, units)| Admitted { at_us, units }).collect(),
    };
    let slots = |holds: &[(u64, u64, u64)]| State::Concurrency {
        holds: holds.iter().map(|&(holder, units, until_us)| Hold { holder, units, until_us }).collect(),
    };
    let cases = [
        (TokenBucket, State::Bucket { level: full + 1 }, "a bucket's level"),
        (LeakyBucket, State::Bucket { level: -1_000_000_000_000 * 60_000_000 - 1 }, "a bucket's level"),
        (TokenBucket, State::FixedWindow { end_us: 1, count: 1 }, "a state's algorithm"),
        (Concurrency, State::Bucket { level: 1 }, "a state's algorithm"),
        (FixedWindow, State::FixedWindow { end_us: window_end_us() + 1, count: 1 }, "a window's end"),
        (SlidingCounter, State::SlidingCounter { start_us: 0, current: 1, previous: 0 }, "a sliding counter's window"),
        (SlidingLog, log(&[(now_us + 1, 1)]), "a log's instants"),
        (SlidingLog, log(&[(now_us - 60_000_000, 1)]), "a log's instants"),
        (SlidingLog, log(&[(now_us - 1, 1), (now_us - 1, 1)]), "a log's instants"),
        (SlidingLog, log(&[(now_us - 1, 0)]), "a log's units"),
        (SlidingLog, log(&[(now_us - 1, u64::MAX), (now_us, u64::MAX)]), "a log's units"),
        (SlidingLog, log(&vec![(now_us, 1); 100_001]), "a log's length"),
        (Concurrency, slots(&[(1, 1, now_us)]), "a hold's end"),
        (Concurrency, slots(&[(1, 1, now_us + 9), (2, 1, now_us + 8)]), "a hold's end"),
        (Concurrency, slots(&[(1, 1, u64::MAX)]), "a hold's end"),
        (Concurrency, slots(&[(1, 0, now_us + 1)]), "a hold's units"),
        (Concurrency, slots(&[(1, 1, now_us + 1), (1, 1, now_us + 1)]), "a holder's name"),
        (Concurrency, slots(&vec![(1, 1, now_us + 1); 10_001]), "a key's number of holders"),
    ];
    for (algorithm, state, expect) in cases {
        check(algorithm, counter(2, state), expect);
    }
    let elsewhere = Some(CounterState { limit: 2, state: State::Bucket { level: 0 } });
    check(TokenBucket, Record::Counter { identity: name(2, 0), counter: elsewhere }, "a limit's place");
}

#[test]
fn no_reservation_is_taken_in_that_no_engine_writes() {
    let now_us = at(NOW_US).as_micros();
    let decision = Decision {
        allowed: true,
        limit: 10,
        remaining: 9,
        retry_after: Wait::NOW,
        reset_after_us: 1,
        charged: None,
        delay_us: None,
    };
    let sound = ReservationState {
        counter: name(2, 0),
        limit: 0,
        charged: 1,
        charged_at: at(NOW_US),
        decision,
        until_us: now_us + 1,
    };
    let record =
        |state: ReservationState| Record::Reservation { name: name(2, 100), reservation: Some(Box::new(state)) };
    let mut engine = Engine::new(Bounds::default());
    let batch = batch(1, Algorithm::TokenBucket, vec![record(sound.clone())]);
    assert_eq!(engine.import(at(NOW_US), &mut Intake::in_order(), &batch).map(|imported| imported.replaced), Ok(1));

    let cases = [
        (ReservationState { limit: 9, ..sound }, "a limit's place"),
        (ReservationState { counter: name(1, 0), ..sound }, "a reservation's placement"),
        (ReservationState { charged: UNITS_MAX + 1, ..sound }, "a reservation's units"),
        (ReservationState { charged_at: at(NOW_US + 1), ..sound }, "a reservation's instants"),
        (ReservationState { until_us: now_us, ..sound }, "a reservation's instants"),
        (ReservationState { until_us: u64::MAX, ..sound }, "a reservation's instants"),
        (ReservationState { decision: Decision { allowed: false, ..decision }, ..sound }, "a reservation's decision"),
    ];
    for (state, expect) in cases {
        check(Algorithm::TokenBucket, record(state), expect);
    }
    check(Algorithm::Concurrency, record(sound), "a reservation's algorithm");
}

#[test]
fn what_is_older_or_comes_twice_changes_nothing() {
    let mut engine = Engine::new(Bounds::default());
    let mut intake = Intake::in_any_order();
    let mut import = |sequence, count, expect: (usize, usize), left| {
        let imported = engine.import(at(NOW_US), &mut intake, &window(sequence, 1, count)).unwrap();
        assert_eq!((imported.replaced, imported.older), expect);
        assert_eq!(remaining(&mut engine, 1), left);
    };
    import(5, 2, (1, 0), 8);
    import(5, 3, (0, 1), 8);
    import(4, 4, (0, 1), 8);
    import(6, 5, (1, 0), 5);
}

#[test]
fn a_deletion_outlives_the_state_that_it_overtook() {
    let mut engine = Engine::new(Bounds::default());
    let mut intake = Intake::in_any_order();
    let deletion = batch(7, Algorithm::FixedWindow, vec![gone(1)]);
    engine.import(at(NOW_US), &mut intake, &deletion).unwrap();
    let imported = engine.import(at(NOW_US), &mut intake, &window(6, 1, 4)).unwrap();
    assert_eq!((imported.older, remaining(&mut engine, 1)), (1, 10));
    intake.settle(deletion.version);
    assert_eq!(intake.versions(), 0);
    assert_eq!(engine.import(at(NOW_US), &mut intake, &window(6, 1, 4)).unwrap().older, 1);
}

#[test]
fn an_intake_that_is_settled_through_an_epoch_fences_it_off() {
    let mut engine = Engine::new(Bounds::default());
    let mut intake = Intake::in_order();
    intake.settle(Version { epoch: 1, sequence: u64::MAX });
    assert_eq!(engine.import(at(NOW_US), &mut intake, &window(1_000, 1, 4)).unwrap().replaced, 0);
    let newer = Batch { version: Version { epoch: 2, sequence: 1 }, ..window(1, 1, 4) };
    assert_eq!(engine.import(at(NOW_US), &mut intake, &newer).unwrap().replaced, 1);
}

#[test]
fn a_batch_from_the_future_is_refused_and_one_from_just_ahead_moves_time() {
    let mut engine = Engine::new(Bounds::default());
    let mut intake = Intake::in_order();
    let refused = engine.import(at(NOW_US - AHEAD_US_MAX - 1), &mut intake, &window(1, 1, 4));
    assert_eq!(refused, Err(ImportError::TooFarAhead { ahead_us: AHEAD_US_MAX + 1 }));
    engine.import(at(NOW_US - AHEAD_US_MAX), &mut intake, &window(1, 1, 4)).unwrap();
    assert_eq!(engine.advance(at(0)), at(NOW_US));
}

#[test]
fn a_batch_that_finds_no_room_is_not_taken_in_by_halves() {
    let records = || (1..9).map(|key| counted(key, 4)).collect();
    let batch = batch(1, Algorithm::FixedWindow, records());
    let roomy = Bounds::default();
    let small = [
        (Bounds { rule_keys_max: 7, ..roomy }, ImportError::Full(Full)),
        (Bounds { bytes_max: 1, ..roomy }, ImportError::Full(Full)),
        (Bounds { limits_max: 0, ..roomy }, ImportError::LimitsFull(LimitsFull)),
    ];
    for (bounds, expect) in small {
        let mut engine = Engine::new(bounds);
        let mut intake = Intake::in_any_order();
        assert_eq!(engine.import(at(NOW_US), &mut intake, &batch), Err(expect));
        assert_eq!((engine.keys(), engine.limits(), intake.versions()), (0, 0, 0));
    }
    let mut engine = Engine::new(Bounds { rule_keys_max: 8, ..roomy });
    assert_eq!(engine.import(at(NOW_US), &mut Intake::in_order(), &batch).map(|imported| imported.replaced), Ok(8));
    // All eight are there already: to replace them takes no room.
    assert_eq!(engine.import(at(NOW_US), &mut Intake::in_order(), &batch).map(|imported| imported.replaced), Ok(8));
}

#[test]
fn fresh_state_makes_room_for_what_comes() {
    let mut engine = Engine::new(Bounds { rule_keys_max: 1, ..Bounds::default() });
    engine.import(at(NOW_US), &mut Intake::in_order(), &window(1, 1, 4)).unwrap();
    let mut later = window(2, 2, 4);
    later.read_at = at(NOW_US + 60_000_000);
    let end_us = window_end_us() + 60_000_000;
    later.records = vec![counter(2, State::FixedWindow { end_us, count: 4 })];
    engine.advance(at(NOW_US + 61_000_000));
    assert_eq!(engine.import(later.read_at, &mut Intake::in_order(), &later).map(|imported| imported.replaced), Ok(1));
}

#[test]
fn an_intake_in_any_order_must_be_settled_in_time() {
    let mut engine = Engine::new(Bounds::default());
    let mut intake = Intake::in_any_order();
    let full = |sequence: u64| {
        let keys = (sequence * 1_000_000..).take(BATCH_RECORDS_MAX);
        batch(sequence, Algorithm::FixedWindow, keys.map(gone_at).collect())
    };
    for sequence in 1..=(VERSIONS_MAX / BATCH_RECORDS_MAX) as u64 {
        engine.import(at(NOW_US), &mut intake, &full(sequence)).unwrap();
    }
    assert_eq!(engine.import(at(NOW_US), &mut intake, &full(50)), Err(ImportError::Unsettled));
    intake.settle(Version { epoch: 1, sequence: 1 });
    assert!(engine.import(at(NOW_US), &mut intake, &full(50)).is_ok());
    let mut long = full(60);
    long.records.push(gone(1));
    let too_long = ImportError::TooLong { records: BATCH_RECORDS_MAX + 1 };
    assert_eq!(engine.import(at(NOW_US), &mut Intake::in_order(), &long), Err(too_long));
}

fn gone_at(identity: u64) -> Record {
    Record::Counter { identity: Identity { placement: 1, identity }, counter: None }
}

#[test]
fn an_export_of_what_was_refused_says_what_was_there_before() {
    let mut engine = Engine::new(Bounds::default());
    engine.import(at(NOW_US), &mut Intake::in_order(), &window(1, 1, 4)).unwrap();
    let mut broken = window(2, 1, 9);
    broken.records.push(counter(2, State::Bucket { level: 0 }));
    assert!(engine.import(at(NOW_US), &mut Intake::in_order(), &broken).is_err());
    let batches = export_all(&mut engine, at(NOW_US), &Placements::all(), 10);
    let records: Vec<&Record> = batches.iter().flat_map(|batch| &batch.records).collect();
    assert_eq!(records, [&counted(1, 4)]);
}
