//! How long nobody leads, as this node sees it.
//!
//! A follower hears of its leader whenever that one calls; a leader of itself when a majority has answered. From the last
//! word of one to the first of the next nothing can be agreed on: rules cannot be pushed, members come and go by themselves.
//! What decides about keys goes on meanwhile.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::observe::histogram::{Histogram, micros};

/// A silence that is worth a line of the log, although the same leader ended it.
const REMARKABLE: Duration = Duration::from_millis(400);

/// Counts the silences.
#[derive(Clone, Debug)]
pub struct Vigil(Arc<Mutex<Watch>>);

/// What a vigil has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leaderless {
    /// The silences that have ended: all that another leader ended, and of one leader those that others might have taken for
    /// its end.
    pub silences: Histogram,
    /// How long it has been silent now, in microseconds.
    pub now_us: u64,
}

#[derive(Debug)]
struct Watch {
    /// A leader is not missed any earlier.
    patience: Duration,
    last: Option<Heard>,
    silences: Histogram,
}

/// The last word of a leader.
#[derive(Clone, Copy, Debug)]
struct Heard {
    term: u64,
    at: Instant,
    /// Whether it is this node, which nobody else votes with: then it is never missed.
    is_alone: bool,
}

impl Vigil {
    /// A vigil that lets a leader be silent for `patience`.
    pub fn new(patience: Duration) -> Vigil {
        let watch = Watch { patience, last: None, silences: Histogram::default() };
        Vigil(Arc::new(Mutex::new(watch)))
    }

    /// The leader of `term` was alive at `at`.
    pub fn hear(&self, term: u64, at: Instant) {
        self.0.lock().hear(Heard { term, at, is_alone: false });
    }

    /// This node leads in `term` and is the only one that votes.
    pub fn lead_alone(&self, term: u64) {
        self.0.lock().hear(Heard { term, at: Instant::now(), is_alone: true });
    }

    /// What was seen until now.
    pub fn report(&self) -> Leaderless {
        let watch = self.0.lock();
        let missed = watch.last.filter(|last| !last.is_alone).map(|last| last.at.elapsed());
        let missed = missed.filter(|silence| *silence > watch.patience).unwrap_or_default();
        Leaderless { silences: watch.silences, now_us: micros(missed) }
    }
}

impl Watch {
    fn hear(&mut self, heard: Heard) {
        // What is heard late, behind a later word, says nothing new.
        if self.last.is_some_and(|last| heard.term < last.term || (heard.term == last.term && heard.at < last.at)) {
            return;
        }
        let Some(last) = self.last.replace(heard).filter(|last| !last.is_alone) else { return };
        let is_another = last.term != heard.term;
        let silence = heard.at.saturating_duration_since(last.at);
        if is_another || silence > self.patience {
            self.silences.observe(micros(silence), 1);
            tell(silence, heard.term, is_another);
        }
    }
}

/// A moment's silence is for who looks for it.
fn tell(silence: Duration, term: u64, is_another: bool) {
    let silent_ms = u64::try_from(silence.as_millis()).unwrap_or(u64::MAX);
    if is_another || silence > REMARKABLE {
        tracing::info!(silent_ms, term, is_another, "nobody led for a while");
    } else {
        tracing::debug!(silent_ms, term, is_another, "nobody led for a while");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is counted of words at (term, milliseconds): silences, and their sum in milliseconds.
    fn check(words: &[(u64, u64)], expect: (u64, u64)) {
        let (vigil, start) = (Vigil::new(Duration::from_millis(100)), Instant::now());
        words.iter().for_each(|(term, at_ms)| vigil.hear(*term, start + Duration::from_millis(*at_ms)));
        let silences = vigil.report().silences;
        assert_eq!((silences.count(), silences.sum_us() / 1_000), expect, "{words:?}");
    }

    #[test]
    fn a_leader_that_calls_in_time_is_not_missed() {
        check(&[], (0, 0));
        check(&[(1, 0), (1, 30), (1, 60), (1, 160)], (0, 0));
    }

    #[test]
    fn a_leader_that_was_silent_for_long_was_missed_until_it_called() {
        check(&[(1, 0), (1, 101), (1, 131)], (1, 101));
    }

    #[test]
    fn nobody_led_from_the_last_word_of_one_to_the_first_of_the_next() {
        check(&[(1, 0), (1, 30), (3, 380), (3, 410)], (1, 350));
        check(&[(1, 0), (2, 40)], (1, 40));
    }

    #[test]
    fn what_an_old_leader_says_late_is_not_heard() {
        check(&[(2, 0), (1, 50), (2, 150)], (1, 150));
        check(&[(2, 90), (2, 50), (2, 120)], (0, 0));
    }

    #[test]
    fn who_votes_alone_is_never_missed() {
        let vigil = Vigil::new(Duration::ZERO);
        vigil.lead_alone(1);
        assert_eq!(vigil.report().now_us, 0);
        vigil.hear(1, Instant::now() + Duration::from_secs(60));
        assert_eq!(vigil.report().silences.count(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_silence_that_goes_on_is_shown_from_the_moment_that_a_leader_is_missed() {
        let vigil = Vigil::new(Duration::from_millis(100));
        assert_eq!(vigil.report().now_us, 0);
        vigil.hear(1, Instant::now());
        tokio::time::advance(Duration::from_millis(100)).await;
        assert_eq!(vigil.report().now_us, 0);
        tokio::time::advance(Duration::from_millis(20)).await;
        assert_eq!(vigil.report().now_us, 120_000);
        assert_eq!(vigil.report().silences.count(), 0);
    }
}
