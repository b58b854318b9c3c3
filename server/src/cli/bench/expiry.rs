//! Many keys that expire at one instant, while an open loop asks for others.
//!
//! The keys are counted in fixed windows, all of which end at the same moment of the clock. A target fills them within one
//! window, as fast as it can; the loop begins a second before that window ends.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tallyring_engine::{Algorithm, Limit, Period};

use super::accounts::Accounts;
use super::arrivals::Arrivals;
use super::error::BenchError;
use super::mix::Pick;
use super::round::Round;
use super::subject::Subject;

/// The shortest window: windows are whole minutes.
const MINUTE_S: u64 = 60;

/// How long before the end of the window the loop begins.
const LEAD: Duration = Duration::from_secs(1);

/// A window, and when to begin to fill it, in seconds of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Window {
    length_s: u64,
    fill_at_s: u64,
    end_s: u64,
}

impl Window {
    /// The first that has room for `fill_s` seconds of filling, and as much again, since targets are not always as fast
    /// as they were.
    fn at(now_s: u64, fill_s: u64) -> Window {
        let needed_s = 2 * fill_s + 3;
        let length_s = needed_s.next_multiple_of(MINUTE_S);
        let end_s = (now_s + 1).next_multiple_of(length_s);
        if end_s - now_s >= needed_s {
            return Window { length_s, fill_at_s: now_s, end_s };
        }
        Window { length_s, fill_at_s: end_s, end_s: end_s + length_s }
    }

    fn limit(self) -> Limit {
        Limit::new(Algorithm::FixedWindow, 1_000, Period::Micros(self.length_s * 1_000_000), None)
            .expect("a window of some minutes is within bounds")
    }
}

/// One round: fills, waits, and asks at the rate until `length` after the keys have expired. `reached` is how many calls a
/// second the target takes.
pub(super) async fn round(
    subject: &Subject,
    (calls_per_s, batch): (u64, u32),
    keys: &Accounts,
    reached: u64,
    length: Duration,
    number: u32,
    pick: &Pick,
) -> Result<Round, BenchError> {
    let window = Window::at(since_epoch().as_secs(), u64::from(keys.count) / reached.max(1));
    if subject.decides() {
        sleep_until(Duration::from_secs(window.fill_at_s)).await;
        subject.spread(keys, 0..keys.count, &window.limit()).await?;
        sleep_until(Duration::from_secs(window.end_s).saturating_sub(LEAD)).await;
    }
    subject.pace(Arrivals::within(LEAD + length, calls_per_s, batch), number, pick).await
}

fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

async fn sleep_until(instant: Duration) {
    tokio::time::sleep(instant.saturating_sub(since_epoch())).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(now_s: u64, fill_s: u64, length_s: u64, fill_at_s: u64, end_s: u64) {
        let window = Window::at(now_s, fill_s);
        assert_eq!(window, Window { length_s, fill_at_s, end_s }, "at {now_s}, {fill_s} s to fill");
        assert!(window.end_s - window.fill_at_s > 2 * fill_s);
        assert_eq!(window.end_s % window.length_s, 0, "windows begin with the epoch");
        assert_eq!(window.limit().period(), Period::Micros(length_s * 1_000_000));
    }

    #[test]
    fn a_window_has_room_for_its_filling() {
        check(600, 1, 60, 600, 660);
        check(650, 1, 60, 650, 660);
        check(656, 1, 60, 660, 720);
        check(659, 0, 60, 660, 720);
        check(610, 20, 60, 610, 660);
        check(630, 20, 60, 660, 720);
        check(400, 200, 420, 420, 840);
    }
}
