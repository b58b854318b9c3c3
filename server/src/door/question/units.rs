//! Numbers: whole, and within what the engine counts.

use std::fmt;
use std::ops::RangeInclusive;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use tallyring_engine::{RESERVATION_TTL_US_MAX, UNITS_MAX};

/// The longest time to live of a reservation, in milliseconds: a day.
const TTL_MS_MAX: u64 = RESERVATION_TTL_US_MAX / 1_000;

/// From 0 to [`UNITS_MAX`]; a request costs 1 unless it says otherwise.
#[derive(Debug)]
pub(super) struct Units(pub(super) u64);

impl Default for Units {
    fn default() -> Units {
        Units(1)
    }
}

impl<'de> Deserialize<'de> for Units {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Units, D::Error> {
        from.deserialize_u64(Within(0..=UNITS_MAX)).map(Units)
    }
}

/// How long a reservation lives, in milliseconds, from 1.
#[derive(Debug)]
pub(super) struct Millis(pub(super) u64);

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Millis, D::Error> {
        from.deserialize_u64(Within(1..=TTL_MS_MAX)).map(Millis)
    }
}

/// A whole number in a range.
struct Within(RangeInclusive<u64>);

impl Visitor<'_> for Within {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number in {} ..= {}", self.0.start(), self.0.end())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
        if self.0.contains(&number) {
            return Ok(number);
        }
        Err(E::custom(format_args!("{number} is not in {} ..= {}", self.0.start(), self.0.end())))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
        Err(E::custom(format_args!("{number} is not in {} ..= {}", self.0.start(), self.0.end())))
    }
}
