//! Steering: from what was learned of the right time to how the clock runs on.

use super::sample::Sample;
use crate::sys::clock::{Line, Pace};

/// A follower that is behind by more than this was stopped while the leader was not, and goes forward at once, in
/// microseconds: slewing would take it minutes. Four times as much, and its peers' records would seem to come from the
/// future.
pub const STEP_US_MIN: u64 = 250_000;

/// The largest pace that a follower takes: clocks differ by a percent at most, and the leader's slews.
const PACE_MAX: Pace = Pace::ppm(11_000);
const PACE_MIN: Pace = Pace::ppm(-11_000);

/// Two answers say something about the pace when they lie this far apart, and up to three times as far, in microseconds.
const BASELINE_US: u64 = 10_000_000;

/// What clocks that differ in pace by the most that they may come apart in a while, in hundredths. What came apart by more
/// was not a matter of pace.
const APART_PERCENT: u64 = 3;

/// How the clock of a node is steered.
#[derive(Clone, Debug)]
pub struct Steering {
    line: Line,
    course: Option<Course>,
    deviation: Deviation,
}

/// How far off a clock was when it was last compared, with the leader's or, if it leads, with wall time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deviation {
    /// The smallest change that makes it right, in microseconds; negative = it was ahead.
    pub behind_us: i64,
    /// How exactly that is known: the round trip of the answer, in microseconds; 0 of wall time.
    pub within_us: u64,
    /// Times that it went forward at once since it was started.
    pub steps: u64,
}

/// The leader that is followed, and the answers of it that bound the pace.
#[derive(Clone, Copy, Debug)]
struct Course {
    term: u64,
    last: Sample,
    /// The pace is found between this answer and the last one.
    from: Sample,
    /// What will take its place.
    next: Sample,
    /// The quickest answer since `next`.
    quickest: Sample,
}

impl Steering {
    /// The clock runs along `line`, and nothing is known of others.
    pub fn new(line: Line) -> Steering {
        Steering { line, course: None, deviation: Deviation::default() }
    }

    /// How the clock runs on.
    pub fn line(&self) -> &Line {
        &self.line
    }

    /// How far off the clock was when it was last compared.
    pub fn deviation(&self) -> Deviation {
        self.deviation
    }

    /// Slews towards wall time, which may itself step: a leader's clock does not.
    pub fn lead(&mut self, boot_us: u64, wall_us: u64) {
        let behind_us = difference(wall_us, self.line.at(boot_us));
        self.course = None;
        self.deviation = Deviation { behind_us, within_us: 0, ..self.deviation };
        self.line = self.line.bent_at(boot_us, self.line.pace(), behind_us);
    }

    /// Begins at the leader's time, also if that is a step back.
    pub fn begin(&mut self, term: u64, sample: Sample) {
        self.line = Line::new(sample.at_boot_us(), sample.earliest_us());
        self.course = Some(Course::new(term, sample));
        self.deviation = Deviation { behind_us: 0, within_us: sample.round_trip_us(), ..self.deviation };
    }

    /// Makes the smallest change of pace and of what is owed that agrees with the leader's answer.
    ///
    /// A clock that is far behind steps forward; one that is far ahead can only slew.
    pub fn follow(&mut self, term: u64, sample: Sample) {
        let boot_us = sample.at_boot_us();
        let shown_us = self.line.at(boot_us);
        let behind_us = difference(shown_us.clamp(sample.earliest_us(), sample.latest_us()), shown_us);
        self.deviation = Deviation { behind_us, within_us: sample.round_trip_us(), ..self.deviation };
        let course = self.course.filter(|course| course.term == term && self.is_plausible(course, &sample, behind_us));
        let mut course = course.unwrap_or(Course::new(term, sample));
        course.take(sample);
        self.course = Some(course);
        if behind_us > 0 && behind_us.unsigned_abs() > STEP_US_MIN {
            self.deviation.steps += 1;
            self.line = Line::new(boot_us, sample.earliest_us()).bent_at(boot_us, self.line.pace(), 0);
        } else {
            self.line = self.line.bent_at(boot_us, course.pace(self.line.pace()), behind_us);
        }
    }

    /// Whether the clocks can have come so far apart since the last answer by their paces alone. If not, one of them stood
    /// still or jumped, and what was learned of the pace before says nothing any more.
    fn is_plausible(&self, course: &Course, sample: &Sample, behind_us: i64) -> bool {
        let passed_us = sample.at_boot_us().saturating_sub(course.last.at_boot_us());
        let explained_us = self.line.owed_at(sample.at_boot_us()).unsigned_abs() + passed_us * APART_PERCENT / 100;
        behind_us.unsigned_abs() <= explained_us + course.last.round_trip_us()
    }
}

impl Course {
    fn new(term: u64, sample: Sample) -> Course {
        Course { term, last: sample, from: sample, next: sample, quickest: sample }
    }

    /// Notes an answer. Where the pace is found from moves on, from one quick answer to another.
    fn take(&mut self, sample: Sample) {
        self.last = sample;
        if sample.round_trip_us() <= self.quickest.round_trip_us() || self.quickest == self.next {
            self.quickest = sample;
        }
        if sample.at_boot_us().saturating_sub(self.next.at_boot_us()) >= BASELINE_US {
            (self.from, self.next, self.quickest) = (self.next, self.quickest, self.quickest);
        }
    }

    /// The pace closest to `pace` that both answers allow.
    fn pace(&self, pace: Pace) -> Pace {
        let passed_us = self.last.at_boot_us().saturating_sub(self.from.at_boot_us());
        if passed_us == 0 {
            return pace;
        }
        let gained = |to_us: u64, from_us: u64| i128::from(to_us) - i128::from(from_us) - i128::from(passed_us);
        let slowest = Pace::gaining(gained(self.last.earliest_us(), self.from.latest_us()), passed_us);
        let fastest = Pace::gaining(gained(self.last.latest_us(), self.from.earliest_us()), passed_us);
        pace.max(slowest).min(fastest).clamp(PACE_MIN, PACE_MAX)
    }
}

fn difference(of_us: u64, from_us: u64) -> i64 {
    let difference = i128::from(of_us) - i128::from(from_us);
    i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
}
