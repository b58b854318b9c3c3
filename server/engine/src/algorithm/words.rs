//! An entry's state: 96 bits, which mean what their algorithm says.

/// Bits that an entry keeps of its state.
pub(crate) const STATE_BITS: u32 = 96;

/// The state of an entry as it lies in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Words([u32; 3]);

impl Words {
    /// The words of a number below 2^96.
    #[inline]
    pub(crate) fn of(bits: u128) -> Words {
        debug_assert!(bits >> STATE_BITS == 0);
        Words([bits as u32, (bits >> 32) as u32, (bits >> 64) as u32])
    }

    /// The words of a number from -2^95 on and below 2^95.
    #[inline]
    pub(crate) fn of_signed(number: i128) -> Words {
        debug_assert!(number >> (STATE_BITS - 1) == 0 || number >> (STATE_BITS - 1) == -1);
        Words([number as u32, (number >> 32) as u32, (number >> 64) as u32])
    }

    /// The number that [`of`](Words::of) was told.
    #[inline]
    pub(crate) fn bits(self) -> u128 {
        let Words([low, middle, high]) = self;
        u128::from(high) << 64 | u128::from(u64::from(middle) << 32 | u64::from(low))
    }

    /// The number that [`of_signed`](Words::of_signed) was told.
    #[inline]
    pub(crate) fn signed(self) -> i128 {
        let unused = u128::BITS - STATE_BITS;
        (self.bits() << unused).cast_signed() >> unused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_with_their_sign() {
        let end = 1i128 << 95;
        for number in [0, 1, -1, end - 1, -end, 1 << 64, -(1 << 64), 1 << 32, -(1 << 32) - 1] {
            assert_eq!(Words::of_signed(number).signed(), number);
        }
        for bits in [0, 1, (1 << 96) - 1, 1 << 95, 1 << 64, 1 << 32] {
            assert_eq!(Words::of(bits).bits(), bits);
        }
    }
}
