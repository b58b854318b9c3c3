//! Limits in both spellings: the engine's, which decides in the fallback, and the protocol's, which travels. Engine and
//! protocol may not know each other, so the two meet here, and nowhere else in the client.

use tallyring_engine::{Algorithm, Calendar, Limit, Period};
use tallyring_protocol::rules::Numbers;
use tallyring_protocol::{AlgorithmCode, PeriodCode};

/// The number of an algorithm on the wire.
pub(crate) fn algorithm_code(algorithm: Algorithm) -> AlgorithmCode {
    match algorithm {
        Algorithm::TokenBucket => AlgorithmCode::TokenBucket,
        Algorithm::LeakyBucket => AlgorithmCode::LeakyBucket,
        Algorithm::FixedWindow => AlgorithmCode::FixedWindow,
        Algorithm::SlidingLog => AlgorithmCode::SlidingLog,
        Algorithm::SlidingCounter => AlgorithmCode::SlidingCounter,
        Algorithm::Concurrency => AlgorithmCode::Concurrency,
    }
}

/// A period on the wire.
pub(crate) fn period_code(period: Period) -> PeriodCode {
    match period {
        Period::Micros(micros) => PeriodCode::Micros(micros),
        Period::Calendar(Calendar::Day) => PeriodCode::Day,
        Period::Calendar(Calendar::Week) => PeriodCode::Week,
        Period::Calendar(Calendar::Month) => PeriodCode::Month,
    }
}

/// A rule's numbers as the engine takes them.
pub(crate) fn limit_of(numbers: &Numbers) -> Limit {
    let burst = (numbers.burst > 0).then_some(numbers.burst);
    Limit::new(algorithm_of(numbers.algorithm), numbers.limit, period_of(numbers.period), burst)
        .expect("the numbers of a compiled rule are within the engine's bounds")
}

fn algorithm_of(code: AlgorithmCode) -> Algorithm {
    match code {
        AlgorithmCode::TokenBucket => Algorithm::TokenBucket,
        AlgorithmCode::LeakyBucket => Algorithm::LeakyBucket,
        AlgorithmCode::FixedWindow => Algorithm::FixedWindow,
        AlgorithmCode::SlidingLog => Algorithm::SlidingLog,
        AlgorithmCode::SlidingCounter => Algorithm::SlidingCounter,
        AlgorithmCode::Concurrency => Algorithm::Concurrency,
    }
}

fn period_of(code: PeriodCode) -> Period {
    match code {
        PeriodCode::Micros(micros) => Period::Micros(micros),
        PeriodCode::Day => Period::Calendar(Calendar::Day),
        PeriodCode::Week => Period::Calendar(Calendar::Week),
        PeriodCode::Month => Period::Calendar(Calendar::Month),
    }
}
