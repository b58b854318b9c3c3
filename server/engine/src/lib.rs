//! The engine: what a rate limit decides, as pure functions over memory.
//!
//! It does no I/O, reads no clock, keeps no float and starts no thread. Time is handed in, keys arrive as hashes, and
//! the same calls give the same answers in production, in simulation and in a gateway's local fallback.
//!
//! The path of a call: [`Engine`] finds the entry in the table, `algorithm` brings it to the present and decides, a
//! [`Decision`] goes back.

#![deny(clippy::float_arithmetic)]

pub use bounds::{Bounds, KEY_BYTES};
pub use decision::{
    Decision, Full, Grant, Joint, JointError, LimitsFull, Released, Settled, Slots, Wait, saturating_us,
};
pub use engine::{Engine, PARTS_MAX, Part};
pub use identity::Identity;
pub use limit::{
    Algorithm, Ask, Calendar, Invalid, LOG_UNITS_MAX, Limit, PERIOD_US_MAX, Period, RESERVATION_TTL_US_MAX, Range,
    Reason, UNITS_MAX,
};
pub use limits::{LimitId, RuleCounts};
pub use time::Timestamp;

mod algorithm;
mod bounds;
mod decision;
mod division;
mod engine;
mod heap;
mod identity;
mod limit;
mod limits;
mod prefetch;
mod reservation;
mod side;
mod slab;
mod table;
mod time;
mod wheel;
mod window;
