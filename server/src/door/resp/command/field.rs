//! Arguments one by one: each names the command and itself when it is wrong.

use tallyring_engine::{Algorithm, Ask, Calendar, Limit, PERIOD_US_MAX, Period, Range, UNITS_MAX};
use tallyring_protocol::bounds::{KEY_BYTES_MAX, NAME_BYTES_MAX};

use super::error::{CommandError, found};

/// Units of a call that may be a peek.
pub(super) const UNITS: Range = Range { min: 0, max: UNITS_MAX };

/// Units of a call that cannot be a peek.
pub(super) const SOME_UNITS: Range = Range { min: 1, max: UNITS_MAX };

/// Reads the arguments of one command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader {
    pub(super) command: &'static str,
}

impl Reader {
    /// A whole number, in digits alone: no sign, no fraction.
    #[inline]
    pub(super) fn number(self, field: &'static str, text: &[u8], allowed: Range) -> Result<u64, CommandError> {
        match digits(text).filter(|number| (allowed.min..=allowed.max).contains(number)) {
            Some(number) => Ok(number),
            None => Err(CommandError::Number { command: self.command, field, found: found(text), allowed }),
        }
    }

    /// A raw key.
    #[inline]
    pub(super) fn key(self, text: &[u8]) -> Result<&[u8], CommandError> {
        self.text("key", text, KEY_BYTES_MAX)
    }

    /// The id of a reservation, or the name of a holder.
    pub(super) fn name<'a>(self, field: &'static str, text: &'a [u8]) -> Result<&'a [u8], CommandError> {
        self.text(field, text, NAME_BYTES_MAX)
    }

    #[inline]
    fn text<'a>(self, field: &'static str, text: &'a [u8], len_max: usize) -> Result<&'a [u8], CommandError> {
        if (1..=len_max).contains(&text.len()) {
            return Ok(text);
        }
        Err(CommandError::Length { command: self.command, field, len: text.len(), len_max })
    }

    /// The numbers of a limit. What has no place is named before what is out of range behind it.
    pub(super) fn limit(
        self,
        [algorithm, limit, period]: [&[u8]; 3],
        burst: Option<&[u8]>,
    ) -> Result<Limit, CommandError> {
        let algorithm = self.algorithm(algorithm)?;
        let units = self.number("limit", limit, Range { min: 1, max: algorithm.limit_max() })?;
        let period = self.period(period)?;
        let limit = |burst| {
            let limit = Limit::new(algorithm, units, period, burst);
            limit.map_err(|invalid| CommandError::Refused { command: self.command, invalid })
        };
        match burst {
            None => limit(None),
            Some(burst) => limit(None).and(limit(Some(self.number("burst", burst, SOME_UNITS)?))),
        }
    }

    fn algorithm(self, text: &[u8]) -> Result<Algorithm, CommandError> {
        let known = std::str::from_utf8(text).ok().and_then(Algorithm::from_name);
        let allowed = "token_bucket, gcra, leaky_bucket, fixed_window, sliding_log, sliding_counter";
        known.filter(|algorithm| *algorithm != Algorithm::Concurrency).ok_or_else(|| CommandError::Word {
            command: self.command,
            field: "algorithm",
            found: found(text),
            allowed,
        })
    }

    fn period(self, text: &[u8]) -> Result<Period, CommandError> {
        if !text.first().is_some_and(u8::is_ascii_alphabetic) {
            return self.number("period_us", text, Range { min: 1, max: PERIOD_US_MAX }).map(Period::Micros);
        }
        let is = |name: &[u8]| text.eq_ignore_ascii_case(name);
        match text {
            _ if is(b"CAL.DAY") => Ok(Period::Calendar(Calendar::Day)),
            _ if is(b"CAL.WEEK") => Ok(Period::Calendar(Calendar::Week)),
            _ if is(b"CAL.MONTH") => Ok(Period::Calendar(Calendar::Month)),
            _ => Err(CommandError::Word {
                command: self.command,
                field: "calendar",
                found: found(text),
                allowed: "CAL.DAY, CAL.WEEK, CAL.MONTH; a period_us is a number",
            }),
        }
    }

    /// What is asked of a limit.
    pub(super) fn ask(
        self,
        cost: Option<&[u8]>,
        costs: Range,
        keep: Option<&[u8]>,
        force: bool,
    ) -> Result<Ask, CommandError> {
        let cost = cost.map_or(Ok(1), |cost| self.number("cost", cost, costs))?;
        let keep = keep.map_or(Ok(0), |keep| self.number("keep", keep, UNITS))?;
        Ok(Ask { cost, keep, force })
    }
}

/// The number that digits spell, unless 64 bits cannot hold it.
#[inline]
fn digits(text: &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    (!text.is_empty()).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_digits_and_nothing_else() {
        assert_eq!(digits(b"0"), Some(0));
        assert_eq!(digits(b"007"), Some(7));
        assert_eq!(digits(b"18446744073709551615"), Some(u64::MAX));
        for text in ["", "18446744073709551616", "-1", "+1", "1.5", "1e3", " 1", "0x1", "1\r\n"] {
            assert_eq!(digits(text.as_bytes()), None, "{text:?}");
        }
    }
}
