//! Whether a call is made again, and when.

use std::sync::Arc;
use std::time::Duration;

use super::backoff::Backoff;
use super::budget::{BudgetConfig, RetryBudget};
use super::outcome::Outcome;
use crate::sys::random::SharedRandom;

/// What a [`RetryPolicy`] is made of.
///
/// ```
/// use tallyring_client::retry::RetryConfig;
/// let config = RetryConfig { attempts_max: 5, ..RetryConfig::default() };
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryConfig {
    /// Attempts of one call, the first included.
    pub attempts_max: u32,
    /// The waits when nobody said how long.
    pub backoff: Backoff,
    /// What is added at random to a wait that was told, in percent of it. 100 spreads callers that were all refused at
    /// once evenly over as long a time again as each was told to wait.
    pub told_jitter_percent: u32,
    /// The longest told wait that is worth it; what is told to wait for longer gives up at once.
    pub told_max: Duration,
    /// What all calls together may retry.
    pub budget: BudgetConfig,
    /// Seeds the random waits; `None` draws a seed from the operating system.
    pub random_seed: Option<u64>,
}

impl Default for RetryConfig {
    fn default() -> RetryConfig {
        RetryConfig {
            attempts_max: 3,
            backoff: Backoff::default(),
            told_jitter_percent: 100,
            told_max: Duration::from_secs(300),
            budget: BudgetConfig::default(),
            random_seed: None,
        }
    }
}

/// When calls to one server are made again. Cheap to clone; the clones share one budget.
///
/// ```
/// use std::time::Duration;
/// use tallyring_client::retry::{Outcome, RetryConfig, RetryPolicy};
///
/// let policy = RetryPolicy::new(RetryConfig::default()); // one for all calls to a server
/// let mut attempts = policy.start(); // one for each call
/// let wait = attempts.next(Outcome::Told(Duration::from_secs(10))).unwrap();
/// assert!(Duration::from_secs(10) <= wait && wait <= Duration::from_secs(20));
/// // … sleep for `wait`, call again …
/// assert_eq!(attempts.next(Outcome::Success), None);
/// ```
#[derive(Clone, Debug)]
pub struct RetryPolicy(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    config: RetryConfig,
    budget: RetryBudget,
    random: SharedRandom,
}

impl RetryPolicy {
    /// A policy with a full budget.
    pub fn new(config: RetryConfig) -> RetryPolicy {
        let random = config.random_seed.map_or_else(SharedRandom::from_os, SharedRandom::from_seed);
        RetryPolicy(Arc::new(Inner { budget: RetryBudget::new(config.budget), random, config }))
    }

    /// A call that is about to be made for the first time.
    pub fn start(&self) -> Attempts {
        Attempts { policy: self.clone(), retries: 0 }
    }

    /// Tokens left in the budget: worth a gauge, since a budget that runs dry means that a server is in trouble.
    pub fn budget_tokens(&self) -> u32 {
        self.0.budget.tokens()
    }

    /// The wait that an outcome asks for before the next attempt, if another makes sense at all.
    fn wait(&self, outcome: Outcome, retry: u32) -> Option<Duration> {
        match outcome {
            Outcome::Success | Outcome::Final => None,
            Outcome::Failed => Some(self.0.config.backoff.draw(retry, &self.0.random)),
            Outcome::Told(told) if told > self.0.config.told_max => None,
            Outcome::Told(told) => Some(told.saturating_add(self.told_jitter(told))),
        }
    }

    fn told_jitter(&self, told: Duration) -> Duration {
        self.0.random.duration_up_to(told.saturating_mul(self.0.config.told_jitter_percent) / 100)
    }
}

/// The attempts of one call. A clone starts from the same count.
#[derive(Clone, Debug)]
pub struct Attempts {
    policy: RetryPolicy,
    retries: u32,
}

impl Attempts {
    /// How long to wait before the same call is made again; `None` if it is not. Takes one retry from the budget.
    pub fn next(&mut self, outcome: Outcome) -> Option<Duration> {
        let Inner { config, budget, .. } = &*self.policy.0;
        if outcome == Outcome::Success {
            budget.pay_success();
        }
        let has_attempts = self.retries.saturating_add(1) < config.attempts_max;
        let wait = self.policy.wait(outcome, self.retries).filter(|_| has_attempts && budget.try_take())?;
        self.retries += 1;
        Some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEN_SECONDS: Duration = Duration::from_secs(10);

    fn policy(change: impl FnOnce(&mut RetryConfig)) -> RetryPolicy {
        let budget = BudgetConfig { retry_cost: 0, ..BudgetConfig::default() };
        let mut config = RetryConfig { random_seed: Some(1), budget, ..RetryConfig::default() };
        change(&mut config);
        RetryPolicy::new(config)
    }

    /// How many attempts a call makes whose every attempt ends so.
    fn attempts(policy: &RetryPolicy, outcome: Outcome) -> u32 {
        let mut attempts = policy.start();
        1 + u32::try_from(std::iter::from_fn(|| attempts.next(outcome)).count()).unwrap()
    }

    #[test]
    fn jitter_only_adds() {
        // client-jit-01
        let policy = policy(|config| config.told_jitter_percent = 20);
        let waits: Vec<_> = (0..1_000).map(|_| policy.start().next(Outcome::Told(TEN_SECONDS)).unwrap()).collect();
        assert!(waits.iter().all(|wait| (TEN_SECONDS..=Duration::from_secs(12)).contains(wait)), "{waits:?}");
        let buckets: std::collections::BTreeSet<u128> = waits.iter().map(Duration::as_millis).collect();
        assert!(buckets.len() >= 500, "{} distinct milliseconds", buckets.len());
    }

    #[test]
    fn a_retry_budget_stops_the_storm() {
        // client-budget-01
        let budget = BudgetConfig { capacity: 500, retry_cost: 5, success_pays: 0 };
        let policy = policy(|config| config.budget = budget);
        let total: u32 = (0..200).map(|_| attempts(&policy, Outcome::Failed)).sum();
        assert_eq!((total, policy.budget_tokens()), (300, 0));
    }

    #[test]
    fn a_budget_that_ran_dry_recovers_with_the_server() {
        let policy = policy(|config| config.budget = BudgetConfig::default());
        let storm: u32 = (0..1_000).map(|_| attempts(&policy, Outcome::Failed)).sum();
        assert_eq!(storm, 1_010);
        (0..1_000).for_each(|_| assert_eq!(attempts(&policy, Outcome::Success), 1));
        assert_eq!(policy.budget_tokens(), 100);
        assert_eq!(attempts(&policy, Outcome::Failed), 3);
    }

    #[test]
    fn a_reset_already_past_is_tried_at_once() {
        assert_eq!(policy(|_| ()).start().next(Outcome::Told(Duration::ZERO)), Some(Duration::ZERO));
    }

    #[test]
    fn attempts_are_bounded() {
        let policy = policy(|config| config.attempts_max = 4);
        assert_eq!(attempts(&policy, Outcome::Failed), 4);
        assert_eq!(attempts(&policy, Outcome::Told(TEN_SECONDS)), 4);
    }

    #[test]
    fn what_no_attempt_changes_is_not_tried_again() {
        let policy = policy(|_| ());
        [Outcome::Success, Outcome::Final].iter().for_each(|outcome| assert_eq!(attempts(&policy, *outcome), 1));
    }

    #[test]
    fn a_wait_that_is_not_worth_it_takes_nothing_from_the_budget() {
        let policy = policy(|config| config.budget = BudgetConfig::default());
        assert_eq!(attempts(&policy, Outcome::Told(Duration::from_secs(301))), 1);
        assert_eq!(policy.budget_tokens(), 100);
    }

    #[test]
    fn the_longest_wait_does_not_wrap() {
        let policy = policy(|config| config.told_max = Duration::MAX);
        assert_eq!(policy.start().next(Outcome::Told(Duration::MAX)), Some(Duration::MAX));
    }

    #[test]
    fn no_attempts_at_all_is_the_first_one() {
        assert_eq!(attempts(&policy(|config| config.attempts_max = 0), Outcome::Failed), 1);
    }

    proptest::proptest! {
        #[test]
        fn no_told_wait_is_cut_short_or_more_than_jittered(told_us in 0..=u64::MAX, percent in 0_u32..=1_000, seed: u64) {
            let change = |config: &mut RetryConfig| {
                (config.told_max, config.told_jitter_percent, config.random_seed) = (Duration::MAX, percent, Some(seed));
            };
            let told = Duration::from_micros(told_us);
            let wait = policy(change).start().next(Outcome::Told(told)).unwrap();
            proptest::prop_assert!(wait >= told);
            proptest::prop_assert!(wait.as_micros() * 100 <= told.as_micros() * (100 + u128::from(percent)));
        }
    }

    #[test]
    fn the_same_seed_waits_the_same() {
        let wait = |seed| policy(|config| config.random_seed = Some(seed)).start().next(Outcome::Told(TEN_SECONDS));
        assert_eq!(wait(7), wait(7));
        assert_ne!(wait(7), wait(8));
    }
}
