//! Limits as the engine takes them, from what frames and documents of rules carry. Engine and protocol may not know each
//! other, so the two spellings meet here, and nowhere else in the server.

use tallyring_engine::{Algorithm, Calendar, Invalid, Limit, Period};
use tallyring_protocol::rules::Numbers;
use tallyring_protocol::{AlgorithmCode, PeriodCode};

/// The limit of a rule, whose numbers were checked when the document was compiled.
pub fn limit_of(numbers: &Numbers) -> Limit {
    let Numbers { algorithm, limit, period, burst, .. } = *numbers;
    limit_from(algorithm, limit, period, burst).expect("the numbers of a compiled rule are within the engine's bounds")
}

/// A limit of numbers that nobody has checked; `burst` 0 is none.
///
/// # Errors
/// [`Invalid`] names the first number that is out of its range.
pub fn limit_from(algorithm: AlgorithmCode, limit: u64, period: PeriodCode, burst: u64) -> Result<Limit, Invalid> {
    Limit::new(algorithm_of(algorithm), limit, period_of(period), (burst > 0).then_some(burst))
}

fn period_of(code: PeriodCode) -> Period {
    match code {
        PeriodCode::Micros(us) => Period::Micros(us),
        PeriodCode::Day => Period::Calendar(Calendar::Day),
        PeriodCode::Week => Period::Calendar(Calendar::Week),
        PeriodCode::Month => Period::Calendar(Calendar::Month),
    }
}

/// The engine's algorithm of a wire number.
pub fn algorithm_of(code: AlgorithmCode) -> Algorithm {
    match code {
        AlgorithmCode::TokenBucket => Algorithm::TokenBucket,
        AlgorithmCode::LeakyBucket => Algorithm::LeakyBucket,
        AlgorithmCode::FixedWindow => Algorithm::FixedWindow,
        AlgorithmCode::SlidingLog => Algorithm::SlidingLog,
        AlgorithmCode::SlidingCounter => Algorithm::SlidingCounter,
        AlgorithmCode::Concurrency => Algorithm::Concurrency,
    }
}

/// The wire number of an engine's algorithm.
pub fn code_of(algorithm: Algorithm) -> AlgorithmCode {
    match algorithm {
        Algorithm::TokenBucket => AlgorithmCode::TokenBucket,
        Algorithm::LeakyBucket => AlgorithmCode::LeakyBucket,
        Algorithm::FixedWindow => AlgorithmCode::FixedWindow,
        Algorithm::SlidingLog => AlgorithmCode::SlidingLog,
        Algorithm::SlidingCounter => AlgorithmCode::SlidingCounter,
        Algorithm::Concurrency => AlgorithmCode::Concurrency,
    }
}
