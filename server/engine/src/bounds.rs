//! How much one engine may hold.

/// What one key of a fixed-size algorithm is reckoned to take, in bytes, when a byte cap is turned into a key cap.
pub const KEY_BYTES: usize = 48;

/// What bounds one engine.
///
/// ```
/// use tallyring_engine::Bounds;
/// let bounds = Bounds::of_bytes(96 << 20);
/// assert_eq!(bounds.rule_keys_max, 1 << 20); // half of what fits
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of counters, everything included. Past it new keys get [`Full`](crate::Full).
    pub bytes_max: usize,
    /// Keys that one rule may hold, so that a spray of keys under one rule does not starve the others.
    pub rule_keys_max: usize,
    /// Limits (a rule and its numbers) in use at the same time.
    pub limits_max: usize,
    /// Limits of one rule in use at the same time: numbers that come with every command belong to no rule, and whoever
    /// invents new ones does not use up those of the rules.
    pub rule_limits_max: usize,
    /// Rules whose decisions are counted.
    pub rules_max: usize,
    /// Reservations that are neither settled nor expired.
    pub reservations_max: usize,
}

impl Bounds {
    /// A cap in bytes, and what follows from it: one rule may fill half.
    pub const fn of_bytes(bytes_max: usize) -> Bounds {
        Bounds {
            bytes_max,
            rule_keys_max: bytes_max / 2 / KEY_BYTES,
            limits_max: 262_144,
            rule_limits_max: 131_072,
            rules_max: 65_536,
            reservations_max: 100_000,
        }
    }
}

/// Generous: 4 GiB of counters, some 80 million keys.
impl Default for Bounds {
    fn default() -> Bounds {
        Bounds::of_bytes(4 << 30)
    }
}
