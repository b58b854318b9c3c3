//! What a standby takes from nobody.

use tallyring_engine::*;
use tallyring_protocol::NodeId;

use crate::cluster::lease::Fence;
use crate::cluster::replica::{Flush, Refusals, Refused, Stage, Standby};

const NOW_US: u64 = 1_700_000_000_000_000;

const OWNER: Fence = Fence { epoch: 3, holder: NodeId(1) };
const SUCCESSOR: Fence = Fence { epoch: 4, holder: NodeId(2) };

fn flush(stage: Stage, follows: (u64, u64), version: (u64, u64)) -> Flush {
    let limit = Limit::new(Algorithm::FixedWindow, 10, Period::Micros(60_000_000), None).unwrap();
    let end_us = NOW_US - NOW_US % 60_000_000 + 60_000_000;
    let state = State::FixedWindow { end_us, count: version.1 };
    let of = |(epoch, sequence)| Version { epoch, sequence };
    let batch = Batch {
        version: of(version),
        read_at: Timestamp::from_micros(NOW_US),
        limits: vec![RuleLimit { rule: "rule".into(), limit }],
        records: vec![Record::Counter {
            identity: Identity { placement: 1, identity: 1 },
            counter: Some(CounterState { limit: 0, state }),
        }],
    };
    Flush { stage, follows: of(follows), batch }
}

struct Replica {
    engine: Engine,
    standby: Standby,
}

impl Replica {
    /// Whole as of 3.2.
    fn new() -> Replica {
        let standby = Standby::new(Placements::all(), OWNER);
        let mut replica = Replica { engine: Engine::new(Bounds::default()), standby };
        replica.take(0, &flush(Stage::FillBegins, (0, 0), (3, 1))).unwrap();
        replica.take(0, &flush(Stage::FillEnds, (3, 1), (3, 2))).unwrap();
        while replica.standby.sweep(&mut replica.engine) {}
        assert!(replica.standby.is_whole());
        replica
    }

    fn take(&mut self, behind_us: u64, flush: &Flush) -> Result<usize, Refused> {
        let now = Timestamp::from_micros(NOW_US - behind_us);
        self.standby.take(&mut self.engine, now, flush).map(|imported| imported.replaced)
    }

    /// Units counted.
    fn count(&mut self) -> u64 {
        let stock = self.engine.peek(Timestamp::from_micros(NOW_US), Identity { placement: 1, identity: 1 });
        10 - stock.expect("it was filled").remaining
    }
}

#[test]
fn an_owner_of_before_is_refused_until_it_holds_the_range_again() {
    let mut replica = Replica::new();
    replica.standby.fence(SUCCESSOR);
    let old = replica.take(0, &flush(Stage::Goes, (3, 2), (3, 3)));
    assert_eq!(
        old.unwrap_err().to_string(),
        "fenced: a record of node 1 under epoch 3, after node 2 held the range under epoch 4"
    );
    assert_eq!(replica.count(), 2);
    assert_eq!(replica.take(0, &flush(Stage::FillBegins, (0, 0), (5, 1))), Ok(1));
    assert_eq!((replica.count(), replica.standby.is_whole()), (1, false));
}

#[test]
fn a_flush_behind_one_that_is_missing_is_refused_and_one_that_came_before_is_nothing() {
    let mut replica = Replica::new();
    let gap = replica.take(0, &flush(Stage::Goes, (3, 3), (3, 4)));
    assert_eq!(gap.unwrap_err().to_string(), "it follows 3.3, and 3.2 is the last that has come");
    assert_eq!(replica.take(0, &flush(Stage::Goes, (3, 0), (3, 1))), Ok(0));
    assert_eq!(replica.take(0, &flush(Stage::Goes, (3, 2), (3, 4))), Ok(1));
    assert_eq!((replica.count(), replica.standby.position().sequence), (4, 4));
}

#[test]
fn nothing_is_taken_before_a_fill_has_begun() {
    let mut engine = Engine::new(Bounds::default());
    let mut standby = Standby::new(Placements::all(), OWNER);
    let early = standby.take(&mut engine, Timestamp::from_micros(NOW_US), &flush(Stage::Goes, (0, 0), (3, 1)));
    assert!(matches!(early, Err(Refused::Gap { .. })));
}

#[test]
fn a_flush_from_the_future_is_refused_counted_and_taken_when_its_time_has_come() {
    let mut replica =
        Replica { engine: Engine::new(Bounds::default()), standby: Standby::new(Placements::all(), OWNER) };
    let first = flush(Stage::FillBegins, (0, 0), (3, 1));
    let refused = replica.take(AHEAD_US_MAX + 1, &first);
    assert_eq!(refused, Err(Refused::Import(ImportError::TooFarAhead { ahead_us: AHEAD_US_MAX + 1 })));
    assert_eq!(replica.standby.refusals(), Refusals { ahead: 1, ..Refusals::default() });
    assert_eq!(replica.take(AHEAD_US_MAX, &first), Ok(1));
}

#[test]
fn a_replica_without_room_acknowledges_nothing() {
    let bounds = Bounds { bytes_max: 1, ..Bounds::default() };
    let mut replica = Replica { engine: Engine::new(bounds), standby: Standby::new(Placements::all(), OWNER) };
    let refused = replica.take(0, &flush(Stage::FillBegins, (0, 0), (3, 1)));
    assert_eq!(refused, Err(Refused::Import(ImportError::Full(Full))));
    assert_eq!((replica.standby.refusals().full, replica.standby.position()), (1, Version::NONE));
}
