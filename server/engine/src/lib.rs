//! The engine: what a rate limit decides, as pure functions over memory.
//!
//! It does no I/O, reads no clock, keeps no float and starts no thread. Time is handed in, keys arrive as hashes, and
//! the same calls give the same answers in production, in simulation and in a gateway's local fallback.
//!
//! The path of a call: [`Engine`] finds the entry (`table`), brings its state to the present (`algorithm`), decides, writes
//! back what changed, and arms the `wheel` if that moved the instant at which the entry can be forgotten.
//!
//! Invariants:
//! - A decision equals the one in real-number arithmetic; what is rounded is said where it is said ([`Decision`]).
//! - State that is whole again is fresh state from that microsecond on. No decision depends on when a sweep runs.
//! - A live counter is never dropped. At a bound, fresh state makes room, then new keys get [`Full`].
//! - Every call is bounded: growth moves at most one small segment of the index, expiry does what it is given to do.
//!
//! Not here: keys as text, hashing, clocks (`tallyring`), the wire (`tallyring_protocol`).

#![deny(clippy::float_arithmetic)]

pub use bounds::{Bounds, KEY_BYTES};
pub use decision::{
    Decision, Full, Grant, Joint, JointError, LimitsFull, Released, Settled, Slots, Wait, saturating_us,
};
pub use engine::{AHEAD_US_MAX, Cursor, Engine, ImportError, Imported, PARTS_MAX, Part, Stock};
pub use export::intake::{Intake, VERSIONS_MAX};
pub use export::outflow::ChangesLost;
pub use export::placements::Placements;
pub use export::record::{BATCH_RECORDS_MAX, Batch, CounterState, Record, ReservationState, RuleLimit};
pub use export::state::{Admitted, Hold, State};
pub use export::version::Version;
pub use identity::Identity;
pub use limit::{
    Algorithm, Ask, Calendar, Invalid, LOG_UNITS_MAX, Limit, PERIOD_US_MAX, Period, RESERVATION_TTL_US_MAX, Range,
    Reason, UNITS_MAX,
};
pub use limits::{LimitId, RuleCounts, RuleRef};
pub use time::Timestamp;

mod algorithm;
mod bounds;
mod decision;
mod division;
mod engine;
mod export;
mod heap;
mod identity;
mod limit;
mod limits;
mod processor;
mod reservation;
mod side;
mod slab;
mod table;
mod time;
mod wheel;
mod window;
