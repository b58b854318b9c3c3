//! What a limiter answers: always something.

use std::time::Duration;

use tallyring_engine::Wait;

use crate::StoreDecision;

/// Whether a request may go on, and what its sender may be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether the request may go on. A refused request took nothing.
    pub allowed: bool,
    /// The ceiling: a bucket's burst, else the limit. From the fallback: that of this gateway's share.
    pub limit: u64,
    /// Whole units left after this call.
    pub remaining: u64,
    /// The smallest wait after which the same call would pass; zero if it did, `None` if no wait helps.
    pub retry_after: Option<Duration>,
    /// The smallest wait after which the whole budget is free again.
    pub reset_after: Duration,
    /// How long a leaky bucket asks to hold the request so that the output keeps the rate; zero for other algorithms.
    pub delay: Duration,
    /// Who decided.
    pub source: Source,
    /// The instant of the charge on the store's clock, in microseconds, if the store decided: a refund names it.
    pub charged_at_us: Option<u64>,
}

/// Who decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The store: the count is exact and shared.
    Store,
    /// This gateway alone, within its share of the limit: the store could not be asked.
    Fallback,
    /// Nobody: the store could not be asked and the limiter's mode is to deny then.
    Mode,
}

/// When to try again while the store is gone and the mode is to deny: about the time that a failover takes.
const RETRY_WHEN_GONE: Duration = Duration::from_secs(1);

impl Decision {
    pub(crate) fn from_store(limit: u64, decision: &StoreDecision) -> Decision {
        Decision {
            allowed: decision.allowed,
            limit,
            remaining: decision.remaining,
            retry_after: (!decision.never()).then(|| Duration::from_micros(decision.retry_after_us)),
            reset_after: Duration::from_micros(decision.reset_after_us),
            delay: Duration::from_micros(decision.delay_us.unwrap_or(0)),
            source: Source::Store,
            charged_at_us: Some(decision.at_us),
        }
    }

    pub(crate) fn from_fallback(decision: &tallyring_engine::Decision) -> Decision {
        let duration = |micros| Duration::from_micros(tallyring_engine::saturating_us(micros));
        Decision {
            allowed: decision.allowed,
            limit: decision.limit,
            remaining: decision.remaining,
            retry_after: match decision.retry_after {
                Wait::Micros(micros) => Some(duration(micros)),
                Wait::Never => None,
            },
            reset_after: duration(decision.reset_after_us),
            delay: duration(decision.delay_us.unwrap_or(0)),
            source: Source::Fallback,
            charged_at_us: None,
        }
    }

    pub(crate) fn denied_by_mode(limit: u64) -> Decision {
        Decision {
            allowed: false,
            limit,
            remaining: 0,
            retry_after: Some(RETRY_WHEN_GONE),
            reset_after: RETRY_WHEN_GONE,
            delay: Duration::ZERO,
            source: Source::Mode,
            charged_at_us: None,
        }
    }
}
