//! How a clock runs: a straight line over the time since boot, a little steeper or flatter until what it owes is made up.

/// How much faster or slower than its own pace a clock may run while it makes up what it owes, in parts per million: what
/// clocks that are disciplined by NTP do to each other anyway.
pub const SLEW_PPM_MAX: i64 = 500;

/// Parts of a microsecond that a line counts in: 2^32, so that bending it a thousand times an hour loses nothing.
const PARTS: i128 = 1 << 32;

/// [`SLEW_PPM_MAX`] in parts of a microsecond a microsecond, rounded down.
const SLEW: i128 = SLEW_PPM_MAX as i128 * PARTS / 1_000_000;

/// How much faster than the time since boot a clock runs, in 2^-32; negative = slower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pace(i64);

impl Pace {
    /// Parts per million.
    pub const fn ppm(ppm: i64) -> Pace {
        Pace((ppm as i128 * PARTS / 1_000_000) as i64)
    }

    /// What a clock gains that shows `gained_us` more (or, negative, less) after `elapsed_us`, which are some; rounded to
    /// the slower one.
    pub fn gaining(gained_us: i128, elapsed_us: u64) -> Pace {
        let pace = (gained_us * PARTS).div_euclid(i128::from(elapsed_us.max(1)));
        Pace(i64::try_from(pace).unwrap_or(if pace < 0 { i64::MIN } else { i64::MAX }))
    }

    /// In parts per million, rounded towards zero.
    pub fn to_ppm(self) -> i64 {
        i64::try_from(i128::from(self.0) * 1_000_000 / PARTS).expect("a pace in ppm is smaller than in 2^-32")
    }
}

/// A clock's run from an instant on. It never goes back, for every pace above −99 %.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    since_boot_us: u64,
    /// What it shows there, in parts of a microsecond since the Unix epoch.
    from: i128,
    pace: Pace,
    /// What it has still to gain there, or, negative, to lose, in microseconds.
    owed_us: i64,
}

impl Line {
    /// Shows `now_us` at `boot_us`, and runs as the time since boot does.
    pub fn new(boot_us: u64, now_us: u64) -> Line {
        Line { since_boot_us: boot_us, from: i128::from(now_us) * PARTS, pace: Pace(0), owed_us: 0 }
    }

    /// What it shows, in microseconds since the Unix epoch. Before its beginning it stands.
    #[inline]
    pub fn at(&self, boot_us: u64) -> u64 {
        u64::try_from(self.parts_at(boot_us) / PARTS).unwrap_or(0)
    }

    /// What it shows there, but from there on at this pace, and owing so much.
    pub fn bent_at(&self, boot_us: u64, pace: Pace, owed_us: i64) -> Line {
        let since_boot_us = boot_us.max(self.since_boot_us);
        Line { since_boot_us, from: self.parts_at(since_boot_us), pace, owed_us }
    }

    /// Its pace, without what it makes up.
    pub fn pace(&self) -> Pace {
        self.pace
    }

    /// What it still owes there, in microseconds.
    pub fn owed_at(&self, boot_us: u64) -> i64 {
        let left = i128::from(self.owed_us) * PARTS - self.made_up(self.elapsed(boot_us));
        i64::try_from(left / PARTS).expect("less than what was owed at first")
    }

    #[inline]
    fn elapsed(&self, boot_us: u64) -> i128 {
        i128::from(boot_us.saturating_sub(self.since_boot_us))
    }

    #[inline]
    fn parts_at(&self, boot_us: u64) -> i128 {
        let elapsed = self.elapsed(boot_us);
        self.from + elapsed * (PARTS + i128::from(self.pace.0)) + self.made_up(elapsed)
    }

    /// What it has made up after so many microseconds.
    #[inline]
    fn made_up(&self, elapsed: i128) -> i128 {
        let most = elapsed * SLEW;
        (i128::from(self.owed_us) * PARTS).clamp(-most, most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;
    const YEAR: u64 = 365 * 86_400 * SECOND;

    fn check(pace: Pace, owed_us: i64, after_us: u64, expect: u64) {
        let line = Line::new(7, 1_000).bent_at(7, pace, owed_us);
        assert_eq!(line.at(7 + after_us), expect, "{pace:?}, owing {owed_us}, after {after_us}");
    }

    #[test]
    fn it_runs_as_the_time_since_boot_does() {
        check(Pace::default(), 0, 0, 1_000);
        check(Pace::default(), 0, YEAR, YEAR + 1_000);
        assert_eq!(Line::new(50, 1_000).at(3), 1_000, "before its beginning it stands");
    }

    #[test]
    fn what_is_owed_is_made_up_at_500_parts_per_million_and_no_more_than_that() {
        check(Pace::default(), 100, 10_000, 11_000 + 4); // 4.99…: SLEW is rounded down
        check(Pace::default(), -100, 10_000, 11_000 - 5);
        check(Pace::default(), 100, SECOND, SECOND + 1_100);
        check(Pace::default(), -100, YEAR, YEAR + 900);
    }

    #[test]
    fn a_pace_is_for_good() {
        check(Pace::ppm(10_000), 0, 100 * SECOND, 101 * SECOND + 999); // 2^-32 is not decimal
        check(Pace::ppm(-10_000), 0, 100 * SECOND, 99 * SECOND + 1_000);
    }

    #[test]
    fn what_is_still_owed_gets_less() {
        let line = Line::new(0, 0).bent_at(0, Pace::default(), -1_000);
        assert_eq!([0, SECOND, 3 * SECOND].map(|at| line.owed_at(at)), [-1_000, -500, 0]);
    }

    #[test]
    fn a_thousand_bends_lose_nothing() {
        let pace = Pace::ppm(137);
        let straight = Line::new(0, 0).bent_at(0, pace, 0);
        let bent = (1..=1_000).fold(straight, |line, no| line.bent_at(no * 60_007, pace, 0));
        assert_eq!(bent.at(YEAR), straight.at(YEAR));
    }

    #[test]
    fn it_never_goes_back_whatever_it_owes() {
        for (ppm, owed_us) in [(-12_000, -1_000_000), (12_000, -7), (0, i64::MIN), (-12_000, i64::MAX)] {
            let line = Line::new(0, YEAR).bent_at(0, Pace::ppm(ppm), owed_us);
            let shown: Vec<u64> = (0..20_000).map(|at| line.at(at)).collect();
            assert!(shown.is_sorted(), "{ppm} ppm, owing {owed_us}");
        }
    }

    #[test]
    fn a_pace_is_what_was_gained_over_the_time_it_took() {
        assert_eq!(Pace::gaining(10_000, SECOND).to_ppm(), 9_999); // and a part of one
        assert_eq!(Pace::gaining(0, SECOND), Pace::default());
        assert!(Pace::gaining(-1, SECOND) < Pace::default());
        assert_eq!(Pace::gaining(i128::from(u64::MAX), 0), Pace(i64::MAX));
    }
}
