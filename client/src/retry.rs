//! When to call an API again that has refused or failed: for its callers, on the other side of a limiter.
//!
//! Thousands of callers that were refused at the same moment were all told the same wait. If all come back when it
//! ends, most are refused again, at the same moment again. So a caller waits as long as it was told, never less, and a
//! random time on top: *told + uniform(0, told)*. Who was told nothing backs off exponentially, from zero to a bound that
//! doubles. And whatever the waits, a *budget* bounds how much all retries together add to a server's load.
//!
//! ```text
//!  response ─► Outcome ─► Attempts::next ─► wait, or give up
//!                              ├─ told: told + uniform(0, told · jitter)
//!                              ├─ not told: uniform(0, first · 2^retry, at most `most`)
//!                              └─ RetryBudget: a retry takes tokens, a success gives some back
//! ```
//!
//! With `tower`, [`Attempts`] is a policy of `tower::retry`; without it, a loop of five lines does (see
//! `examples/caller.rs`). `docs/clients.md` says what else a caller of a limited API should do.
//!
//! Not here: sleeping, sockets, and the gateway's own calls to the store, which are never repeated once sent.

mod backoff;
mod budget;
mod outcome;
mod policy;
#[cfg(feature = "tower")]
mod service;
mod told;

pub use self::backoff::Backoff;
pub use self::budget::BudgetConfig;
pub use self::outcome::Outcome;
pub use self::policy::{Attempts, RetryConfig, RetryPolicy};
pub use self::told::{retry_after, wait_until, wait_until_epoch_s};
