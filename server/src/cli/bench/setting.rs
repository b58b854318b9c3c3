//! How a target is asked: in which shape, and how fast.

use std::fmt;

/// One way of asking, which is measured in some rounds of every target that takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub(super) struct Setting {
    pub(super) shape: Shape,
    pub(super) pace: Pace,
}

/// What comes at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Shape {
    /// Connections that say so many calls at once.
    Pipeline(u32),
    /// Callers of one client, so many of them in a closed loop.
    Callers(u32),
}

/// When the next calls are said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Pace {
    /// When the last ones have been answered.
    Closed,
    /// At so many hundredths of the rate that the target reached in the closed loop of this shape.
    Percent(u32),
    /// At so many calls a second.
    Rate(u64),
    /// At half of the closed loop's rate, every call for a key that was never seen before.
    Growing,
    /// At half of the closed loop's rate, while many other keys expire at one instant.
    Expiring,
}

/// Hundredths of the closed loop's rate while a target grows, and while keys expire.
const PERCENT_OF_EVENTS: u32 = 50;

impl Setting {
    pub(super) fn closed(shape: Shape) -> Setting {
        Setting { shape, pace: Pace::Closed }
    }

    /// The closed loop of the same shape.
    pub(super) fn in_closed_loop(self) -> Setting {
        Setting::closed(self.shape)
    }

    /// Calls a second of an open loop; `reached` is what the closed loop reached. `None` of a closed loop.
    pub(super) fn calls_per_s(self, reached: u64) -> Option<u64> {
        let percent = |percent: u32| reached.saturating_mul(percent.into()) / 100;
        match self.pace {
            Pace::Closed => None,
            Pace::Percent(hundredths) => Some(percent(hundredths)),
            Pace::Rate(calls_per_s) => Some(calls_per_s),
            Pace::Growing | Pace::Expiring => Some(percent(PERCENT_OF_EVENTS)),
        }
    }
}

impl Shape {
    /// Calls that come at once.
    pub(super) fn batch(self) -> u32 {
        match self {
            Shape::Pipeline(depth) => depth,
            Shape::Callers(_) => 1,
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.shape, self.pace) {
            (shape, Pace::Closed) => shape.fmt(f),
            // So many callers as the rate needs, not so many as in the closed loop.
            (Shape::Callers(_), pace) => write!(f, "callers, {pace}"),
            (shape, pace) => write!(f, "{shape}, {pace}"),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Pipeline(depth) => write!(f, "pipeline {depth}"),
            Shape::Callers(callers) => write!(f, "{callers} callers"),
        }
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pace::Closed => write!(f, "closed loop"),
            Pace::Percent(percent) => write!(f, "{percent} %"),
            Pace::Rate(calls_per_s) => write!(f, "{calls_per_s}/s"),
            Pace::Growing => write!(f, "growing"),
            Pace::Expiring => write!(f, "expiring"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(shape: Shape, pace: Pace, name: &str, calls_per_s: Option<u64>) {
        let setting = Setting { shape, pace };
        assert_eq!(setting.to_string(), name);
        assert_eq!(setting.calls_per_s(200_000), calls_per_s, "{name}");
    }

    #[test]
    fn a_setting_has_a_name_and_an_open_one_a_rate() {
        check(Shape::Pipeline(16), Pace::Closed, "pipeline 16", None);
        check(Shape::Callers(64), Pace::Closed, "64 callers", None);
        check(Shape::Pipeline(1), Pace::Percent(75), "pipeline 1, 75 %", Some(150_000));
        check(Shape::Callers(64), Pace::Percent(25), "callers, 25 %", Some(50_000));
        check(Shape::Pipeline(1), Pace::Rate(7), "pipeline 1, 7/s", Some(7));
        check(Shape::Pipeline(1), Pace::Growing, "pipeline 1, growing", Some(100_000));
        check(Shape::Pipeline(1), Pace::Expiring, "pipeline 1, expiring", Some(100_000));
    }
}
