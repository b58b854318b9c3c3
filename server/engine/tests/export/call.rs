//! A random call on a few keys, and its answer in a form that two engines can be compared by.

use proptest::prelude::*;
use tallyring_engine::*;

pub(crate) const KEYS: u64 = 4;

/// The arc of the ring that a key lies on: behind the first number, through the second.
pub(crate) fn arc(key: u64) -> (u64, u64) {
    (placement(key) - 1, placement(key))
}

/// A name on a key's place; `no` tells a key's counters and reservations apart.
pub(crate) fn name(key: u64, no: u64) -> Identity {
    Identity { placement: placement(key), identity: (key + 1) * 1_000 + no }
}

fn placement(key: u64) -> u64 {
    (key + 1).wrapping_mul(u64::MAX / KEYS)
}

/// One of a few limits of each algorithm, some of them alike but for their rule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Under {
    pub(crate) algorithm: usize,
    pub(crate) no: usize,
}

impl Under {
    pub(crate) fn limit(self) -> (&'static str, Limit) {
        let algorithm = Algorithm::ALL[self.algorithm];
        let burst = |burst| algorithm.has_burst().then_some(burst);
        let calendar = if self.algorithm == 2 { Period::Calendar(Calendar::Day) } else { Period::Micros(2_500_000) };
        let (rule, limit, period, burst) = [
            ("one", 5, Period::Micros(1_000_000), None),
            ("two", 5, Period::Micros(1_000_000), None),
            ("one", 3, Period::Micros(700_001), burst(7)),
            ("two", 9, Period::Micros(11), None),
            ("", 20, calendar, burst(4)),
        ][self.no];
        (rule, Limit::new(algorithm, limit, period, burst).unwrap())
    }

    pub(crate) fn identity(self, key: u64) -> Identity {
        name(key, self.algorithm as u64)
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Call {
    Pass { us: u64 },
    Check { key: u64, under: Under, ask: Ask },
    CheckAll { key: u64, parts: Vec<(Under, Ask)> },
    Take { key: u64, under: Under, cost: u64, keep: u64 },
    Refund { key: u64, under: Under, cost: u64, ago_us: Option<u64> },
    Reserve { key: u64, id: u64, under: Under, cost: u64, ttl_us: u64 },
    Settle { key: u64, id: u64, actual: u64 },
    Acquire { key: u64, holder: u64, no: usize, cost: u64, ttl_us: u64 },
    Release { key: u64, holder: u64 },
    Reset { key: u64, algorithm: usize },
    Expire { key: u64 },
}

pub(crate) fn call() -> impl Strategy<Value = Call> {
    let key = || 0..KEYS;
    let under = || (0..5_usize, 0..5_usize).prop_map(|(algorithm, no)| Under { algorithm, no });
    let ask = || (0..4_u64, 0..2_u64, 0..8_u8).prop_map(|(cost, keep, force)| Ask { cost, keep, force: force == 0 });
    let us = || prop::sample::select(vec![0, 1, 7, 90_000, 650_000, 1_000_000, 4_000_000]);
    let id = || 100..103_u64;
    prop_oneof![
        4 => us().prop_map(|us| Call::Pass { us }),
        6 => (key(), under(), ask()).prop_map(|(key, under, ask)| Call::Check { key, under, ask }),
        2 => (key(), prop::collection::vec((under(), ask()), 1..4)).prop_map(|(key, parts)| Call::CheckAll { key, parts }),
        1 => (key(), under(), 0..4_u64, 0..2_u64).prop_map(|(key, under, cost, keep)| Call::Take { key, under, cost, keep }),
        2 => (key(), under(), 0..4_u64, prop::option::of(us()))
            .prop_map(|(key, under, cost, ago_us)| Call::Refund { key, under, cost, ago_us }),
        3 => (key(), id(), under(), 1..4_u64, us())
            .prop_map(|(key, id, under, cost, us)| Call::Reserve { key, id, under, cost, ttl_us: us + 1 }),
        2 => (key(), id(), 0..9_u64).prop_map(|(key, id, actual)| Call::Settle { key, id, actual }),
        3 => (key(), 0..3_u64, 0..5_usize, 1..4_u64, us())
            .prop_map(|(key, holder, no, cost, us)| Call::Acquire { key, holder, no, cost, ttl_us: us + 1 }),
        1 => (key(), 0..3_u64).prop_map(|(key, holder)| Call::Release { key, holder }),
        1 => (key(), 0..6_usize).prop_map(|(key, algorithm)| Call::Reset { key, algorithm }),
        1 => key().prop_map(|key| Call::Expire { key }),
    ]
}

impl Call {
    /// Whose engine decides; `None` for a call that is not about a key.
    pub(crate) fn key(&self) -> Option<u64> {
        match *self {
            Call::Pass { .. } => None,
            Call::Check { key, .. }
            | Call::CheckAll { key, .. }
            | Call::Take { key, .. }
            | Call::Refund { key, .. }
            | Call::Reserve { key, .. }
            | Call::Settle { key, .. }
            | Call::Acquire { key, .. }
            | Call::Release { key, .. }
            | Call::Reset { key, .. }
            | Call::Expire { key } => Some(key),
        }
    }

    /// Decides the call and writes the answer down.
    pub(crate) fn answer(&self, engine: &mut Engine, now: Timestamp) -> String {
        match self {
            Call::Pass { .. } => String::new(),
            Call::Check { key, under, ask } => with_limit(engine, *under, |engine, id| {
                format!("{:?}", engine.check(now, under.identity(*key), id, *ask))
            }),
            Call::CheckAll { key, parts } => check_all(engine, now, *key, parts),
            Call::Take { key, under, cost, keep } => with_limit(engine, *under, |engine, id| {
                format!("{:?}", engine.take(now, under.identity(*key), id, *cost, *keep))
            }),
            Call::Refund { key, under, cost, ago_us } => with_limit(engine, *under, |engine, id| {
                let at = ago_us.map(|ago_us| Timestamp::from_micros(now.as_micros() - ago_us));
                format!("{:?}", engine.refund(now, under.identity(*key), id, *cost, at))
            }),
            Call::Reserve { key, id, under, cost, ttl_us } => with_limit(engine, *under, |engine, limit| {
                let ask = Ask::new(*cost);
                format!("{:?}", engine.reserve(now, under.identity(*key), name(*key, *id), limit, ask, *ttl_us))
            }),
            Call::Settle { key, id, actual } => format!("{:?}", engine.settle(now, name(*key, *id), *actual)),
            Call::Acquire { key, holder, no, cost, ttl_us } => {
                let under = Under { algorithm: 5, no: *no };
                with_limit(engine, under, |engine, id| {
                    format!("{:?}", engine.acquire(now, under.identity(*key), *holder, id, *cost, *ttl_us))
                })
            }
            Call::Release { key, holder } => format!("{:?}", engine.release_slot(now, name(*key, 5), *holder)),
            Call::Reset { key, algorithm } => format!("{:?}", engine.reset(now, name(*key, *algorithm as u64))),
            // How many entries there are to forget depends on who has them.
            Call::Expire { .. } => {
                engine.expire(now, 3);
                String::new()
            }
        }
    }
}

fn check_all(engine: &mut Engine, now: Timestamp, key: u64, parts: &[(Under, Ask)]) -> String {
    let ids: Vec<LimitId> = parts.iter().map(|(under, _)| intern(engine, *under)).collect();
    let part = |(&(under, ask), &limit): (&(Under, Ask), &LimitId)| Part { identity: under.identity(key), limit, ask };
    let parts: Vec<Part> = parts.iter().zip(&ids).map(part).collect();
    let mut decisions = Vec::new();
    let joint = engine.check_all(now, &parts, &mut decisions);
    ids.into_iter().for_each(|id| engine.release(id));
    format!("{joint:?} {decisions:?}")
}

fn with_limit(engine: &mut Engine, under: Under, decide: impl FnOnce(&mut Engine, LimitId) -> String) -> String {
    let id = intern(engine, under);
    let answer = decide(engine, id);
    engine.release(id);
    answer
}

fn intern(engine: &mut Engine, under: Under) -> LimitId {
    let (rule, limit) = under.limit();
    engine.intern(rule, limit).unwrap()
}
