//! Any bytes, read as operations: nothing panics or overflows, and an engine that is swept after every operation decides
//! as one that never is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tallyring_engine::{Algorithm, Ask, Bounds, Calendar, Engine, Identity, Limit, LimitId, Part, Period, Timestamp};

const DAY_US: u64 = 86_400_000_000;

/// Tiny, usual and extreme numbers of every algorithm.
fn limits() -> Vec<Limit> {
    let numbers = [
        (1, Period::Micros(1)),
        (3, Period::Micros(7)),
        (100, Period::Micros(60_000_000)),
        (100_000, Period::Micros(400 * DAY_US)),
        (1_000_000_000_000, Period::Micros(400 * DAY_US)),
        (999_999_999_989, Period::Micros(1)),
        (5, Period::Calendar(Calendar::Day)),
        (5, Period::Calendar(Calendar::Week)),
        (5, Period::Calendar(Calendar::Month)),
    ];
    let algorithms = [
        Algorithm::TokenBucket,
        Algorithm::LeakyBucket,
        Algorithm::FixedWindow,
        Algorithm::SlidingLog,
        Algorithm::SlidingCounter,
        Algorithm::Concurrency,
    ];
    let all = algorithms.into_iter().flat_map(|a| numbers.into_iter().map(move |(units, period)| (a, units, period)));
    all.filter_map(|(algorithm, units, period)| Limit::new(algorithm, units, period, None).ok()).collect()
}

/// Bytes as numbers; zeros when they are used up.
struct Source<'a>(&'a [u8]);

impl Source<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number below about `2^bits`, of any size: the first byte chooses how large.
    fn number(&mut self, bits: u32) -> u64 {
        let size = u32::from(self.byte()) % (bits + 1);
        let low = u64::from_le_bytes([self.byte(), self.byte(), 0, 0, 0, 0, 0, 0]);
        (low << size >> 16) & ((1 << bits) - 1)
    }

    fn units(&mut self) -> u64 {
        self.number(40).min(1_000_000_000_000)
    }
}

/// An engine and the ids of its limits.
struct Subject {
    engine: Engine,
    ids: Vec<LimitId>,
}

impl Subject {
    fn new(limits: &[Limit]) -> Subject {
        let mut engine = Engine::new(Bounds::default());
        let ids = limits.iter().map(|limit| engine.intern("", *limit).expect("a few limits have room")).collect();
        Subject { engine, ids }
    }

    fn sweep(&mut self, now: Timestamp) {
        while self.engine.expire(now, 64) == 64 {}
    }
}

/// One operation, on either engine.
#[derive(Clone, Copy, Debug)]
struct Step {
    op: u8,
    limit: usize,
    identity: Identity,
    name: Identity,
    ask: Ask,
    charged_at: Option<Timestamp>,
    ttl_us: u64,
    now: Timestamp,
}

/// What `step` answers, as text: whatever differs shows.
fn run(subject: &mut Subject, limits: &[Limit], step: &Step) -> String {
    let Step { op, limit, identity, name, ask, charged_at, ttl_us, now } = *step;
    let (engine, id) = (&mut subject.engine, subject.ids[limit]);
    if limits[limit].algorithm() == Algorithm::Concurrency {
        let cost = ask.cost.max(1);
        return match op % 3 {
            0 => format!("{:?}", engine.release_slot(now, identity, name.identity)),
            1 => format!("{:?}", engine.reset(now, identity)),
            _ => format!("{:?}", engine.acquire(now, identity, name.identity, id, cost, ttl_us)),
        };
    }
    match op % 8 {
        0 | 1 => format!("{:?}", engine.check(now, identity, id, ask)),
        2 => format!("{:?}", engine.take(now, identity, id, ask.cost, ask.keep)),
        3 => format!("{:?}", engine.refund(now, identity, id, ask.cost, charged_at)),
        4 => format!("{:?}", engine.reserve(now, identity, name, id, Ask { cost: ask.cost.max(1), ..ask }, ttl_us)),
        5 => format!("{:?}", engine.settle(now, name, ask.keep)),
        6 => format!("{:?}", engine.reset(now, identity)),
        _ => {
            let part = Part { identity, limit: id, ask };
            let other = Part { identity: Identity { placement: 9, ..identity }, ..part };
            let mut decisions = Vec::new();
            let joint = engine.check_all(now, &[part, other, part], &mut decisions);
            format!("{joint:?} {decisions:?}")
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let limits = limits();
    let (mut swept, mut unswept) = (Subject::new(&limits), Subject::new(&limits));
    let mut source = Source(bytes);
    let mut now_us = source.number(53);
    while !source.0.is_empty() {
        let op = source.byte();
        let limit = usize::from(source.byte()) % limits.len();
        let key = u64::from(source.byte() % 4);
        now_us = (now_us + source.number(46)).min(Timestamp::MAX.as_micros());
        let ask =
            Ask { cost: source.units(), keep: if op & 64 == 0 { 0 } else { source.units() }, force: op & 128 != 0 };
        let charged_at = (op & 32 != 0).then(|| Timestamp::from_micros(source.number(53)));
        let step = Step {
            op,
            limit,
            // State belongs to (key, algorithm): the caller folds the algorithm into the identity.
            identity: Identity { placement: key, identity: limits[limit].algorithm() as u64 },
            name: Identity { placement: key, identity: u64::from(op >> 5) },
            ask,
            charged_at,
            ttl_us: source.number(36).clamp(1, DAY_US),
            now: Timestamp::from_micros(now_us),
        };
        let (a, b) = (run(&mut swept, &limits, &step), run(&mut unswept, &limits, &step));
        assert_eq!(a, b, "{step:?}");
        swept.sweep(step.now);
    }
});
