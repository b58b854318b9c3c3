//! How plans are drawn: many steps on few keys, numbers small and at the bounds, clocks that aim at edges.

use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::plan::{Amount, Ask, Call, Charged, Clock, Limit, Part, Plan, Spoil, Step, Window};

/// Algorithms that the engine and the model are compared on.
pub(crate) const ALGORITHMS: &[&str] =
    &["token_bucket", "gcra", "leaky_bucket", "fixed_window", "sliding_log", "sliding_counter"];

/// The longest plan.
const STEPS_MAX: usize = 60;

/// The length of a long plan.
const LONG_STEPS: usize = 1_000;

/// The longest short plan.
const SHORT_STEPS_MAX: usize = 12;

/// The holders of a plan that is not long.
const HOLDERS: u8 = 5;

const DAY_US: u64 = 86_400_000_000;
const SPAN_US_MAX: u64 = 400 * DAY_US;
const T_US_MAX: u64 = (1 << 53) - 1;
const UNITS_MAX: u64 = 1_000_000_000_000;
const LOG_LIMIT_MAX: u64 = 100_000;
const CHECKS_MAX: usize = 16;

/// Every field of an event, and one that is none.
const FIELDS: &str = "op t_us key id holder algorithm limit calendar period_us burst cost charged_at_us keep force ttl_us \
     actual checks unheard_of";

/// Values at and beyond every bound, as JSON text.
const VALUES: &str = r#"null true false -1 0 1 5.0 0.5 1e3 "1" "" [] {} [7] "day" "gcra" "fixed_window" "take" "settle"
    100001 1000000000000 1000000000001 86400000001 34560000000000 34560000000001 9007199254740992
    18446744073709551616 -9223372036854775809"#;

/// Lines that are no events, and the one that is skipped.
const LINES: &[&str] =
    &["", "[]", "{}", "null", "7", r#""x""#, "{", "nul", r#"{"t_us":1"#, r#"{"t_us":01}"#, r#"{"op":7}"#, "{} {}"];

/// Any plan over `algorithms`.
pub(crate) fn plan(algorithms: &'static [&'static str]) -> impl Strategy<Value = Plan> {
    plan_of(limits(algorithms, 3).boxed(), any_ask().boxed(), STEPS_MAX)
}

/// A long plan: logs of many entries, tables of many keys, clocks that move little.
pub(crate) fn long_plan(algorithms: &'static [&'static str], keys: u8) -> impl Strategy<Value = Plan> {
    let limits = prop::collection::vec(limit(algorithms.to_vec(), crowded()), 1..=2);
    let key = (0..keys).boxed();
    let ask = prop_oneof![4 => call(key.clone()).prop_map(Ask::Check), 1 => valid_ask(&key)];
    long_plan_of(limits.boxed(), ask.boxed())
}

/// A long plan of nothing but slots.
pub(crate) fn long_slots_plan() -> impl Strategy<Value = Plan> {
    long_plan_of(limits(ALGORITHMS, 1).boxed(), slots(250))
}

/// A plan of few valid calls on one key, for tests that replay it over and over.
pub(crate) fn short_plan(algorithms: &'static [&'static str]) -> impl Strategy<Value = Plan> {
    plan_of(limits(algorithms, 2).boxed(), valid_ask(&Just(0).boxed()), SHORT_STEPS_MAX)
}

/// A plan of nothing but slots.
pub(crate) fn slots_plan() -> impl Strategy<Value = Plan> {
    let ask = prop_oneof![12 => slots(HOLDERS), 1 => spoilt(slots(HOLDERS))];
    plan_of(limits(ALGORITHMS, 1).boxed(), ask.boxed(), STEPS_MAX)
}

/// A short plan of valid calls for slots.
pub(crate) fn short_slots_plan() -> impl Strategy<Value = Plan> {
    plan_of(limits(ALGORITHMS, 1).boxed(), slots(HOLDERS), SHORT_STEPS_MAX)
}

fn plan_of(
    limits: BoxedStrategy<Vec<Limit>>,
    ask: BoxedStrategy<Ask>,
    steps_max: usize,
) -> impl Strategy<Value = Plan> {
    let steps = prop::collection::vec((clock(), ask).prop_map(|(clock, ask)| Step { clock, ask }), 1..=steps_max);
    (start(), limits, steps).prop_map(|(start_us, limits, steps)| Plan { start_us, limits, steps })
}

fn long_plan_of(limits: BoxedStrategy<Vec<Limit>>, ask: BoxedStrategy<Ask>) -> impl Strategy<Value = Plan> {
    let clock = prop_oneof![2 => Just(Clock::Stays), 3 => (1..=3u64).prop_map(|us| Clock::Ticks { us })];
    let steps = prop::collection::vec((clock, ask).prop_map(|(clock, ask)| Step { clock, ask }), LONG_STEPS);
    (start(), limits, steps).prop_map(|(start_us, limits, steps)| Plan { start_us, limits, steps })
}

fn start() -> impl Strategy<Value = u64> {
    prop_oneof![
        1_700_000_000_000_000..1_700_000_000_001_000u64,
        0..50u64,
        Just(T_US_MAX - 2 * SPAN_US_MAX),
        T_US_MAX - 100..=T_US_MAX,
        0..=T_US_MAX,
    ]
}

/// Limits of like numbers and at most two algorithms, so that the steps meet each other's state.
fn limits(algorithms: &'static [&'static str], count_max: usize) -> impl Strategy<Value = Vec<Limit>> {
    let scale = prop_oneof![3 => Just(tiny()), 2 => Just(typical()), 2 => Just(extreme())];
    (select(algorithms), select(algorithms), scale).prop_flat_map(move |(most, some, numbers)| {
        prop::collection::vec(limit(vec![most, most, some], numbers), 1..=count_max)
    })
}

fn limit(algorithms: Vec<&'static str>, numbers: BoxedStrategy<Numbers>) -> impl Strategy<Value = Limit> {
    (select(algorithms), numbers, calendar()).prop_map(|(algorithm, (limit, period_us, burst), calendar)| Limit {
        algorithm,
        limit: if algorithm == "sliding_log" { limit.min(LOG_LIMIT_MAX) } else { limit },
        window: match calendar {
            Some(name) if algorithm == "fixed_window" => Window::Calendar(name),
            _ => Window::PeriodUs(period_us),
        },
        burst: burst.filter(|_| algorithm.ends_with("bucket") || algorithm == "gcra"),
    })
}

type Numbers = (u64, u64, Option<u64>);

fn tiny() -> BoxedStrategy<Numbers> {
    (1..=12u64, 1..=60u64, prop::option::of(1..=14u64)).boxed()
}

fn typical() -> BoxedStrategy<Numbers> {
    let units = || select(vec![1, 3, 5, 60, 100, 1_000, 40_000, 1_000_000]);
    let period_us = select(vec![1, 999, 250_000, 1_000_000, 7_000_001, 60_000_000, 3_600_000_000, DAY_US]);
    (units(), period_us, prop::option::of(units())).boxed()
}

fn extreme() -> BoxedStrategy<Numbers> {
    let units = || select(vec![1, 2, 99_999, 100_000, 999_999_937, 999_999_999_989, UNITS_MAX - 1, UNITS_MAX]);
    let period_us = select(vec![1, 2, 999_999_937, SPAN_US_MAX - 1_000_001, SPAN_US_MAX - 1, SPAN_US_MAX]);
    (units(), period_us, prop::option::of(units())).boxed()
}

/// Limits that hundreds of calls fit in.
fn crowded() -> BoxedStrategy<Numbers> {
    (100..=10_000u64, 100..=1_000u64, prop::option::of(100..=10_000u64)).boxed()
}

fn calendar() -> impl Strategy<Value = Option<&'static str>> {
    prop_oneof![4 => Just(None), 1 => select(vec!["day", "week", "month"]).prop_map(Some)]
}

fn clock() -> impl Strategy<Value = Clock> {
    prop_oneof![
        6 => Just(Clock::Stays),
        4 => (1..=30u64).prop_map(|us| Clock::Ticks { us }),
        3 => (1..=60u64).prop_map(|percent| Clock::Passes { percent }),
        1 => (60..=1_000u64).prop_map(|percent| Clock::Passes { percent }),
        1 => (1..=30u64).prop_map(|us| Clock::StepsBack { us }),
        1 => (1..=250u64).prop_map(|percent| Clock::JumpsBack { percent }),
        3 => (-1..=1i64).prop_map(|offset_us| Clock::ToRetry { offset_us }),
        3 => (-1..=1i64).prop_map(|offset_us| Clock::ToReset { offset_us }),
    ]
}

fn any_ask() -> impl Strategy<Value = Ask> {
    let key = || prop_oneof![5 => Just(0), 1 => Just(1)].boxed();
    prop_oneof![40 => valid_ask(&key()), 3 => spoilt(valid_ask(&key())), 1 => select(LINES).prop_map(Ask::Line)]
}

fn valid_ask(key: &BoxedStrategy<u8>) -> BoxedStrategy<Ask> {
    let call = || call(key.clone());
    let id = || prop_oneof![4 => Just(0), 1 => Just(1), 1 => Just(2)];
    prop_oneof![
        10 => call().prop_map(Ask::Check),
        2 => call().prop_map(Ask::Take),
        3 => (call(), charged()).prop_map(|(call, charged)| Ask::Refund { call, charged }),
        3 => (call(), id(), reservation_ttl()).prop_map(|(call, id, ttl_us)| Ask::Reserve { call, id, ttl_us }),
        3 => (call(), id(), amount()).prop_map(|(call, id, actual)| Ask::Settle { call, id, actual }),
        3 => parts(call().boxed()).prop_map(Ask::CheckAll),
    ]
    .boxed()
}

/// Mostly few, seldom as many as can be, or one too many.
fn parts(call: BoxedStrategy<Call>) -> impl Strategy<Value = Vec<Part>> {
    let few = prop::collection::vec(part(call.clone()), 1..=4);
    let many = prop::collection::vec(part(call), CHECKS_MAX..=CHECKS_MAX + 1);
    prop_oneof![20 => few, 1 => many]
}

fn part(call: BoxedStrategy<Call>) -> impl Strategy<Value = Part> {
    (call, prop::option::weighted(0.02, spoil())).prop_map(|(call, spoil)| Part { call, spoil })
}

fn call(key: BoxedStrategy<u8>) -> impl Strategy<Value = Call> {
    let cost = prop::option::weighted(0.8, amount());
    let keep = prop::option::weighted(0.1, amount());
    let force = prop::option::weighted(0.1, prop::bool::weighted(0.8));
    let call = (key, any::<Index>(), cost, keep, force);
    call.prop_map(|(key, limit, cost, keep, force)| Call { key, limit, cost, keep, force })
}

fn amount() -> impl Strategy<Value = Amount> {
    prop_oneof![
        3 => Just(Amount::Units(0)),
        12 => (1..=5u64).prop_map(Amount::Units),
        12 => (1..=100u64).prop_map(Amount::Percent),
        2 => Just(Amount::Percent(100)),
        1 => (101..=200u64).prop_map(Amount::Percent),
        1 => select(vec![UNITS_MAX - 1, UNITS_MAX]).prop_map(Amount::Units),
    ]
}

fn charged() -> impl Strategy<Value = Charged> {
    prop_oneof![
        2 => Just(Charged::Unsaid),
        4 => any::<Index>().prop_map(Charged::AtStep),
        1 => (0..=250u64).prop_map(|percent| Charged::Earlier { percent }),
        1 => (0..=250u64).prop_map(|percent| Charged::Later { percent }),
    ]
}

fn reservation_ttl() -> impl Strategy<Value = u64> {
    prop_oneof![1 => 1..=60u64, 2 => 1..=DAY_US, 2 => Just(DAY_US)]
}

fn slots(holders: u8) -> BoxedStrategy<Ask> {
    let cost = prop_oneof![1 => Just(None), 6 => (1..=5u64).prop_map(Some), 1 => Just(Some(UNITS_MAX))];
    let limit = prop_oneof![6 => 1..=2 * u64::from(holders), 1 => Just(UNITS_MAX), 1 => Just(UNITS_MAX - 1)];
    let ttl_us = prop_oneof![6 => 1..=12 * u64::from(holders), 1 => 1..=SPAN_US_MAX, 1 => Just(SPAN_US_MAX)];
    let acquire = (0..2u8, 0..holders, cost, limit, ttl_us);
    prop_oneof![
        3 => acquire.prop_map(|(key, holder, cost, limit, ttl_us)| Ask::Acquire { key, holder, cost, limit, ttl_us }),
        1 => (0..2u8, 0..holders).prop_map(|(key, holder)| Ask::Release { key, holder }),
    ]
    .boxed()
}

fn spoilt(ask: BoxedStrategy<Ask>) -> impl Strategy<Value = Ask> {
    (ask, spoil()).prop_map(|(ask, spoil)| Ask::Spoilt { ask: Box::new(ask), spoil })
}

fn spoil() -> impl Strategy<Value = Spoil> {
    let fields: Vec<&str> = FIELDS.split_whitespace().collect();
    (select(fields), value()).prop_map(|(field, value)| Spoil { field, value })
}

fn value() -> impl Strategy<Value = String> {
    let values: Vec<&str> = VALUES.split_whitespace().collect();
    prop_oneof![
        8 => select(values).prop_map(str::to_owned),
        1 => select(vec![128, 129, 512, 513]).prop_map(|bytes| format!("\"{}\"", "x".repeat(bytes))),
        1 => select(vec![64, 65, 256, 257]).prop_map(|letters| format!("\"{}\"", "é".repeat(letters))),
    ]
}
