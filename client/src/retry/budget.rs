//! A retry budget: what keeps retries from turning an outage into a bigger one.

use std::sync::atomic::{AtomicU32, Ordering};

/// The numbers of a retry budget.
///
/// ```
/// use tallyring_client::retry::BudgetConfig;
/// // At most 100 retries while nothing succeeds, and never one for free.
/// let config = BudgetConfig { capacity: 500, retry_cost: 5, success_pays: 0 };
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetConfig {
    /// Tokens of a full budget. It starts full.
    pub capacity: u32,
    /// Tokens that a retry takes. Without as many there is no retry; with 0 there is always one.
    pub retry_cost: u32,
    /// Tokens that a success gives back.
    pub success_pays: u32,
}

/// Ten retries at once, then one for every ten successes: retries add at most a tenth to a server's load.
impl Default for BudgetConfig {
    fn default() -> BudgetConfig {
        BudgetConfig { capacity: 100, retry_cost: 10, success_pays: 1 }
    }
}

/// Tokens that retries take and successes give back: one budget for all calls to one server.
///
/// First attempts are free, so a budget that has run out never keeps a caller from noticing that the server is back.
#[derive(Debug)]
pub(super) struct RetryBudget {
    config: BudgetConfig,
    tokens: AtomicU32,
}

impl RetryBudget {
    pub(super) fn new(config: BudgetConfig) -> RetryBudget {
        RetryBudget { config, tokens: AtomicU32::new(config.capacity) }
    }

    /// Takes what a retry costs, or nothing.
    pub(super) fn try_take(&self) -> bool {
        let taken = |tokens: u32| tokens.checked_sub(self.config.retry_cost);
        self.tokens.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).is_ok()
    }

    pub(super) fn pay_success(&self) {
        let paid = |tokens: u32| {
            let paid = tokens.saturating_add(self.config.success_pays).min(self.config.capacity);
            (paid != tokens).then_some(paid)
        };
        // A full budget stays as it is: callers that all succeed write to no shared memory.
        let _ = self.tokens.fetch_update(Ordering::Relaxed, Ordering::Relaxed, paid);
    }

    pub(super) fn tokens(&self) -> u32 {
        self.tokens.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(capacity: u32, retry_cost: u32, success_pays: u32) -> RetryBudget {
        RetryBudget::new(BudgetConfig { capacity, retry_cost, success_pays })
    }

    /// How many of `asked` retries there are tokens for.
    fn retries(budget: &RetryBudget, asked: u32) -> usize {
        (0..asked).filter(|_| budget.try_take()).count()
    }

    #[test]
    fn retries_end_with_the_tokens() {
        assert_eq!(retries(&budget(500, 5, 0), 400), 100);
        assert_eq!(retries(&budget(4, 5, 0), 400), 0);
        assert_eq!(retries(&budget(14, 5, 0), 400), 2);
    }

    #[test]
    fn retries_that_cost_nothing_are_not_bounded() {
        assert_eq!(retries(&budget(0, 0, 0), 400), 400);
    }

    #[test]
    fn successes_pay_for_later_retries_up_to_a_full_budget() {
        let budget = budget(100, 10, 1);
        assert_eq!(retries(&budget, 50), 10);
        (0..25).for_each(|_| budget.pay_success());
        assert_eq!(retries(&budget, 50), 2);
        (0..1_000).for_each(|_| budget.pay_success());
        assert_eq!(budget.tokens(), 100);
    }
}
