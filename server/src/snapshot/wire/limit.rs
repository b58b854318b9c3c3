//! A rule's limit in plain numbers.

use bincode::{Decode, Encode};
use serde::{Deserialize, Serialize};
use tallyring_engine::{Algorithm, Calendar, Limit, Period, RuleLimit};

use super::Reason;

#[derive(Encode, Decode)]
pub(super) struct WireLimit {
    rule: String,
    algorithm: WireAlgorithm,
    limit: u64,
    period: WirePeriod,
    burst: Option<u64>,
}

#[derive(Clone, Copy, Encode, Decode)]
enum WireAlgorithm {
    TokenBucket,
    LeakyBucket,
    FixedWindow,
    SlidingLog,
    SlidingCounter,
    Concurrency,
}

/// A period, on a disk or on its way to another node. The order of variants is the encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub(crate) enum WirePeriod {
    Micros(u64),
    Day,
    Week,
    Month,
}

impl WireLimit {
    pub(super) fn new(named: &RuleLimit) -> WireLimit {
        let limit = &named.limit;
        WireLimit {
            rule: named.rule.to_string(),
            algorithm: limit.algorithm().into(),
            limit: limit.limit(),
            period: limit.period().into(),
            burst: limit.burst(),
        }
    }

    /// Through the constructor, which knows what a limit may be.
    pub(super) fn into_limit(self) -> Result<RuleLimit, Reason> {
        let limit = Limit::new(self.algorithm.into(), self.limit, self.period.into(), self.burst);
        let limit = limit.map_err(|invalid| invalid.to_string())?;
        Ok(RuleLimit { rule: self.rule.into(), limit })
    }
}

impl From<Algorithm> for WireAlgorithm {
    fn from(algorithm: Algorithm) -> WireAlgorithm {
        match algorithm {
            Algorithm::TokenBucket => WireAlgorithm::TokenBucket,
            Algorithm::LeakyBucket => WireAlgorithm::LeakyBucket,
            Algorithm::FixedWindow => WireAlgorithm::FixedWindow,
            Algorithm::SlidingLog => WireAlgorithm::SlidingLog,
            Algorithm::SlidingCounter => WireAlgorithm::SlidingCounter,
            Algorithm::Concurrency => WireAlgorithm::Concurrency,
        }
    }
}

impl From<WireAlgorithm> for Algorithm {
    fn from(algorithm: WireAlgorithm) -> Algorithm {
        match algorithm {
            WireAlgorithm::TokenBucket => Algorithm::TokenBucket,
            WireAlgorithm::LeakyBucket => Algorithm::LeakyBucket,
            WireAlgorithm::FixedWindow => Algorithm::FixedWindow,
            WireAlgorithm::SlidingLog => Algorithm::SlidingLog,
            WireAlgorithm::SlidingCounter => Algorithm::SlidingCounter,
            WireAlgorithm::Concurrency => Algorithm::Concurrency,
        }
    }
}

impl From<Period> for WirePeriod {
    fn from(period: Period) -> WirePeriod {
        match period {
            Period::Micros(micros) => WirePeriod::Micros(micros),
            Period::Calendar(Calendar::Day) => WirePeriod::Day,
            Period::Calendar(Calendar::Week) => WirePeriod::Week,
            Period::Calendar(Calendar::Month) => WirePeriod::Month,
        }
    }
}

impl From<WirePeriod> for Period {
    fn from(period: WirePeriod) -> Period {
        match period {
            WirePeriod::Micros(micros) => Period::Micros(micros),
            WirePeriod::Day => Period::Calendar(Calendar::Day),
            WirePeriod::Week => Period::Calendar(Calendar::Week),
            WirePeriod::Month => Period::Calendar(Calendar::Month),
        }
    }
}
