//! What is allowed: an algorithm and its numbers, checked once so that nothing behind it needs to ask again.

use std::ops::RangeInclusive;

/// The largest limit, burst, cost, keep and actual: 10^12 units.
pub const UNITS_MAX: u64 = 1_000_000_000_000;
/// The longest period and time to live: 400 days, in microseconds.
pub const PERIOD_US_MAX: u64 = 400 * 86_400 * 1_000_000;
/// The longest time to live of a reservation: a day, in microseconds.
pub const RESERVATION_TTL_US_MAX: u64 = 86_400 * 1_000_000;
/// The largest limit of a sliding log, which keeps every admitted instant.
pub const LOG_UNITS_MAX: u64 = 100_000;

/// How a key's units are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    /// A bucket that refills continuously; another name of it is `gcra`.
    TokenBucket,
    /// A queue that drains continuously; its decisions say how long to hold a request.
    LeakyBucket,
    /// A count that starts again in every window.
    FixedWindow,
    /// Every admitted instant of the last period.
    SlidingLog,
    /// Two window counts, the older one fading.
    SlidingCounter,
    /// Units held at the same time, each for at most its time to live.
    Concurrency,
}

impl Algorithm {
    /// Every algorithm, in the order of their documentation.
    pub const ALL: [Algorithm; 6] = [
        Algorithm::TokenBucket,
        Algorithm::LeakyBucket,
        Algorithm::FixedWindow,
        Algorithm::SlidingLog,
        Algorithm::SlidingCounter,
        Algorithm::Concurrency,
    ];

    /// The algorithm of that name; `gcra` is `token_bucket`.
    ///
    /// ```
    /// use tallyring_engine::Algorithm;
    /// assert_eq!(Algorithm::from_name("gcra"), Some(Algorithm::TokenBucket));
    /// assert_eq!(Algorithm::from_name("GCRA"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Algorithm> {
        match name {
            "gcra" => Some(Algorithm::TokenBucket),
            _ => Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name),
        }
    }

    /// The name in rules, events and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::TokenBucket => "token_bucket",
            Algorithm::LeakyBucket => "leaky_bucket",
            Algorithm::FixedWindow => "fixed_window",
            Algorithm::SlidingLog => "sliding_log",
            Algorithm::SlidingCounter => "sliding_counter",
            Algorithm::Concurrency => "concurrency",
        }
    }

    /// Whether its size may differ from its rate.
    pub const fn has_burst(self) -> bool {
        matches!(self, Algorithm::TokenBucket | Algorithm::LeakyBucket)
    }

    /// The largest limit: a log, which keeps every admitted instant, has a smaller one.
    pub const fn limit_max(self) -> u64 {
        match self {
            Algorithm::SlidingLog => LOG_UNITS_MAX,
            _ => UNITS_MAX,
        }
    }
}

/// A fixed window cut by the calendar, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Calendar {
    /// From midnight.
    Day,
    /// From Monday.
    Week,
    /// From the first of the month.
    Month,
}

impl Calendar {
    /// Every calendar, shortest first.
    pub const ALL: [Calendar; 3] = [Calendar::Day, Calendar::Week, Calendar::Month];

    /// The calendar of that name: `day`, `week`, `month`.
    pub fn from_name(name: &str) -> Option<Calendar> {
        Calendar::ALL.into_iter().find(|calendar| calendar.name() == name)
    }

    /// The name in rules and events.
    pub const fn name(self) -> &'static str {
        match self {
            Calendar::Day => "day",
            Calendar::Week => "week",
            Calendar::Month => "month",
        }
    }
}

/// The time that a limit is counted over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Period {
    /// So many microseconds, `1 ..=` [`PERIOD_US_MAX`].
    Micros(u64),
    /// A day, week or month of the calendar: [`Algorithm::FixedWindow`] only.
    Calendar(Calendar),
}

/// An algorithm with its numbers: known to be within bounds, cheap to copy and compare.
///
/// ```
/// use tallyring_engine::{Algorithm, Limit, Period};
/// let per_minute = Limit::new(Algorithm::TokenBucket, 300, Period::Micros(60_000_000), Some(100))?;
/// assert_eq!((per_minute.limit(), per_minute.ceiling()), (300, 100));
/// # Ok::<(), tallyring_engine::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Limit {
    algorithm: Algorithm,
    limit: u64,
    period: Period,
    ceiling: u64,
}

impl Limit {
    /// Checks the numbers and keeps them.
    ///
    /// A bucket without `burst` has `limit` as burst, and equals one that says so. For [`Algorithm::Concurrency`] the
    /// period is the usual time to live of a slot; each acquire brings its own.
    ///
    /// # Errors
    /// The first field that is out of bounds, in the order `limit`, `calendar`, `period_us`, `burst`.
    pub fn new(algorithm: Algorithm, limit: u64, period: Period, burst: Option<u64>) -> Result<Limit, Invalid> {
        Range { min: 1, max: algorithm.limit_max() }.check("limit", limit)?;
        match period {
            Period::Calendar(_) if algorithm != Algorithm::FixedWindow => {
                return Err(Invalid::unwanted("calendar", algorithm));
            }
            Period::Calendar(_) => {}
            Period::Micros(micros) => Range { min: 1, max: PERIOD_US_MAX }.check("period_us", micros)?,
        }
        let ceiling = match burst {
            None => limit,
            Some(_) if !algorithm.has_burst() => return Err(Invalid::unwanted("burst", algorithm)),
            Some(burst) => Range { min: 1, max: UNITS_MAX }.check("burst", burst).map(|()| burst)?,
        };
        Ok(Limit { algorithm, limit, period, ceiling })
    }

    /// How units are counted.
    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Units a period.
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// The time that units are counted over.
    pub const fn period(&self) -> Period {
        self.period
    }

    /// The size of a bucket, in units; `None` for algorithms without one.
    pub const fn burst(&self) -> Option<u64> {
        if self.algorithm.has_burst() { Some(self.ceiling) } else { None }
    }

    /// The most units that one call can ever get: the burst of a bucket, else the limit.
    pub const fn ceiling(&self) -> u64 {
        self.ceiling
    }

    /// The period in microseconds, where it has a fixed length: everywhere but in calendar windows.
    pub(crate) fn period_us(&self) -> u64 {
        match self.period {
            Period::Micros(micros) => micros,
            Period::Calendar(_) => unreachable!("a calendar is a fixed window's, which does not ask for its length"),
        }
    }
}

/// What one call asks of a limit.
///
/// ```
/// use tallyring_engine::Ask;
/// let important = Ask::new(2);
/// let sheddable = Ask { keep: 50, ..important };
/// assert!(Ask::try_new(2, 50, false) == Ok(sheddable));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ask {
    /// Units to charge; 0 is a peek, which writes nothing. At most [`UNITS_MAX`].
    pub cost: u64,
    /// Units that must remain afterwards: a less important caller asks with a higher number. At most [`UNITS_MAX`].
    pub keep: u64,
    /// Always allowed: charges what is there, up to `cost`, and ignores `keep`.
    pub force: bool,
}

impl Ask {
    /// An answer for a request of cost 0, which writes nothing.
    pub const PEEK: Ask = Ask::new(0);

    /// Asks for `cost` units and leaves nothing behind for others.
    pub const fn new(cost: u64) -> Ask {
        Ask { cost, keep: 0, force: false }
    }

    /// Asks with numbers that came from outside.
    ///
    /// # Errors
    /// `cost` or `keep` is over [`UNITS_MAX`]; `cost` is judged first.
    pub fn try_new(cost: u64, keep: u64, force: bool) -> Result<Ask, Invalid> {
        units().check("cost", cost)?;
        units().check("keep", keep)?;
        Ok(Ask { cost, keep, force })
    }

    /// Whether the call only looks.
    pub const fn is_peek(&self) -> bool {
        self.cost == 0
    }
}

const fn units() -> Range {
    Range { min: 0, max: UNITS_MAX }
}

/// A number that is out of bounds, or a field that has no place: which field, what came, what is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct Invalid {
    /// The field's name, as events and rules spell it.
    pub field: &'static str,
    /// What is wrong with it.
    pub reason: Reason,
}

/// Why a field is [`Invalid`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The number lies outside of its range.
    #[error("{found} is not in {allowed}")]
    OutOfRange {
        /// The number that came.
        found: u64,
        /// The numbers that are allowed.
        allowed: Range,
    },
    /// The algorithm has no such field.
    #[error("{} has none", algorithm.name())]
    Unwanted {
        /// The algorithm that came.
        algorithm: Algorithm,
    },
}

impl Invalid {
    fn unwanted(field: &'static str, algorithm: Algorithm) -> Invalid {
        Invalid { field, reason: Reason::Unwanted { algorithm } }
    }
}

/// Whole numbers from `min` to `max`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The smallest.
    pub min: u64,
    /// The largest.
    pub max: u64,
}

impl Range {
    fn check(self, field: &'static str, found: u64) -> Result<(), Invalid> {
        if RangeInclusive::from(self).contains(&found) {
            return Ok(());
        }
        Err(Invalid { field, reason: Reason::OutOfRange { found, allowed: self } })
    }
}

impl From<Range> for RangeInclusive<u64> {
    fn from(range: Range) -> RangeInclusive<u64> {
        range.min..=range.max
    }
}

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let max = match self.max {
            UNITS_MAX => "10^12".to_owned(),
            PERIOD_US_MAX => format!("{PERIOD_US_MAX} (400 days)"),
            other => other.to_string(),
        };
        write!(f, "{} ..= {max}", self.min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(algorithm: Algorithm, limit: u64, period: Period, burst: Option<u64>, expect: &str) {
        let found = Limit::new(algorithm, limit, period, burst).map_or_else(|e| e.to_string(), |_| "fine".to_owned());
        assert_eq!(found, expect);
    }

    #[test]
    fn a_limit_names_the_first_field_that_is_out_of_bounds() {
        use Algorithm::*;
        let second = Period::Micros(1_000_000);
        let day = Period::Calendar(Calendar::Day);
        check(TokenBucket, 1, second, None, "fine");
        check(FixedWindow, UNITS_MAX, day, None, "fine");
        check(TokenBucket, 0, second, Some(0), "limit: 0 is not in 1 ..= 10^12");
        check(TokenBucket, UNITS_MAX + 1, second, None, "limit: 1000000000001 is not in 1 ..= 10^12");
        check(SlidingLog, LOG_UNITS_MAX, second, None, "fine");
        check(SlidingLog, LOG_UNITS_MAX + 1, second, None, "limit: 100001 is not in 1 ..= 100000");
        check(TokenBucket, 1, day, Some(0), "calendar: token_bucket has none");
        check(TokenBucket, 1, Period::Micros(0), Some(0), "period_us: 0 is not in 1 ..= 34560000000000 (400 days)");
        check(LeakyBucket, 1, second, Some(0), "burst: 0 is not in 1 ..= 10^12");
        check(FixedWindow, 1, second, Some(1), "burst: fixed_window has none");
    }

    #[test]
    fn a_burst_that_says_the_default_is_the_default() {
        let limit = |burst| Limit::new(Algorithm::TokenBucket, 5, Period::Micros(10), burst).unwrap();
        assert_eq!(limit(None), limit(Some(5)));
        assert_ne!(limit(None), limit(Some(6)));
        assert_eq!(limit(None).burst(), Some(5));
    }

    #[test]
    fn an_ask_names_the_cost_before_the_keep() {
        let refused = |cost, keep| Ask::try_new(cost, keep, false).unwrap_err().field;
        assert_eq!(refused(UNITS_MAX + 1, UNITS_MAX + 1), "cost");
        assert_eq!(refused(UNITS_MAX, UNITS_MAX + 1), "keep");
    }

    #[test]
    fn every_name_reads_back() {
        for algorithm in Algorithm::ALL {
            assert_eq!(Algorithm::from_name(algorithm.name()), Some(algorithm));
        }
        for calendar in Calendar::ALL {
            assert_eq!(Calendar::from_name(calendar.name()), Some(calendar));
        }
        assert_eq!(Algorithm::from_name(""), None);
        assert_eq!(Calendar::from_name("year"), None);
    }
}
