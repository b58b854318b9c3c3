//! What is said of a handful of rounds: the middle one, and how far they lie apart.

/// The median and the ends of a few numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub(super) struct Spread {
    pub(super) median: u64,
    pub(super) min: u64,
    pub(super) max: u64,
}

impl Spread {
    /// The spread of `numbers`; `None` if there are none. Of an even count the lower of the two middle ones is the median,
    /// so that every figure was measured.
    pub(super) fn of(numbers: impl IntoIterator<Item = u64>) -> Option<Spread> {
        let mut numbers: Vec<u64> = numbers.into_iter().collect();
        numbers.sort_unstable();
        let (min, max) = (*numbers.first()?, *numbers.last()?);
        Some(Spread { median: numbers[(numbers.len() - 1) / 2], min, max })
    }
}

/// `part · scale / whole`, rounded down; 0 of nothing.
pub(super) fn share(part: u64, whole: u64, scale: u64) -> u64 {
    let scaled = u128::from(part) * u128::from(scale);
    let share = scaled.checked_div(u128::from(whole)).unwrap_or(0);
    u64::try_from(share).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_was_measured() {
        let check = |numbers: &[u64], expect: Option<(u64, u64, u64)>| {
            let expect = expect.map(|(median, min, max)| Spread { median, min, max });
            assert_eq!(Spread::of(numbers.iter().copied()), expect, "{numbers:?}");
        };
        check(&[], None);
        check(&[7], Some((7, 7, 7)));
        check(&[9, 1, 5], Some((5, 1, 9)));
        check(&[4, 1, 3, 2], Some((2, 1, 4)));
    }

    #[test]
    fn a_share_is_rounded_down_and_never_overflows() {
        let check = |part, whole, scale, expect| assert_eq!(share(part, whole, scale), expect);
        check(1, 3, 100, 33);
        check(2, 1, 100, 200);
        check(1, 0, 100, 0);
        check(u64::MAX, u64::MAX, 1_000, 1_000);
        check(u64::MAX, 1, 1_000, u64::MAX);
    }
}
