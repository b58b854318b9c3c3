//! What a gateway links: asks the store, and answers without it when it is gone.
//!
//! ```text
//!  RateLimitLayer ─► RateLimiter ─► Store ─► router ─► connection ─► a shard of the store
//!  (feature tower)        │                                 └─ breaker
//!                         ├─ rules: baked in, then those that the store announces
//!                         ├─ deny cache, grants, pre-filter: what need not be asked
//!                         ├─ fallback: the same algorithms on this gateway's share of the limits, while the store is gone
//!                         └─ arrears, reports: what the store is told when it is back
//! ```
//!
//! - [`Store`]: the store's commands, typed. One deadline a call, one pipelined connection a shard, nothing charged twice.
//! - [`Reservation`] and [`Permit`]: charges that settle and slots that are released when they are dropped.
//! - [`RateLimiter`]: rules, store and fallback behind one infallible `check`, all or nothing over every rule that applies.
//! - `middleware::RateLimitLayer` (feature `tower`): that check in front of any tower service, with the headers that
//!   clients expect.
//! - [`retry`]: the other side, for whoever calls an API that has limits: when to try again, and when not to.
//!
//! Invariants:
//! - No call waits longer than the deadline, and no queue is unbounded.
//! - Only `sys` touches sockets, the clock and entropy.
//!
//! Not here: the decisions' arithmetic (`tallyring-engine`), frames and placement (`tallyring-protocol`).

mod arrears;
mod background;
mod breaker;
mod config;
mod connection;
mod decision;
mod definition;
mod deny_cache;
mod error;
mod fallback;
mod gateway;
mod grants;
mod held;
mod identities;
mod joint;
mod limiter;
mod limits;
#[cfg(feature = "tower")]
pub mod middleware;
mod permit;
mod prefilter;
mod reroute;
mod reservation;
pub mod retry;
mod router;
mod seeds;
mod store;
mod sys;
#[cfg(feature = "tls")]
mod tls;

pub use config::{DEADLINE_MAX, IN_FLIGHT_MAX, StoreConfig};
pub use decision::{Decision, Level, RuleDecision, RuleRef, Source};
pub use definition::{Definition, LimitHandle};
pub use error::{HandlesFull, StoreError};
pub use held::Held;
pub use joint::{Check, StoreJoint};
pub use limiter::{Call, Counts, GroupFilter, RateLimiter, RateLimiterConfig, Reserved};
pub use permit::{Hold, Permit};
pub use reservation::Reservation;
pub use store::Store;
pub use tallyring_engine::{Algorithm, Ask, Calendar, Invalid, Limit, Period};
pub use tallyring_protocol::reply::{
    Decision as StoreDecision, Grant as StoreGrant, Released as StoreReleased, Settled as StoreSettled,
    Slots as StoreSlots,
};
pub use tallyring_protocol::rules::{Lookup, RuleError, RuleSet, Subject};
pub use tallyring_protocol::{Key, KeyError, RulesVersion};
#[cfg(feature = "tls")]
pub use tls::{Tls, TlsError};
