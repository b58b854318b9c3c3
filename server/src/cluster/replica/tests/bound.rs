//! How much a crash forgets, in units: no more than is exported, and nothing of what was answered after the replica had it.

use proptest::prelude::*;
use tallyring_engine::*;
use tallyring_protocol::NodeId;

use crate::cluster::lease::Fence;
use crate::cluster::replica::{Flush, Lag, Source, Standby, Waiters};

const REPLICA: NodeId = NodeId(2);
const KEY: Identity = Identity { placement: 7, identity: 8 };
/// Units of the day.
const LIMIT: u64 = 60;

fn at(us: u64) -> Timestamp {
    Timestamp::from_micros(1_700_000_000_000_000 + us)
}

/// An owner, its replica, and one key between them.
struct Pair {
    owner: Engine,
    source: Source,
    replica: Engine,
    standby: Standby,
    waiting: Waiters<u64>,
    now_us: u64,
    admitted: u64,
    /// Units that `sync` replies have told callers of.
    answered: u64,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Check(u64),
    Flush,
    Arrive,
    Answer,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..5_u64).prop_map(Step::Check),
        2 => Just(Step::Flush),
        2 => Just(Step::Arrive),
        2 => Just(Step::Answer),
    ]
}

/// Charges the key and says how many units were admitted.
fn charge(engine: &mut Engine, now: Timestamp, cost: u64) -> u64 {
    let limit = Limit::new(Algorithm::FixedWindow, LIMIT, Period::Calendar(Calendar::Day), None).unwrap();
    let id = engine.intern("rule", limit).unwrap();
    let allowed = engine.check(now, KEY, id, Ask::new(cost)).unwrap().allowed;
    engine.release(id);
    if allowed { cost } else { 0 }
}

impl Pair {
    /// Whole from the start.
    fn new() -> Pair {
        let mut pair = Pair {
            owner: Engine::new(Bounds::default()),
            source: Source::default(),
            replica: Engine::new(Bounds::default()),
            standby: Standby::new(Placements::all(), Fence { epoch: 0, holder: NodeId(1) }),
            waiting: Waiters::default(),
            now_us: 0,
            admitted: 0,
            answered: 0,
        };
        pair.source.assign(REPLICA, Placements::all()).unwrap();
        pair.source.connect(REPLICA, Version::NONE);
        for step in [Step::Flush, Step::Flush, Step::Arrive, Step::Answer] {
            pair.step(step);
        }
        assert!(pair.source.stream(REPLICA).unwrap().is_whole());
        pair
    }

    fn step(&mut self, step: Step) {
        self.now_us += 1_000;
        let now = at(self.now_us);
        match step {
            Step::Check(cost) => {
                let units = charge(&mut self.owner, now, cost);
                self.admitted += units;
                self.waiting.wait(self.source.awaited(&self.owner), u64::MAX, units).unwrap();
            }
            Step::Flush => self.source.flush(&mut self.owner, now),
            Step::Arrive => {
                let stream = self.source.stream(REPLICA).unwrap();
                while let Some(bytes) = stream.next_to_send() {
                    let flush = Flush::decode(&bytes).unwrap();
                    self.standby.take(&mut self.replica, now, &flush).unwrap();
                }
                while self.standby.sweep(&mut self.replica) {}
            }
            Step::Answer => {
                let stream = self.source.stream(REPLICA).unwrap();
                stream.acknowledge(self.standby.position());
                self.answered += std::iter::from_fn(|| self.waiting.next_ready(&stream.arrived())).sum::<u64>();
            }
        }
    }

    fn lag(&self) -> Lag {
        self.source.lag(REPLICA, &self.owner, at(self.now_us)).unwrap()
    }

    /// The owner dies, and the replica admits what it can.
    fn crash(&mut self) -> u64 {
        let now = at(self.now_us);
        (0..=LIMIT).map(|_| charge(&mut self.replica, now, 1)).sum()
    }
}

proptest! {
    #[test]
    fn a_crash_admits_no_more_than_the_limit_and_the_units_not_acknowledged(steps in prop::collection::vec(step(), 0..60)) {
        let mut pair = Pair::new();
        steps.into_iter().for_each(|step| pair.step(step));
        let lag = pair.source.lag(REPLICA, &pair.owner, at(pair.now_us));
        let after = pair.crash();
        if let Some(Lag { units, .. }) = lag {
            prop_assert!(pair.admitted + after <= LIMIT + units);
        }
        prop_assert!(pair.answered + after <= LIMIT, "sync: {} answered, {after} after the crash", pair.answered);
    }
}

/// Case clus-lag-01 with its numbers: 100 used, 97 replicated, 3 too many.
#[test]
fn a_lag_of_three_units_is_three_units_too_many() {
    let mut pair = Pair::new();
    for step in
        [[Step::Check(1); 57].as_slice(), &[Step::Flush, Step::Arrive, Step::Answer], &[Step::Check(1); 3]].concat()
    {
        pair.step(step);
    }
    assert_eq!(pair.lag(), Lag { us: 5_000, units: 3 });
    assert_eq!((pair.admitted, pair.crash()), (LIMIT, 3));
}

#[test]
fn what_is_acknowledged_lags_by_nothing() {
    let mut pair = Pair::new();
    let steps = [Step::Check(5), Step::Flush, Step::Arrive, Step::Answer, Step::Flush, Step::Flush];
    steps.into_iter().for_each(|step| pair.step(step));
    assert_eq!(pair.lag(), Lag { us: 0, units: 0 });
    assert_eq!((pair.answered, pair.waiting.len(), pair.crash()), (5, 0, LIMIT - 5));
}

#[test]
fn without_a_replica_no_reply_goes_and_nothing_is_noted() {
    let mut pair = Pair::new();
    pair.source.dismiss(REPLICA);
    pair.source.flush(&mut pair.owner, at(pair.now_us));
    let noted = pair.owner.units_charged();
    charge(&mut pair.owner, at(pair.now_us), 1);
    assert_eq!((pair.owner.units_charged(), pair.owner.has_changes()), (noted, false));
    pair.source.assign(REPLICA, Placements::all()).unwrap();
    assert!(pair.source.stream(REPLICA).unwrap().arrived().is_empty());
    assert_eq!(pair.source.lag(REPLICA, &pair.owner, at(pair.now_us)), None);
}

#[test]
fn a_reply_of_before_the_connection_waits_for_the_end_of_the_fill() {
    let mut pair = Pair::new();
    pair.source.dismiss(REPLICA);
    pair.step(Step::Flush);
    pair.source.assign(REPLICA, Placements::all()).unwrap();
    pair.step(Step::Check(5));
    pair.source.connect(REPLICA, pair.standby.position());
    for answered in [0, 5] {
        [Step::Flush, Step::Arrive, Step::Answer].into_iter().for_each(|step| pair.step(step));
        assert_eq!(pair.answered, answered);
    }
}

#[test]
fn a_reply_does_not_wait_for_a_fill_that_brings_its_change_anyway() {
    let mut pair = Pair::new();
    pair.source.stream(REPLICA).unwrap().disconnect();
    pair.source.connect(REPLICA, Version { epoch: 9, sequence: 9 });
    [Step::Check(5), Step::Flush, Step::Arrive, Step::Answer].into_iter().for_each(|step| pair.step(step));
    assert_eq!((pair.answered, pair.standby.is_whole()), (5, false));
}
