//! What the processor can do and safe Rust has no word for: fetch ahead, and compare sixteen words at once.
//!
//! A load that misses every cache holds up the instructions behind it once the processor's window is full, so that reading
//! ahead by loads overlaps a handful of misses. A prefetch is done with as soon as it is asked for: a whole batch of
//! misses is under way while the batch is still being looked at.
//!
//! All `unsafe` of the project is here. Elsewhere than on x86-64, and under miri, plain code stands in its place.

#![allow(unsafe_code, reason = "measured: a third of a decision's time at a million keys; see docs/benchmarks.md")]

/// Words that are compared at once.
pub(crate) const LANES: usize = 16;

/// Asks for the cache line of `place`, and does not wait for it.
#[inline(always)]
pub(crate) fn prefetch<T>(place: &T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: the address is that of a live reference, and a prefetch changes nothing that a program can observe. SSE,
    // where the instruction is from, is part of every x86-64 processor.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = place;
}

/// A bit for each of `words` that is `wanted` where `mask` has ones.
#[inline(always)]
pub(crate) fn alike(words: &[u32; LANES], mask: u32, wanted: u32) -> u32 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: SSE2 is part of every x86-64 processor.
    return unsafe { alike_by_vector(words, mask, wanted) };
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    alike_by_word(words, mask, wanted)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
#[inline]
fn alike_by_vector(words: &[u32; LANES], mask: u32, wanted: u32) -> u32 {
    use std::arch::x86_64::{
        _mm_and_si128, _mm_cmpeq_epi32, _mm_movemask_epi8, _mm_packs_epi16, _mm_packs_epi32, _mm_set_epi32,
        _mm_set1_epi32,
    };
    let (mask, wanted) = (_mm_set1_epi32(mask.cast_signed()), _mm_set1_epi32(wanted.cast_signed()));
    let (fours, _) = words.as_chunks::<4>();
    // All ones in each lane that is alike.
    let four = |at: usize| {
        let [a, b, c, d] = fours[at].map(u32::cast_signed);
        _mm_cmpeq_epi32(_mm_and_si128(_mm_set_epi32(d, c, b, a), mask), wanted)
    };
    // Saturation keeps all ones and none while the lanes are narrowed to a byte each.
    let (low, high) = (_mm_packs_epi32(four(0), four(1)), _mm_packs_epi32(four(2), four(3)));
    _mm_movemask_epi8(_mm_packs_epi16(low, high)).cast_unsigned()
}

#[cfg(any(test, not(target_arch = "x86_64"), miri))]
fn alike_by_word(words: &[u32; LANES], mask: u32, wanted: u32) -> u32 {
    let bit = |(at, word): (usize, &u32)| u32::from(word & mask == wanted) << at;
    words.iter().enumerate().map(bit).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_alike_by_the_vector_as_by_the_word() {
        for wanted in 0..8 {
            for seed in 0..1_000u32 {
                let words = std::array::from_fn(|at| seed.wrapping_mul(0x9e37_79b9).rotate_left(at as u32 * 5));
                for (mask, wanted) in [(7, wanted), (7 << 29, wanted << 29), (u32::MAX, words[wanted as usize])] {
                    assert_eq!(alike(&words, mask, wanted), alike_by_word(&words, mask, wanted), "{words:x?} {mask:x}");
                }
            }
        }
    }
}
