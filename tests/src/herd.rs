//! A herd: a hundred thousand callers of an API that are all refused in the same instant, and when they come back.
//!
//! Somebody has taken the whole of a budget of 100,000 a minute in the first instant of the minute; everybody else is
//! refused in the same instant and told to wait for its end. What happens then depends on the callers alone, and on the
//! jitter that the server has put into what it told them. The engine decides both times; the clock is virtual.

mod plot;

use std::time::Duration;

use tallyring_client::retry::{Backoff, Outcome, RetryConfig, RetryPolicy};
use tallyring_engine::{Algorithm, Ask, Bounds, Decision, Engine, Identity, Limit, LimitId, Period, Timestamp};
use tallyring_protocol::headers::retry_after_s;
use tallyring_protocol::rules::Fraction;

pub use self::plot::plot;

/// Callers that are refused at once.
pub const CALLERS: u32 = 100_000;

/// The whole budget of a window, in units.
const LIMIT: u64 = CALLERS as u64;

/// What everybody is told to wait, in seconds: the window.
pub const WINDOW_S: u64 = 60;

/// Seconds that a picture shows.
const SHOWN_S: usize = 150;

/// What callers do when they are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manners {
    /// They come back as soon as they were told.
    AsTold,
    /// They draw a time between now and then: the usual full jitter, which is meant for when nobody has told a time.
    FullJitter,
    /// They wait as long as they were told and up to as long again: what [`RetryPolicy`] does.
    ToldAndMore,
}

/// What the server puts into its `Retry-After`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// The wait, rounded up.
    Exact,
    /// Up to a fifth more, as rules say unless they say otherwise.
    Jittered,
}

/// When a herd came back, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Returns {
    /// Callers that came back in each second after they were refused.
    pub by_second: Vec<u32>,
    /// Those of them that were allowed.
    pub allowed: u32,
    /// The shortest and the longest wait.
    pub span: (Duration, Duration),
}

impl Returns {
    /// The fullest second.
    pub fn peak(&self) -> u32 {
        self.by_second.iter().copied().max().unwrap_or(0)
    }

    /// What the fullest second would have if all came back evenly between the first and the last, in tenths: 10 = even.
    pub fn peak_to_even_tenths(&self) -> u64 {
        let span_ms = (self.span.1 - self.span.0).as_millis().max(1_000);
        let tenths = u128::from(self.peak()) * 10 * span_ms / (u128::from(CALLERS) * 1_000);
        u64::try_from(tenths).expect("a peak is at most all callers")
    }
}

/// Refuses a herd and lets it come back once.
pub fn run(manners: Manners, server: Server, seed: u64) -> Returns {
    let mut api = Api::new();
    api.call(Duration::ZERO, LIMIT);
    let refused = api.call(Duration::ZERO, 1);
    let wait = Duration::from_micros(refused.retry_after.saturating_us().expect("a unit fits the limit"));
    let callers = (0..u64::from(CALLERS)).map(|caller| seed.wrapping_mul(u64::from(CALLERS)).wrapping_add(caller));
    let mut waits: Vec<Duration> = callers.map(|seed| manners.wait(server.told(wait, seed), seed)).collect();
    waits.sort_unstable();
    returns(&mut api, &waits)
}

fn returns(api: &mut Api, waits: &[Duration]) -> Returns {
    let mut by_second = vec![0; SHOWN_S];
    let mut allowed = 0;
    for wait in waits {
        let second = usize::try_from(wait.as_secs()).expect("a wait of minutes");
        by_second[second.min(SHOWN_S - 1)] += 1;
        allowed += u32::from(api.call(*wait, 1).allowed);
    }
    Returns { by_second, allowed, span: (waits[0], waits[waits.len() - 1]) }
}

impl Manners {
    fn wait(self, told: Duration, seed: u64) -> Duration {
        let (outcome, told_jitter_percent) = match self {
            Manners::AsTold => (Outcome::Told(told), 0),
            Manners::FullJitter => (Outcome::Failed, 0),
            Manners::ToldAndMore => (Outcome::Told(told), RetryConfig::default().told_jitter_percent),
        };
        let backoff = Backoff { first: told, most: told };
        let config = RetryConfig { told_jitter_percent, backoff, random_seed: Some(seed), ..RetryConfig::default() };
        RetryPolicy::new(config).start().next(outcome).expect("the first retry is within every bound")
    }
}

impl Server {
    fn told(self, wait: Duration, seed: u64) -> Duration {
        let jitter = match self {
            Server::Exact => Fraction::ZERO,
            Server::Jittered => Fraction::from_millionths(200_000),
        };
        Duration::from_secs(retry_after_s(wait, jitter, |most| drawn(seed) % (most + 1)))
    }
}

/// A number from a seed, apart from what callers draw from the same one.
fn drawn(seed: u64) -> u64 {
    let mut z = seed.wrapping_mul(0xD6E8_FEB8_6659_FD93) ^ 0xA5A5_A5A5;
    z = (z ^ (z >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    z ^ (z >> 32)
}

/// What is called: one counter of the real engine.
struct Api {
    engine: Engine,
    limit: LimitId,
}

impl Api {
    /// The first microsecond of a minute, 2020-09-13 12:27 UTC.
    const START_US: u64 = 1_600_000_020_000_000;
    const KEY: Identity = Identity { placement: 1, identity: 1 };

    fn new() -> Api {
        let mut engine = Engine::new(Bounds::of_bytes(1 << 20));
        let window = Period::Micros(WINDOW_S * 1_000_000);
        let limit = Limit::new(Algorithm::FixedWindow, LIMIT, window, None).expect("a limit within its bounds");
        let limit = engine.intern("", limit).expect("one limit fits");
        Api { engine, limit }
    }

    fn call(&mut self, after: Duration, cost: u64) -> Decision {
        let after_us = u64::try_from(after.as_micros()).expect("a wait of minutes");
        let now = Timestamp::from_micros(Api::START_US + after_us);
        self.engine.check(now, Api::KEY, self.limit, Ask::new(cost)).expect("one key fits")
    }
}
