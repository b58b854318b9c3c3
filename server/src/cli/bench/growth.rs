//! A target that grows: every call of an open loop is for a key that it has never seen.

use std::ops::Range;
use std::time::Duration;

use super::accounts::Accounts;
use super::arrivals::Arrivals;
use super::error::BenchError;
use super::mix::Mix;
use super::numbers;
use super::round::Round;
use super::subject::Subject;

/// New keys, in equal shares over the rounds; so targets still alternate.
#[derive(Clone, Debug)]
pub(super) struct Growth {
    pub(super) keys: Accounts,
    pub(super) rounds: u32,
}

impl Growth {
    /// The share of round `number`, from 1. After the last one the keys are forgotten where they would be kept.
    pub(super) async fn round(
        &self,
        subject: &Subject,
        (calls_per_s, batch): (u64, u32),
        number: u32,
    ) -> Result<Round, BenchError> {
        let share = self.share(number);
        // A second more than the keys last: the round ends with them.
        let length = Duration::from_secs(u64::from(share.end - share.start) / calls_per_s.max(1) + 1);
        let arrivals = Arrivals::within(length, calls_per_s, batch);
        let limit = numbers::load(subject.algorithm, Mix::Uniform);
        let round = subject.pace_through(arrivals, &self.keys, share, &limit).await?;
        if number == self.rounds {
            subject.forget(&self.keys).await?;
        }
        Ok(round)
    }

    fn share(&self, number: u32) -> Range<u32> {
        let until = |round: u32| u64::from(self.keys.count) * u64::from(round) / u64::from(self.rounds);
        let [start, end] = [number - 1, number].map(|round| u32::try_from(until(round)).unwrap_or(self.keys.count));
        start..end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rounds_share_all_keys_and_each_is_new() {
        let growth = Growth { keys: Accounts { prefix: "g".into(), count: 10 }, rounds: 3 };
        let shares: Vec<Range<u32>> = (1..=3).map(|number| growth.share(number)).collect();
        assert_eq!(shares, [0..3, 3..6, 6..10]);
    }
}
