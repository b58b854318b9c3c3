//! Plans of traces: what proptest draws and shrinks. Times and charges are relative, so that a shorter plan still aims
//! at the edges that its own decisions announce.

use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Algorithms that the engine and the model are compared on.
pub(crate) const ALGORITHMS: &[&str] =
    &["token_bucket", "gcra", "leaky_bucket", "fixed_window", "sliding_log", "sliding_counter"];

/// The longest plan.
const STEPS_MAX: usize = 60;

/// The longest short plan.
const SHORT_STEPS_MAX: usize = 12;

const DAY_US: u64 = 86_400_000_000;
const SPAN_US_MAX: u64 = 400 * DAY_US;
const T_US_MAX: u64 = (1 << 53) - 1;
const UNITS_MAX: u64 = 1_000_000_000_000;
const LOG_LIMIT_MAX: u64 = 100_000;

/// A trace to be: where its clock starts, the limits that its steps choose from, the steps.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) start_us: u64,
    pub(crate) limits: Vec<Limit>,
    pub(crate) steps: Vec<Step>,
}

/// The numbers of a limit.
#[derive(Clone, Debug)]
pub(crate) struct Limit {
    pub(crate) algorithm: &'static str,
    pub(crate) limit: u64,
    pub(crate) window: Window,
    pub(crate) burst: Option<u64>,
}

/// The window of a limit.
#[derive(Clone, Debug)]
pub(crate) enum Window {
    PeriodUs(u64),
    Calendar(&'static str),
}

/// One event: the clock moves, then something is asked.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) clock: Clock,
    pub(crate) ask: Ask,
}

/// How the clock moves before an event.
#[derive(Clone, Debug)]
pub(crate) enum Clock {
    Stays,
    Ticks {
        us: u64,
    },
    /// A share of the window of the step's limit.
    Passes {
        percent: u64,
    },
    StepsBack {
        us: u64,
    },
    JumpsBack {
        percent: u64,
    },
    /// The moment at which the last decision said the call would pass, or a microsecond off.
    ToRetry {
        offset_us: i64,
    },
    /// The moment at which the last decision said all would be free, or a microsecond off.
    ToReset {
        offset_us: i64,
    },
}

/// What an event asks for.
#[derive(Clone, Debug)]
pub(crate) enum Ask {
    Check(Call),
    Take(Call),
    Refund {
        call: Call,
        charged: Charged,
    },
    Reserve {
        call: Call,
        id: u8,
        ttl_us: u64,
    },
    Settle {
        call: Call,
        id: u8,
        actual: Amount,
    },
    CheckAll(Vec<Part>),
    Acquire {
        key: u8,
        holder: u8,
        cost: Option<u64>,
        limit: u64,
        ttl_us: u64,
    },
    Release {
        key: u8,
        holder: u8,
    },
    /// An event with a field too many, or one said twice: often a bad one.
    Spoilt {
        ask: Box<Ask>,
        spoil: Spoil,
    },
    /// A line that need not be an event at all.
    Line(&'static str),
}

/// A key under one of the plan's limits, and how much of it.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) key: u8,
    pub(crate) limit: Index,
    pub(crate) cost: Option<Amount>,
    pub(crate) keep: Option<Amount>,
    pub(crate) force: Option<bool>,
}

/// A part of a `check_all`.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) call: Call,
    pub(crate) spoil: Option<Spoil>,
}

/// A field to be appended, the value as JSON text.
#[derive(Clone, Debug)]
pub(crate) struct Spoil {
    pub(crate) field: &'static str,
    pub(crate) value: String,
}

/// Units, outright or as a share of the limit's ceiling.
#[derive(Clone, Debug)]
pub(crate) enum Amount {
    Units(u64),
    Percent(u64),
}

/// When a refund says its units were charged.
#[derive(Clone, Debug)]
pub(crate) enum Charged {
    Unsaid,
    AtStep(Index),
    Earlier { percent: u64 },
    Later { percent: u64 },
}

/// Any plan over `algorithms`.
pub(crate) fn plan(algorithms: &'static [&'static str]) -> impl Strategy<Value = Plan> {
    plan_of(limits(algorithms, 3).boxed(), any_ask().boxed(), STEPS_MAX)
}

/// A plan of few valid calls on one key, for tests that replay it over and over.
pub(crate) fn short_plan(algorithms: &'static [&'static str]) -> impl Strategy<Value = Plan> {
    plan_of(limits(algorithms, 2).boxed(), valid_ask(Just(0).boxed()), SHORT_STEPS_MAX)
}

/// A plan of nothing but slots.
pub(crate) fn slots_plan() -> impl Strategy<Value = Plan> {
    let ask = prop_oneof![12 => slots(), 1 => spoilt(slots())];
    plan_of(limits(ALGORITHMS, 1).boxed(), ask.boxed(), STEPS_MAX)
}

/// A short plan of valid calls for slots.
pub(crate) fn short_slots_plan() -> impl Strategy<Value = Plan> {
    plan_of(limits(ALGORITHMS, 1).boxed(), slots(), SHORT_STEPS_MAX)
}

fn plan_of(
    limits: BoxedStrategy<Vec<Limit>>,
    ask: BoxedStrategy<Ask>,
    steps_max: usize,
) -> impl Strategy<Value = Plan> {
    let steps = prop::collection::vec((clock(), ask).prop_map(|(clock, ask)| Step { clock, ask }), 1..=steps_max);
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
    prop_oneof![40 => valid_ask(key()), 3 => spoilt(valid_ask(key())), 1 => lines()]
}

fn valid_ask(key: BoxedStrategy<u8>) -> BoxedStrategy<Ask> {
    let call = || call(key.clone());
    let id = || prop_oneof![4 => Just(0), 1 => Just(1), 1 => Just(2)];
    prop_oneof![
        10 => call().prop_map(Ask::Check),
        2 => call().prop_map(Ask::Take),
        3 => (call(), charged()).prop_map(|(call, charged)| Ask::Refund { call, charged }),
        3 => (call(), id(), reservation_ttl()).prop_map(|(call, id, ttl_us)| Ask::Reserve { call, id, ttl_us }),
        3 => (call(), id(), amount()).prop_map(|(call, id, actual)| Ask::Settle { call, id, actual }),
        3 => prop::collection::vec(part(call().boxed()), 1..=4).prop_map(Ask::CheckAll),
    ]
    .boxed()
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

fn slots() -> BoxedStrategy<Ask> {
    let cost = prop_oneof![1 => Just(None), 6 => (1..=5u64).prop_map(Some), 1 => Just(Some(UNITS_MAX))];
    let limit = prop_oneof![6 => 1..=9u64, 1 => Just(UNITS_MAX), 1 => Just(UNITS_MAX - 1)];
    let ttl_us = prop_oneof![6 => 1..=60u64, 1 => 1..=SPAN_US_MAX, 1 => Just(SPAN_US_MAX)];
    let acquire = (0..2u8, 0..5u8, cost, limit, ttl_us);
    prop_oneof![
        3 => acquire.prop_map(|(key, holder, cost, limit, ttl_us)| Ask::Acquire { key, holder, cost, limit, ttl_us }),
        1 => (0..2u8, 0..5u8).prop_map(|(key, holder)| Ask::Release { key, holder }),
    ]
    .boxed()
}

fn spoilt(ask: BoxedStrategy<Ask>) -> impl Strategy<Value = Ask> {
    (ask, spoil()).prop_map(|(ask, spoil)| Ask::Spoilt { ask: Box::new(ask), spoil })
}

fn spoil() -> impl Strategy<Value = Spoil> {
    let fields = vec![
        "op",
        "t_us",
        "key",
        "id",
        "holder",
        "algorithm",
        "limit",
        "calendar",
        "period_us",
        "burst",
        "cost",
        "charged_at_us",
        "keep",
        "force",
        "ttl_us",
        "actual",
        "checks",
        "unheard_of",
    ];
    (select(fields), value()).prop_map(|(field, value)| Spoil { field, value })
}

/// Values at and beyond every bound, as JSON text.
fn value() -> impl Strategy<Value = String> {
    let plain = vec![
        "null",
        "true",
        "false",
        "-1",
        "0",
        "1",
        "5.0",
        "0.5",
        "1e3",
        "\"1\"",
        "\"\"",
        "[]",
        "{}",
        "[7]",
        "\"day\"",
        "\"gcra\"",
        "\"fixed_window\"",
        "\"take\"",
        "\"settle\"",
        "100001",
        "1000000000000",
        "1000000000001",
        "86400000001",
        "34560000000000",
        "34560000000001",
        "9007199254740992",
        "18446744073709551616",
        "-9223372036854775809",
    ];
    prop_oneof![
        8 => select(plain).prop_map(str::to_owned),
        1 => select(vec![128, 129, 512, 513]).prop_map(|bytes| format!("\"{}\"", "x".repeat(bytes))),
        1 => select(vec![64, 65, 256, 257]).prop_map(|letters| format!("\"{}\"", "é".repeat(letters))),
    ]
}

fn lines() -> impl Strategy<Value = Ask> {
    let lines =
        vec!["", "[]", "{}", "null", "7", "\"x\"", "{", "nul", "{\"t_us\":1", "{\"t_us\":01}", "{\"op\":7}", "{} {}"];
    select(lines).prop_map(Ask::Line)
}
