//! What the allocator holds for a block, so that the byte cap counts what the machine sees.

/// A header of eight bytes, rounded up to sixteen, at least thirty-two: glibc's malloc, and close to what others do.
pub(crate) const fn allocated_bytes(bytes: usize) -> usize {
    match (bytes + 8).next_multiple_of(16) {
        _ if bytes == 0 => 0,
        16 => 32,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_rounded_up_and_nothing_is_free() {
        for (bytes, expect) in [(0, 0), (1, 32), (24, 32), (25, 48), (40, 48), (41, 64), (4096, 4112)] {
            assert_eq!(allocated_bytes(bytes), expect, "{bytes}");
        }
    }
}
