//! A batch with every kind of record, for tests.

use tallyring_engine::*;

use super::fingerprint::Fingerprint;

pub(super) fn fingerprint() -> Fingerprint {
    Fingerprint::from_bytes(*b"sixteen bytes...")
}

/// 2023-11-14 22:13:20 UTC.
const NOW_US: u64 = 1_700_000_000_000_000;

fn identity(identity: u64) -> Identity {
    Identity { placement: 0x0102_0304_0506_0708, identity }
}

fn rule_limit(rule: &str, algorithm: Algorithm, period: Period, burst: Option<u64>) -> RuleLimit {
    RuleLimit { rule: rule.into(), limit: Limit::new(algorithm, 10, period, burst).unwrap() }
}

/// A counter under the batch's limit of that place.
fn counter(limit: u32, state: State) -> Record {
    Record::Counter { identity: identity(u64::from(limit)), counter: Some(CounterState { limit, state }) }
}

pub(super) fn batch() -> Batch {
    use Algorithm::*;
    let minute = Period::Micros(60_000_000);
    let decision = Decision {
        allowed: true,
        limit: 10,
        remaining: 7,
        retry_after: Wait::NOW,
        reset_after_us: 1 << 70,
        charged: Some(3),
        delay_us: Some(5),
    };
    let reservation = ReservationState {
        counter: identity(1),
        limit: 1,
        charged: 3,
        charged_at: Timestamp::from_micros(NOW_US - 9),
        decision,
        until_us: NOW_US + 1_000,
    };
    let minute_start_us = NOW_US / 60_000_000 * 60_000_000;
    let day_end_us = (NOW_US / 86_400_000_000 + 1) * 86_400_000_000;
    let admitted = vec![
        Admitted { at_us: NOW_US - 2_000_000, units: 1 },
        Admitted { at_us: NOW_US - 1_000_000, units: 300 },
        Admitted { at_us: NOW_US, units: 2 },
    ];
    let holds = vec![
        Hold { holder: 1, units: 2, until_us: NOW_US + 1 },
        Hold { holder: u64::MAX, units: 3, until_us: NOW_US + 70_000 },
    ];
    Batch {
        version: Version { epoch: 3, sequence: 70_000 },
        read_at: Timestamp::from_micros(NOW_US),
        limits: vec![
            rule_limit("per-ip", TokenBucket, minute, Some(20)),
            rule_limit("queue", LeakyBucket, minute, None),
            rule_limit("", FixedWindow, Period::Calendar(Calendar::Day), None),
            rule_limit("log", SlidingLog, minute, None),
            rule_limit("fading", SlidingCounter, minute, None),
            rule_limit("slots", Concurrency, minute, None),
        ],
        records: vec![
            counter(0, State::Bucket { level: 19 * 60_000_000 + 1 }),
            counter(1, State::Bucket { level: -(1 << 50) }),
            counter(2, State::FixedWindow { end_us: day_end_us, count: 4 }),
            counter(3, State::SlidingLog { admitted }),
            counter(4, State::SlidingCounter { start_us: minute_start_us, current: 5, previous: 1 << 40 }),
            counter(5, State::Concurrency { holds }),
            Record::Counter { identity: identity(6), counter: None },
            Record::Reservation { name: identity(7), reservation: Some(Box::new(reservation)) },
            Record::Reservation { name: identity(8), reservation: None },
        ],
    }
}
