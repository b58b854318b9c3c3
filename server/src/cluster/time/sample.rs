//! What one answer of the leader says about its clock.

/// A round trip longer than this says too little to be of use, in microseconds.
pub const ROUND_TRIP_US_MAX: u64 = 100_000;

/// By how much the clocks of two nodes may differ in pace, in hundredths: a percent, and what slewing adds.
const PACES_DIFFER_PERCENT: u64 = 2;

/// When the leader was asked for its time, when it answered, and what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    asked_boot_us: u64,
    answered_boot_us: u64,
    leader_us: u64,
}

impl Sample {
    /// A sample; `asked` and `answered` in microseconds since this node's boot. `None` if the answer took too long, or
    /// came before it was asked for.
    pub fn new(asked_boot_us: u64, answered_boot_us: u64, leader_us: u64) -> Option<Sample> {
        let round_trip_us = answered_boot_us.checked_sub(asked_boot_us)?;
        (round_trip_us <= ROUND_TRIP_US_MAX).then_some(Sample { asked_boot_us, answered_boot_us, leader_us })
    }

    /// When the answer came, in microseconds since this node's boot.
    pub fn at_boot_us(&self) -> u64 {
        self.answered_boot_us
    }

    /// How long the answer took, in microseconds.
    pub fn round_trip_us(&self) -> u64 {
        self.answered_boot_us - self.asked_boot_us
    }

    /// What the leader's clock showed at least when the answer came.
    pub fn earliest_us(&self) -> u64 {
        self.leader_us
    }

    /// What it showed at most. Two microseconds more, because three readings were rounded down.
    pub fn latest_us(&self) -> u64 {
        let round_trip_us = self.round_trip_us();
        self.leader_us + round_trip_us + round_trip_us * PACES_DIFFER_PERCENT / 100 + 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_bounds_the_leaders_clock_by_its_round_trip() {
        let sample = Sample::new(1_000, 1_500, 70_000).unwrap();
        assert_eq!((sample.earliest_us(), sample.latest_us()), (70_000, 70_512));
        assert_eq!((sample.at_boot_us(), sample.round_trip_us()), (1_500, 500));
    }

    #[test]
    fn an_answer_that_took_too_long_is_none() {
        assert!(Sample::new(0, ROUND_TRIP_US_MAX, 0).is_some());
        assert!(Sample::new(0, ROUND_TRIP_US_MAX + 1, 0).is_none());
        assert!(Sample::new(1, 0, 0).is_none(), "answered before it was asked");
    }
}
