//! Faults of operation that users of comparable software reported, each as a test of its kind.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use tallyring_engine::{Algorithm, Ask, Bounds, Engine, Identity, Limit, Period, Timestamp};

const KEYS: u64 = 1_000_000;
const SECOND_US: u64 = 1_000_000;

/// Keys that the sweep looks at in one turn of a shard.
const EXPIRIES_PER_TURN: usize = 512;

fn identity(no: u64) -> Identity {
    // Spread as a hash would: the odd constant is 2^64 divided by the golden ratio.
    Identity { placement: no.wrapping_mul(0x9E37_79B9_7F4A_7C15), identity: no }
}

#[test]
fn keys_that_came_once_go_away_and_their_memory_is_used_again() {
    // ops-mem-01
    let mut engine = Engine::new(Bounds::default());
    let limit = Limit::new(Algorithm::TokenBucket, 1, Period::Micros(SECOND_US), Some(1)).unwrap();
    let limit = engine.intern("per-ip", limit).unwrap();
    let mut bytes = Vec::new();
    for million in 0..2 {
        let now = Timestamp::from_micros((1 + million) * 100 * SECOND_US);
        for no in 0..KEYS {
            assert!(engine.check(now, identity(million * KEYS + no), limit, Ask::new(1)).unwrap().allowed);
        }
        bytes.push(engine.bytes());
        let later = Timestamp::from_micros(now.as_micros() + 10 * SECOND_US);
        while engine.expire(later, EXPIRIES_PER_TURN) > 0 {}
        assert_eq!(engine.keys(), 0);
    }
    assert!(bytes[1] * 10 <= bytes[0] * 11, "{bytes:?}");
}

#[test]
fn a_million_peeks_and_refused_costs_create_no_state() {
    // ops-mem-03; bad arguments are refused before there is anything to ask the engine
    let mut engine = Engine::new(Bounds::default());
    let limit = Limit::new(Algorithm::TokenBucket, 1, Period::Micros(SECOND_US), Some(1)).unwrap();
    let limit = engine.intern("per-ip", limit).unwrap();
    let now = Timestamp::from_micros(SECOND_US);
    let empty = engine.bytes();
    for no in 0..KEYS {
        assert!(engine.check(now, identity(no), limit, Ask::PEEK).unwrap().allowed);
        assert!(!engine.check(now, identity(no), limit, Ask::new(2)).unwrap().allowed);
    }
    assert_eq!((engine.keys(), engine.bytes()), (0, empty));
}
