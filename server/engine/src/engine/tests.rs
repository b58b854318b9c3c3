use super::*;
use crate::decision::{JointError, Wait};
use crate::limit::{Calendar, PERIOD_US_MAX, Period, UNITS_MAX};

const NOW_US: u64 = 1_700_000_000_123_457;

const BUDGETS: [Algorithm; 5] = [
    Algorithm::TokenBucket,
    Algorithm::LeakyBucket,
    Algorithm::FixedWindow,
    Algorithm::SlidingLog,
    Algorithm::SlidingCounter,
];

fn at(after_us: u64) -> Timestamp {
    Timestamp::from_micros(NOW_US + after_us)
}

fn key(n: u64) -> Identity {
    Identity { placement: n / 7, identity: n }
}

fn numbers(algorithm: Algorithm, limit: u64, period_us: u64) -> Limit {
    Limit::new(algorithm, limit, Period::Micros(period_us), None).unwrap()
}

fn engine_with(limit: Limit) -> (Engine, LimitId) {
    bounded(limit, Bounds::default())
}

fn bounded(limit: Limit, bounds: Bounds) -> (Engine, LimitId) {
    let mut engine = Engine::new(bounds);
    let id = engine.intern("rule", limit).unwrap();
    (engine, id)
}

/// A generator of numbers that look random and are the same every time.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// What is told of a wait is true to the microsecond: `ask` passes after it and not before; likewise the reset.
fn check_promise(engine: &mut Engine, id: LimitId, now: Timestamp, ask: Ask) {
    // A probe of the same size that charges nothing, so that it can be tried twice.
    let probe = Ask { cost: 0, keep: ask.cost + ask.keep, force: false };
    let after = |now: Timestamp, wait_us: u128| Timestamp::from_micros(now.as_micros() + wait_us as u64);
    let refused = engine.check(now, key(1), id, ask).unwrap();
    match refused.retry_after {
        Wait::NOW => assert!(refused.allowed),
        Wait::Never => assert!(ask.cost + ask.keep > refused.limit),
        Wait::Micros(wait_us) => {
            assert!(!engine.check(after(now, wait_us - 1), key(1), id, probe).unwrap().allowed, "{ask:?} too late");
            assert!(engine.check(after(now, wait_us), key(1), id, probe).unwrap().allowed, "{ask:?} too early");
        }
    }
    let now = engine.advance(now);
    let state = engine.check(now, key(1), id, Ask::PEEK).unwrap();
    if state.reset_after_us > 0 {
        let whole = |engine: &mut Engine, wait_us| {
            let state = engine.check(after(now, wait_us), key(1), id, Ask::PEEK).unwrap();
            state.remaining == state.limit && state.reset_after_us == 0
        };
        assert!(!whole(engine, state.reset_after_us - 1));
        assert!(whole(engine, state.reset_after_us));
    }
}

#[test]
fn a_wait_is_the_smallest_after_which_the_same_call_passes() {
    let mut random = Random(1);
    for round in 0..2_000 {
        let algorithm = BUDGETS[round % BUDGETS.len()];
        let limit = random.below(12) + 1;
        let (mut engine, id) = engine_with(numbers(algorithm, limit, random.below(90) + 1));
        let mut now_us = 0;
        for _ in 0..6 {
            now_us += random.below(60);
            engine.check(at(now_us), key(1), id, Ask::new(random.below(limit) + 1)).unwrap();
        }
        let ask = Ask { keep: random.below(3), ..Ask::new(random.below(limit + 2)) };
        check_promise(&mut engine, id, at(now_us), ask);
    }
}

#[test]
fn a_refused_request_costs_nothing() {
    for algorithm in BUDGETS {
        let (mut engine, id) = engine_with(numbers(algorithm, 5, 1_000_000));
        engine.check(at(0), key(1), id, Ask::new(3)).unwrap();
        let before = engine.check(at(1), key(1), id, Ask::PEEK).unwrap();
        for cost in [3, 5, 6, UNITS_MAX] {
            assert!(!engine.check(at(1), key(1), id, Ask::new(cost)).unwrap().allowed);
        }
        assert_eq!(engine.check(at(1), key(1), id, Ask::PEEK), Ok(before), "{algorithm:?}");
    }
}

#[test]
fn a_look_leaves_no_trace() {
    for algorithm in BUDGETS {
        let (mut engine, id) = engine_with(numbers(algorithm, 5, 1_000_000));
        engine.check(at(0), key(1), id, Ask::PEEK).unwrap();
        engine.check(at(0), key(1), id, Ask { force: true, ..Ask::PEEK }).unwrap();
        engine.check(at(0), key(1), id, Ask::new(6)).unwrap();
        engine.take(at(0), key(1), id, 0, 0).unwrap();
        engine.refund(at(0), key(1), id, 5, None);
        assert_eq!(engine.keys(), 0, "{algorithm:?}");
    }
}

#[test]
fn time_does_not_go_back() {
    let (mut engine, id) = engine_with(numbers(Algorithm::TokenBucket, 1, 1_000));
    engine.check(at(500), key(1), id, Ask::new(1)).unwrap();
    let refused = engine.check(at(0), key(1), id, Ask::new(1)).unwrap();
    assert_eq!(refused.retry_after, Wait::Micros(1_000));
}

/// The same random calls on an engine that sweeps all the time and on one that never does.
fn check_sweep(algorithm: Algorithm, seed: u64) {
    let (mut swept, mut kept) = (Engine::new(Bounds::default()), Engine::new(Bounds::default()));
    let mut random = Random(seed);
    let mut now_us = 0;
    for _ in 0..600 {
        now_us += random.below(400_000);
        let numbers = numbers(algorithm, random.below(2) + 4, (random.below(2) + 2) * 1_000_000);
        let (who, cost) = (key(random.below(3)), random.below(6));
        let charged_at = (random.below(2) == 0).then(|| at(now_us - random.below(now_us.min(900_000) + 1)));
        let call = random.below(4);
        let answers = [&mut swept, &mut kept].map(|engine| {
            let id = engine.intern("", numbers).unwrap();
            let answer = match call {
                0 => format!("{:?}", engine.take(at(now_us), who, id, cost, 1)),
                1 => format!("{:?}", engine.refund(at(now_us), who, id, cost, charged_at)),
                _ => format!("{:?}", engine.check(at(now_us), who, id, Ask::new(cost))),
            };
            engine.release(id);
            answer
        });
        assert_eq!(answers[0], answers[1]);
        swept.expire(at(now_us), usize::MAX);
    }
}

#[test]
fn no_decision_depends_on_the_sweep() {
    for algorithm in BUDGETS {
        (0..20).for_each(|seed| check_sweep(algorithm, seed));
    }
}

#[test]
fn a_whole_counter_is_forgotten_within_a_second_and_its_limit_with_it() {
    for algorithm in BUDGETS {
        let (mut engine, id) = engine_with(numbers(algorithm, 5, 3_000_000));
        for n in 0..1_000 {
            engine.check(at(0), key(n), id, Ask::new(5)).unwrap();
        }
        engine.release(id);
        let whole_us = engine.expire(at(0), 0) as u64 + 6_000_000;
        assert_eq!((engine.keys(), engine.limits()), (1_000, 1));
        engine.expire(at(whole_us + 1_000_000), usize::MAX);
        assert_eq!((engine.keys(), engine.limits(), engine.expiry_lag_us()), (0, 0, 0), "{algorithm:?}");
        assert_eq!(engine.side.heap_bytes, 0);
    }
}

#[test]
fn a_counter_that_is_used_again_stays() {
    let (mut engine, id) = engine_with(numbers(Algorithm::TokenBucket, 2, 2_000_000));
    for second in 0..10 {
        engine.check(at(second * 1_000_000), key(1), id, Ask::new(1)).unwrap();
        engine.expire(at(second * 1_000_000), usize::MAX);
        assert_eq!(engine.keys(), 1);
    }
}

#[test]
fn an_instant_that_moves_forward_is_heeded() {
    let (mut engine, id) = engine_with(numbers(Algorithm::TokenBucket, 10, 100_000_000));
    engine.check(at(0), key(1), id, Ask::new(10)).unwrap();
    engine.refund(at(0), key(1), id, 9, None);
    engine.expire(at(11_000_000), usize::MAX);
    assert_eq!(engine.keys(), 0);
}

#[test]
fn a_sweep_looks_at_no_more_than_its_share() {
    let (mut engine, id) = engine_with(numbers(Algorithm::TokenBucket, 1, 1_000_000));
    for n in 0..10_000 {
        engine.check(at(0), key(n), id, Ask::new(1)).unwrap();
    }
    let later = at(5_000_000);
    for left in (0..10_000).step_by(100).rev() {
        assert_eq!(engine.expire(later, 100), 100);
        assert_eq!(engine.keys(), left);
        assert_eq!(engine.expiry_lag_us() > 0, left > 0);
    }
}

#[test]
fn a_live_counter_is_never_dropped_and_fresh_ones_make_room() {
    let bounds = Bounds { rule_keys_max: 3, ..Bounds::default() };
    let (mut engine, id) = bounded(numbers(Algorithm::TokenBucket, 1, 1_000_000), bounds);
    for n in 0..3 {
        assert!(engine.check(at(n), key(n), id, Ask::new(1)).unwrap().allowed);
    }
    assert_eq!(engine.check(at(10), key(9), id, Ask::new(1)), Err(Full));
    assert_eq!(engine.take(at(10), key(9), id, 1, 0), Err(Full));
    assert!(engine.check(at(10), key(9), id, Ask::PEEK).unwrap().allowed);
    assert!(!engine.check(at(10), key(9), id, Ask::new(2)).unwrap().allowed);
    assert!(!engine.check(at(10), key(1), id, Ask::new(1)).unwrap().allowed);
    let other = engine.intern("other", numbers(Algorithm::TokenBucket, 1, 1_000_000)).unwrap();
    assert!(engine.check(at(10), key(8), other, Ask::new(1)).unwrap().allowed);
    assert!(engine.check(at(1_200_000), key(9), id, Ask::new(1)).unwrap().allowed);
    let counts = engine.rule_counts().find(|counts| counts.rule == "rule").unwrap();
    assert_eq!((counts.allowed, counts.denied, counts.full), (4, 2, 2));
}

#[test]
fn the_byte_cap_holds_and_what_counts_goes_on_counting() {
    for algorithm in [Algorithm::TokenBucket, Algorithm::SlidingLog] {
        let bounds = Bounds { rule_keys_max: usize::MAX, ..Bounds::of_bytes(4 << 20) };
        let (mut engine, id) = bounded(numbers(algorithm, 2, 3_600_000_000), bounds);
        let full = (0..200_000).find(|&n| engine.check(at(0), key(n), id, Ask::new(1)).is_err()).unwrap();
        assert!((3 << 20..=4 << 20).contains(&engine.bytes()), "{algorithm:?}: {} bytes", engine.bytes());
        assert!(engine.check(at(0), key(0), id, Ask::new(1)).unwrap().allowed);
        assert!(engine.reset(at(0), key(0)));
        assert!(engine.check(at(0), key(full), id, Ask::new(1)).unwrap().allowed);
    }
}

#[test]
fn a_log_that_finds_no_room_is_as_it_was() {
    let bounds = Bounds::of_bytes(900_000);
    let (mut engine, id) = bounded(numbers(Algorithm::SlidingLog, 100_000, PERIOD_US_MAX), bounds);
    let mut now_us = 0;
    let mut admitted = 0;
    while engine.check(at(now_us), key(admitted % 3), id, Ask::new(1)).is_ok() {
        (now_us, admitted) = (now_us + 100_000, admitted + 1);
    }
    let before = engine.check(at(now_us), key(admitted % 3), id, Ask::PEEK).unwrap();
    assert_eq!(engine.check(at(now_us), key(admitted % 3), id, Ask::new(1)), Err(Full));
    assert_eq!(engine.check(at(now_us), key(admitted % 3), id, Ask::PEEK), Ok(before));
    assert!(before.remaining < 100_000);
}

#[test]
fn a_joint_check_charges_all_or_none() {
    for algorithm in BUDGETS {
        let (mut engine, id) = engine_with(numbers(algorithm, 5, 1_000_000));
        let part = |n, cost| Part { identity: key(n), limit: id, ask: Ask::new(cost) };
        let mut decisions = Vec::new();
        assert!(engine.check_all(at(0), &[part(1, 2), part(2, 3), part(1, 2)], &mut decisions).unwrap().allowed);
        assert_eq!(decisions.iter().map(|decision| decision.remaining).collect::<Vec<_>>(), [3, 2, 1]);
        assert!(!engine.check_all(at(0), &[part(3, 2), part(1, 2), part(2, 1)], &mut decisions).unwrap().allowed);
        assert_eq!(decisions.iter().map(|decision| decision.remaining).collect::<Vec<_>>(), [5, 1, 2]);
        assert_eq!(engine.keys(), 2, "{algorithm:?}");
    }
}

#[test]
fn a_joint_check_without_room_charges_none() {
    let bounds = Bounds { rule_keys_max: 2, ..Bounds::default() };
    let (mut engine, id) = bounded(numbers(Algorithm::SlidingLog, 5, 1_000_000), bounds);
    let part = |n| Part { identity: key(n), limit: id, ask: Ask::new(1) };
    let mut decisions = Vec::new();
    engine.check_all(at(0), &[part(1)], &mut decisions).unwrap();
    assert_eq!(engine.check_all(at(0), &[part(1), part(2), part(3)], &mut decisions), Err(JointError::Full(Full)));
    assert_eq!(engine.check(at(0), key(1), id, Ask::PEEK).unwrap().remaining, 4);
    assert_eq!(engine.keys(), 1);
}

#[test]
fn a_rule_near_its_quota_has_room_beside_another_rules_new_keys() {
    let bounds = Bounds { rule_keys_max: 2, ..Bounds::default() };
    let (mut engine, id) = bounded(numbers(Algorithm::TokenBucket, 5, 1_000_000), bounds);
    let other = engine.intern("other", numbers(Algorithm::FixedWindow, 5, 1_000_000)).unwrap();
    let part = |n, limit| Part { identity: key(n), limit, ask: Ask::new(1) };
    let mut decisions = Vec::new();
    engine.check_all(at(0), &[part(1, id)], &mut decisions).unwrap();
    assert!(engine.check_all(at(0), &[part(2, id), part(3, other), part(4, other)], &mut decisions).unwrap().allowed);
    let full = Err(JointError::Full(Full));
    assert_eq!(engine.check_all(at(0), &[part(1, id), part(5, other)], &mut decisions), full);
    assert_eq!(engine.keys(), 4);
}

#[test]
fn two_limits_for_one_key_are_refused() {
    let (mut engine, id) = engine_with(numbers(Algorithm::TokenBucket, 5, 1_000_000));
    let other = engine.intern("rule", numbers(Algorithm::TokenBucket, 6, 1_000_000)).unwrap();
    let part = |n, limit| Part { identity: key(n), limit, ask: Ask::new(1) };
    let parts = [part(1, id), part(2, other), part(1, other)];
    assert_eq!(engine.check_all(at(0), &parts, &mut Vec::new()), Err(JointError::TwoLimits { part: 2 }));
    assert_eq!(engine.keys(), 0);
}

#[test]
fn a_reservation_repeats_itself_until_it_is_settled_or_expires() {
    let (mut engine, id) = engine_with(numbers(Algorithm::FixedWindow, 10, 1_000_000_000));
    let name = Identity { placement: 0, identity: 77 };
    let first = engine.reserve(at(0), key(1), name, id, Ask::new(4), 1_000).unwrap();
    assert_eq!(engine.reserve(at(999), key(1), name, id, Ask::new(9), 1_000), Ok(first));
    assert_eq!(engine.settle(at(999), name, 6).unwrap().unwrap().remaining, 4);
    assert_eq!(engine.settle(at(999), name, 6), Ok(None));
    engine.reserve(at(999), key(1), name, id, Ask::new(1), 1_000).unwrap();
    assert_eq!(engine.settle(at(1_999), name, 0), Ok(None));
    assert_eq!(engine.check(at(1_999), key(1), id, Ask::PEEK).unwrap().remaining, 3);
}

#[test]
fn reservations_are_bounded_and_expired_ones_make_room() {
    let bounds = Bounds { reservations_max: 2, ..Bounds::default() };
    let (mut engine, id) = bounded(numbers(Algorithm::FixedWindow, 10, 1_000_000_000), bounds);
    let mut reserve = |now_us, n| engine.reserve(at(now_us), key(1), key(n), id, Ask::new(1), 100).is_ok();
    assert!(reserve(0, 1) && reserve(50, 2));
    assert!(!reserve(99, 3));
    assert!(reserve(100, 3));
    assert!(!reserve(100, 4));
}

#[test]
fn a_reservation_keeps_its_limit_alive() {
    let (mut engine, id) = engine_with(numbers(Algorithm::TokenBucket, 10, 1_000));
    engine.reserve(at(0), key(1), key(2), id, Ask::new(1), 100_000_000).unwrap();
    engine.release(id);
    engine.expire(at(10_000_000), usize::MAX);
    assert_eq!((engine.keys(), engine.limits()), (0, 1));
    assert_eq!(engine.settle(at(10_000_000), key(2), 3).unwrap().unwrap().remaining, 8);
    engine.expire(at(20_000_000), usize::MAX);
    assert_eq!((engine.keys(), engine.limits()), (0, 0));
}

#[test]
fn slots_are_forgotten_when_the_last_holder_is_gone() {
    let (mut engine, id) = engine_with(numbers(Algorithm::Concurrency, 2, 1));
    assert!(engine.acquire(at(0), key(1), 1, id, 1, 5_000_000).unwrap().allowed);
    assert!(engine.acquire(at(0), key(1), 2, id, 1, 9_000_000).unwrap().allowed);
    engine.expire(at(6_000_000), usize::MAX);
    assert_eq!(engine.keys(), 1);
    assert!(!engine.release_slot(at(6_000_000), key(1), 1).released);
    assert_eq!(engine.release_slot(at(6_000_000), key(1), 2).in_use, 0);
    assert_eq!((engine.keys(), engine.side.heap_bytes), (0, 0));
    assert!(engine.acquire(at(6_000_000), key(1), 1, id, 1, 1_000_000).unwrap().allowed);
    engine.expire(at(8_000_000), usize::MAX);
    assert_eq!((engine.keys(), engine.side.heap_bytes), (0, 0));
}

#[test]
fn a_reset_key_has_its_whole_budget_again() {
    for algorithm in BUDGETS {
        let (mut engine, id) = engine_with(numbers(algorithm, 5, 1_000_000));
        assert!(!engine.reset(at(0), key(1)));
        engine.check(at(0), key(1), id, Ask::new(5)).unwrap();
        assert!(engine.reset(at(0), key(1)));
        assert_eq!(engine.check(at(0), key(1), id, Ask::PEEK).unwrap().remaining, 5);
        assert_eq!((engine.keys(), engine.side.heap_bytes), (0, 0));
    }
}

#[test]
fn the_corners_of_every_range_are_decided_without_overflow() {
    let periods = [Period::Micros(1), Period::Micros(PERIOD_US_MAX), Period::Calendar(Calendar::Month)];
    let instants = [Timestamp::EPOCH, at(0), Timestamp::MAX];
    for algorithm in BUDGETS {
        let fits = |period: &&Period| matches!(period, Period::Micros(_)) || algorithm == Algorithm::FixedWindow;
        let limits: Vec<Limit> = periods
            .iter()
            .filter(fits)
            .flat_map(|&period| [1, algorithm.limit_max()].map(|limit| (limit, period)))
            .flat_map(|(limit, period)| {
                let bursts = if algorithm.has_burst() { vec![None, Some(1), Some(UNITS_MAX)] } else { vec![None] };
                bursts.into_iter().map(move |burst| Limit::new(algorithm, limit, period, burst).unwrap())
            })
            .collect();
        let mut engine = Engine::new(Bounds::default());
        let ids: Vec<LimitId> = limits.iter().map(|&limit| engine.intern("", limit).unwrap()).collect();
        let mut random = Random(3);
        for now in instants {
            for _ in 0..3_000 {
                let id = ids[random.below(ids.len() as u64) as usize];
                let cost = [0, 1, 100_000, UNITS_MAX][random.below(4) as usize];
                let (who, force) = (key(random.below(2)), random.below(2) == 0);
                match random.below(4) {
                    0 => drop(engine.refund(now, who, id, cost, Some(instants[random.below(3) as usize]))),
                    1 if cost > 0 => {
                        engine.reserve(now, who, key(9), id, Ask { cost, keep: 0, force }, 1_000).unwrap();
                        engine.settle(now, key(9), UNITS_MAX).unwrap();
                    }
                    _ => drop(engine.check(now, who, id, Ask { cost, keep: cost, force }).unwrap()),
                }
            }
            engine.expire(now, 3);
        }
    }
}

#[test]
fn a_reset_key_is_not_given_back_what_it_reserved_before() {
    let (mut engine, limit) = engine_with(numbers(Algorithm::FixedWindow, 10, 1_000_000));
    let [who, other, name, others] = [7, 8, 9, 10].map(key); // all of one placement
    engine.reserve(at(0), who, name, limit, Ask::new(6), 100).unwrap();
    engine.reserve(at(0), other, others, limit, Ask::new(6), 100).unwrap();
    assert!(engine.reset(at(0), who));
    assert_eq!(engine.check(at(0), who, limit, Ask::new(9)).unwrap().remaining, 1);
    assert_eq!(engine.settle(at(0), name, 0).unwrap(), None);
    assert_eq!(engine.check(at(0), who, limit, Ask::PEEK).unwrap().remaining, 1);
    assert!(engine.settle(at(0), others, 0).unwrap().is_some(), "another key's reservation stays");
}

#[test]
fn a_repeated_reserve_was_charged_when_it_was_first_made() {
    let (mut engine, limit) = engine_with(numbers(Algorithm::TokenBucket, 10, 100));
    for now in [at(5), at(20)] {
        engine.reserve(now, key(7), key(8), limit, Ask::new(1), 50).unwrap();
        assert_eq!(engine.reserved_at(now, key(8)), Some(at(5)));
    }
    assert_eq!(engine.reserved_at(at(55), key(8)), None);
}

#[test]
fn a_spray_of_keys_neither_frees_an_exhausted_one_nor_starves_another_rule() {
    const SPRAYED: u64 = 1_000_000;
    let hour = |limit| numbers(Algorithm::TokenBucket, limit, 3_600_000_000);
    let (mut engine, guarded) = bounded(hour(1), Bounds::of_bytes(8 << 20));
    assert!(engine.check(at(0), key(SPRAYED), guarded, Ask::new(1)).unwrap().allowed);
    let sprayed = engine.intern("sprayed", hour(5)).unwrap();
    let admitted = (0..SPRAYED).filter(|&n| engine.check(at(n), key(n), sprayed, Ask::new(1)).is_ok()).count();
    assert_eq!(admitted, Bounds::of_bytes(8 << 20).rule_keys_max);
    assert!(!engine.check(at(SPRAYED), key(SPRAYED), guarded, Ask::new(1)).unwrap().allowed);
    for n in SPRAYED + 1..SPRAYED + 1_000 {
        assert!(engine.check(at(SPRAYED), key(n), guarded, Ask::new(1)).unwrap().allowed);
    }
    assert!(engine.bytes() <= 8 << 20);
}

/// Calls of a client that asks again and again, faster than its rate. An optimised build makes a hundred million.
const GREEDY_CALLS: u64 = if cfg!(debug_assertions) { 300_000 } else { 100_000_000 };

/// Asks for one unit every `step_us` from the start of a window on, and says how many of the calls were allowed.
fn admitted_greedily(limit: Limit, window_us: u64, step_us: u64) -> u64 {
    let (mut engine, id) = engine_with(limit);
    let start = Timestamp::from_micros(NOW_US - NOW_US % window_us);
    let at = |call: u64| Timestamp::from_micros(start.as_micros() + call * step_us);
    (0..GREEDY_CALLS).filter(|&call| engine.check(at(call), key(1), id, Ask::new(1)).unwrap().allowed).count() as u64
}

#[test]
fn a_rate_does_not_drift() {
    const PERIOD_US: u64 = 1_000_003; // a prime: no step falls on its fractions
    let passed_us = (GREEDY_CALLS - 1) * 7;
    let refilled = |burst| burst + passed_us * 1_237 / PERIOD_US;
    for algorithm in [Algorithm::TokenBucket, Algorithm::LeakyBucket] {
        let limit = Limit::new(algorithm, 1_237, Period::Micros(PERIOD_US), Some(11)).unwrap();
        assert_eq!(admitted_greedily(limit, PERIOD_US, 7), refilled(11), "{algorithm:?}");
    }
    // Cut where a step falls, so that a log's oldest unit leaves just when it is asked again.
    const WINDOW_US: u64 = 1_000_006;
    let (windows, rest_us) = (passed_us / WINDOW_US, passed_us % WINDOW_US);
    for algorithm in [Algorithm::FixedWindow, Algorithm::SlidingLog] {
        let admitted = admitted_greedily(numbers(algorithm, 1_237, WINDOW_US), WINDOW_US, 7);
        assert_eq!(admitted, windows * 1_237 + 1_237.min(rest_us / 7 + 1), "{algorithm:?}");
    }
}
