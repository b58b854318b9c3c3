//! The judge: all the rules that are live, asked about one request, for doors that know requests and not keys.
//!
//! ```text
//! request ─► rules that win their group ─► blocked? ── yes ─► denied, nobody was asked
//!                                            │ no
//!                   batches of rules that share a shard, in the document's order; then slots
//!                     │ everybody allowed                   │ somebody denied: the rest is only looked at
//!                     ▼                                     ▼
//!                   admitted; rules in shadow are told    denied: what was charged is given back first
//! ```
//! Rules of one identity share a shard, so nearly every call is one batch, and that is atomic by itself.
//!
//! Invariants:
//! - A request that is denied, or that a shard could not decide, has been charged for by no rule when that is said; but a
//!   shard that did not answer in time may have charged its own.
//! - A call of several batches is finished even if whoever asked has gone.
//! - No rule in shadow touches the answer.
//!
//! Not here: HTTP (`http`), which rules apply (`tallyring_protocol::rules`), what one limit decides (the shards).

mod bench;
mod decision;
mod settle;
mod tab;
mod verdict;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use tallyring_protocol::rules::Subject;

pub use self::bench::Bench;
pub use self::decision::{Decision, Level, RuleDecision};
pub use self::settle::{Left, SettledRule, Settlement};
use self::tab::Tab;
use super::shards::{Refusal, Shards};
use crate::rules::Rules;
use crate::sys::random;

/// What is asked about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charge<'a> {
    /// Units; 0 = only look.
    pub cost: u64,
    /// Its priority, by the names that rules give them.
    pub priority: Option<&'a str>,
    /// How it is charged.
    pub manner: Manner,
}

/// How units are charged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Manner {
    /// For good.
    Check,
    /// As an estimate that can be corrected once; cost is at least 1.
    Reserve(Booking),
}

/// A reservation of every rule that applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Booking {
    /// The id, of 1 ..= 128 bytes. It belongs to each rule's key.
    pub id: Box<[u8]>,
    /// How long it can be corrected, in microseconds.
    pub ttl_us: u64,
}

/// Decides by the rules that are live.
#[derive(Debug)]
pub struct Judge {
    shards: Arc<Shards>,
    rules: Arc<Rules>,
    /// The rules that were live when somebody last asked.
    bench: ArcSwap<Bench>,
    /// What no other holder's name begins with.
    holders: [u8; 16],
    held: AtomicU64,
}

impl Judge {
    /// A judge by the rules that are live, whichever those are.
    pub fn new(shards: Arc<Shards>, rules: Arc<Rules>) -> Judge {
        let bench = Bench::of(rules.live(), shards.quota());
        Judge { shards, rules, bench: ArcSwap::from_pointee(bench), holders: random::seed(), held: AtomicU64::new(0) }
    }

    /// Decides about a request, and charges it for every rule or for none.
    ///
    /// # Errors
    /// [`Refusal`]: a shard could not decide.
    pub async fn check(&self, subject: &Subject<'_>, charge: &Charge<'_>) -> Result<Decision, Refusal> {
        let tab = Tab::open(self, subject, charge);
        if tab.is_atomic() {
            return tab.decide().await;
        }
        // In a task of its own: if the caller goes away half-way, what was charged must still be given back.
        let decided = tokio::spawn(tab.decide()).await;
        decided.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
    }

    /// Corrects the reservations that a request made under every rule that applies to it now.
    ///
    /// # Errors
    /// [`Refusal`]: a shard could not do it. Whoever repeats it corrects what is left.
    pub async fn settle(&self, subject: &Subject<'_>, id: &[u8], actual: u64) -> Result<Settlement, Refusal> {
        settle::settle(self, subject, id, actual).await
    }

    /// The rules that are live, ready to be enforced.
    fn bench(&self) -> Arc<Bench> {
        let live = self.rules.live();
        let bench = self.bench.load_full();
        if Arc::ptr_eq(bench.live(), &live) {
            return bench;
        }
        let bench = Arc::new(Bench::of(live, self.shards.quota()));
        self.bench.store(Arc::clone(&bench));
        bench
    }

    /// A name that nobody holds slots under yet.
    fn holder(&self) -> Box<[u8]> {
        let no = self.held.fetch_add(1, Ordering::Relaxed);
        [&self.holders[..], &no.to_le_bytes()].concat().into()
    }
}
