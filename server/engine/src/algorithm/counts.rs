//! Counts by window, as an entry keeps them: in its own words where they fit, else aside.
//!
//! Every limit on a fixed window fits (40 bits), and on a sliding counter every limit below 2^24 on windows of a minute's
//! fraction or more, or below 2^32 on windows of two seconds and more. What does not (limits of billions a second, counts
//! that settling pushed far over their limit) costs a look aside, and no decision is another for it.

use super::words::{STATE_BITS, Words};
use crate::side::Side;

/// A window, by its end or its index, the count in it, and the count in the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) window: u64,
    pub(super) current: u64,
    pub(super) previous: u64,
}

/// How many bits each number has, below a number of two bits for the layout itself. Each is a type, so that every shift
/// is a constant.
struct Layout<const WINDOW: u32, const CURRENT: u32, const PREVIOUS: u32>;

/// Any fixed window, and a sliding counter that has no count before.
type Fixed = Layout<54, 40, 0>;
/// Windows of two seconds and more until the year 2038.
type Sliding = Layout<30, 32, 32>;
/// Short windows.
type Brief = Layout<46, 24, 24>;

const FIXED: u8 = 0;
const SLIDING: u8 = 1;
const BRIEF: u8 = 2;
/// In place of a layout: the counts are kept aside.
const ASIDE: u8 = 3;

/// Bits below the layout's number.
const PACKED_BITS: u32 = STATE_BITS - 2;

impl<const WINDOW: u32, const CURRENT: u32, const PREVIOUS: u32> Layout<WINDOW, CURRENT, PREVIOUS> {
    #[inline(always)]
    fn fits(counts: &Counts) -> bool {
        counts.window >> WINDOW == 0 && counts.current >> CURRENT == 0 && counts.previous >> PREVIOUS == 0
    }

    #[inline(always)]
    fn pack(counts: &Counts) -> u128 {
        const { assert!(WINDOW + CURRENT + PREVIOUS <= PACKED_BITS) };
        let Counts { window, current, previous } = *counts;
        (u128::from(window) << CURRENT | u128::from(current)) << PREVIOUS | u128::from(previous)
    }

    #[inline(always)]
    fn unpack(packed: u128) -> Counts {
        let number = |shift: u32, bits: u32| (packed >> shift) as u64 & ((1 << bits) - 1);
        Counts {
            window: number(PREVIOUS + CURRENT, WINDOW),
            current: number(PREVIOUS, CURRENT),
            previous: number(0, PREVIOUS),
        }
    }
}

impl Counts {
    /// Keeps them where the entry had room for `before`, or in a new place.
    #[inline]
    pub(super) fn store(self, before: Option<Words>, side: &mut Side) -> Words {
        before.into_iter().for_each(|before| Counts::free(before, side));
        let (layout, packed) = match () {
            () if Fixed::fits(&self) => (FIXED, Fixed::pack(&self)),
            () if Sliding::fits(&self) => (SLIDING, Sliding::pack(&self)),
            () if Brief::fits(&self) => (BRIEF, Brief::pack(&self)),
            () => (ASIDE, side.counts.insert([self.window, self.current, self.previous]).into()),
        };
        Words::of(u128::from(layout) << PACKED_BITS | packed)
    }

    #[inline]
    pub(super) fn load(words: Words, side: &mut Side) -> Counts {
        let packed = words.bits();
        match layout(words) {
            FIXED => Fixed::unpack(packed),
            SLIDING => Sliding::unpack(packed),
            BRIEF => Brief::unpack(packed),
            _ => {
                let [window, current, previous] = *side.counts.get_mut(packed as u32);
                Counts { window, current, previous }
            }
        }
    }

    /// Frees what is kept aside.
    #[inline]
    pub(super) fn free(words: Words, side: &mut Side) {
        if layout(words) == ASIDE {
            side.counts.remove(words.bits() as u32);
        }
    }
}

fn layout(words: Words) -> u8 {
    (words.bits() >> PACKED_BITS) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_come_back_whole_from_the_entry_and_from_aside() {
        let mut side = Side::default();
        let end = |bits: u32| (1u64 << bits) - 1;
        for (window, current, previous, aside) in [
            (0, 0, 0, 0),
            (end(54), end(40), 0, 0),
            (end(30), end(32), end(32), 0),
            (end(46), end(24), end(24), 0),
            (end(54), 0, 1, 1),
            (end(30), end(32) + 1, 1, 1),
            (end(30), 1, end(32) + 1, 1),
            (end(30) + 1, end(24) + 1, 1, 1),
            (0, end(40) + 1, 0, 1),
            (u64::MAX, u64::MAX, u64::MAX, 1),
        ] {
            let counts = Counts { window, current, previous };
            let words = counts.store(None, &mut side);
            assert_eq!(side.counts.len(), aside, "{counts:?}");
            assert_eq!(Counts::load(words, &mut side), counts);
            let again = counts.store(Some(words), &mut side);
            assert_eq!(Counts::load(again, &mut side), counts);
            Counts::free(again, &mut side);
            assert_eq!(side.counts.len(), 0, "{counts:?}");
        }
    }
}
