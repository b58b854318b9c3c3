//! Exact division that is cheap while the numbers are small.
//!
//! A 128-bit division is a call of some 30 ns; the hardware divides 64 bits in a tenth of that, and nearly every limit
//! in use (below 2^64 units times microseconds) fits. Both ways give the same answer.

/// `dividend / divisor`, rounded down.
pub(crate) fn div_floor(dividend: u128, divisor: u64) -> u128 {
    match u64::try_from(dividend) {
        Ok(small) => u128::from(small / divisor),
        Err(_) => dividend / u128::from(divisor),
    }
}

/// `dividend / divisor`, rounded up.
pub(crate) fn div_ceil(dividend: u128, divisor: u64) -> u128 {
    match u64::try_from(dividend) {
        Ok(small) => u128::from(small.div_ceil(divisor)),
        Err(_) => dividend.div_ceil(u128::from(divisor)),
    }
}

/// `value × to / from`, rounded towards the past of zero (down), for products that do not fit in 128 bits.
///
/// `value` is at most 2^86 in size and both scales at most 2^45: the whole part and the rest are scaled apart.
pub(crate) fn rescale_floor(value: i128, from: u64, to: u64) -> i128 {
    let (from, to) = (i128::from(from), i128::from(to));
    let (whole, rest) = (value.div_euclid(from), value.rem_euclid(from));
    whole * to + rest * to / from
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_widths_divide_alike_around_the_seam() {
        let seam = u128::from(u64::MAX);
        for dividend in [0, 1, 6, 7, 8, seam - 1, seam, seam + 1, seam + 7, 1 << 93] {
            for divisor in [1, 2, 7, 1_000_000, 34_560_000_000_000, u64::MAX] {
                assert_eq!(div_floor(dividend, divisor), dividend / u128::from(divisor));
                assert_eq!(div_ceil(dividend, divisor), dividend.div_ceil(u128::from(divisor)));
            }
        }
    }

    #[test]
    fn scaling_rounds_down_on_both_sides_of_zero() {
        assert_eq!(rescale_floor(5, 10, 3), 1);
        assert_eq!(rescale_floor(-5, 10, 3), -2);
        assert_eq!(rescale_floor(-10, 10, 3), -3);
    }

    #[test]
    fn the_widest_product_does_not_overflow() {
        let (from, to) = (34_560_000_000_000, 34_559_999_999_999);
        let level = 1_000_000_000_000 * i128::from(from);
        assert_eq!(rescale_floor(level, from, to), 1_000_000_000_000 * i128::from(to));
        assert_eq!(rescale_floor(-level, from, to), -1_000_000_000_000 * i128::from(to));
    }
}
