//! Units: whole, and within what the engine counts.

use serde::de::{Deserialize, Deserializer, Error};
use tallyring_engine::UNITS_MAX;

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
        match u64::deserialize(from)? {
            units @ 0..=UNITS_MAX => Ok(Units(units)),
            units => Err(Error::custom(format_args!("{units} is not in 0 ..= {UNITS_MAX}"))),
        }
    }
}
