//! The one hint that safe Rust has no word for.
//!
//! A load that misses every cache holds up the instructions behind it once the processor's window is full, so that reading
//! ahead by loads overlaps a handful of misses. A prefetch is done with as soon as it is asked for: a whole batch of
//! misses is under way while the batch is still being decoded.

#![allow(unsafe_code, reason = "measured: a third of a decision's time at a million keys; see docs/benchmarks.md")]

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
