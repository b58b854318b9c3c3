//! A part of something, exactly.

use std::fmt;
use std::str::FromStr;

/// Decimals that a fraction may have.
const DECIMALS_MAX: usize = 6;
const MILLION: u32 = 1_000_000;

/// A decimal fraction of `0 ..= 1` with up to six decimals. No float ever holds it.
///
/// ```
/// use tallyring_protocol::rules::Fraction;
/// let most: Fraction = "0.8".parse().unwrap();
/// assert_eq!(most.of_rounded_up(101), 81);
/// assert_eq!(most.to_string(), "0.8");
/// assert!("80%".parse::<Fraction>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fraction {
    millionths: u32,
}

/// A text that is no [`Fraction`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no decimal fraction from \"0\" to \"1\" of at most {DECIMALS_MAX} decimals, like \"0.25\"")]
pub struct FractionError {
    /// The text that came.
    pub text: String,
}

impl Fraction {
    /// Nothing.
    pub const ZERO: Fraction = Fraction { millionths: 0 };

    /// So many millionths.
    ///
    /// # Panics
    /// If they are over a million: a fraction written down in code is at most 1.
    pub const fn from_millionths(millionths: u32) -> Fraction {
        assert!(millionths <= MILLION, "a fraction is at most 1");
        Fraction { millionths }
    }

    /// It in millionths.
    pub const fn millionths(self) -> u32 {
        self.millionths
    }

    /// This part of `units`, rounded up.
    pub fn of_rounded_up(self, units: u64) -> u64 {
        let product = u128::from(units) * u128::from(self.millionths);
        u64::try_from(product.div_ceil(u128::from(MILLION))).expect("a part of a number is not over it")
    }

    /// This part of `units`, rounded down.
    pub fn of_rounded_down(self, units: u64) -> u64 {
        let product = u128::from(units) * u128::from(self.millionths);
        u64::try_from(product / u128::from(MILLION)).expect("a part of a number is not over it")
    }

    /// Whether `part` of `whole` is at least this fraction; exactly, without division.
    pub fn is_reached(self, part: u64, whole: u64) -> bool {
        u128::from(part) * u128::from(MILLION) >= u128::from(whole) * u128::from(self.millionths)
    }
}

impl FromStr for Fraction {
    type Err = FractionError;

    fn from_str(text: &str) -> Result<Fraction, FractionError> {
        millionths(text)
            .map(|millionths| Fraction { millionths })
            .ok_or_else(|| FractionError { text: text.to_owned() })
    }
}

/// `1`, `0`, `1.0`, `0.25`: one digit, then up to six decimals.
fn millionths(text: &str) -> Option<u32> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() != 1 || !(1..=DECIMALS_MAX).contains(&decimals.len()) || !are_digits(whole) || !are_digits(decimals)
    {
        return None;
    }
    let millionths = format!("{whole}{decimals:0<DECIMALS_MAX$}").parse().ok()?;
    (millionths <= MILLION).then_some(millionths)
}

impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:06}", self.millionths / MILLION, self.millionths % MILLION);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Option<u32>) {
        assert_eq!(text.parse::<Fraction>().ok().map(Fraction::millionths), expect, "{text}");
    }

    #[test]
    fn a_fraction_is_a_decimal_from_nought_to_one() {
        for (text, millionths) in
            [("0", 0), ("1", 1_000_000), ("0.5", 500_000), ("1.000000", 1_000_000), ("0.000001", 1)]
        {
            check(text, Some(millionths));
        }
        for text in ["", "2", "1.000001", "0.", ".5", "0.0000001", "50%", "1e-1", "-0", "+1", "0.5 ", "00.5", "½"] {
            check(text, None);
        }
    }

    #[test]
    fn it_is_written_as_short_as_it_goes() {
        for text in ["0", "1", "0.8", "0.25", "0.000001"] {
            assert_eq!(text.parse::<Fraction>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_part_is_exact_up_to_the_largest_number() {
        let third: Fraction = "0.333333".parse().unwrap();
        assert_eq!((third.of_rounded_up(3), third.of_rounded_down(3)), (1, 0));
        assert_eq!(Fraction::from_millionths(1_000_000).of_rounded_up(u64::MAX), u64::MAX);
        assert!(Fraction::ZERO.is_reached(0, 0));
        let most: Fraction = "0.8".parse().unwrap();
        assert!(most.is_reached(80, 100) && !most.is_reached(79, 100));
        assert!(most.is_reached(81, 101) && !most.is_reached(80, 101)); // 80.8
    }
}
