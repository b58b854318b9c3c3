//! Leases: one node decides about a key at any instant, without asking anybody.
//!
//! An owner *pulls* its right from the leader, some 500 ms at a time, and stops by itself when it hears no more. So a leader
//! that hears nothing of an owner need not reach it in order to have another node serve: it waits.
//!
//! ```text
//!          asks at a                             may decide until a + 0.98 T
//! owner    ───┼───────────────────────────────────────────┤
//!              ╲          ↗ answer, whenever it comes      :  at least 14 ms
//! leader   ─────┼────────╱────────────────────────────────────┼──────►  gives away
//!               answers at b ≥ a                        b + 1.02 T
//! ```
//!
//! Each counts by its own clock, from the end of the exchange that is bad for itself; [`length`](self::Length) has the arithmetic.
//! The one assumption is that clocks' rates differ by less than 1 %. Messages may take any time, come twice, in any
//! order, or not at all.
//!
//! Five rules link the two sides:
//!
//! 1. **A leader grants while it knows that there is no other one** ([`Standing`]), and after it has applied the first entry of
//!    its own term. A new one gives nothing away before it has waited as if it had granted everybody a lease when
//!    it was elected ([`Grants::new`]).
//! 2. **A lease is of an epoch**: it lets its owner decide under the topology of that epoch or a later one
//!    ([`Tenure::until_us`]). A node that slept through its own end knows only older topologies, and owns nothing.
//! 3. **Who is out was out before it was agreed on**: a node is marked down, or removed, after its lease is surely over,
//!    and is granted none in between ([`Grants::condemn`]). So its replica serves at once.
//! 4. **All other moves wait** until the former owner has moved on, or until no lease of an older epoch lasts, which the
//!    leader says in each answer ([`Succession`]).
//! 5. **An owner looks at the clock twice**: before it decides and before its answer leaves, each time leaving room for
//!    the longest deadline of a client ([`Right`], [`Sealed`]). So an answer that a client takes lies inside of the lease.
//!
//! A clock that lies breaks the assumption, and may let two nodes decide. What they tell their replicas carries a [`Fence`].
//!
//! Pure: instants are handed in, as microseconds of the clock since boot, which counts suspended time and is not steered.
//!
//! Source: Gray, Cheriton, "Leases: an efficient fault-tolerant mechanism for distributed file cache consistency", 1989,
//! section 5 on clock rates; the exchange that is counted from both ends is that of Burrows, "The Chubby lock service", 2006, 2.8.

mod fence;
mod grants;
mod length;
mod message;
mod right;
mod roll;
mod succession;
mod tenure;

pub use self::fence::{Fence, Fenced};
pub use self::grants::{FORGOTTEN_US, Grants, Kept, RETURN_US_MAX, RETURN_US_MIN, SILENCE_US_MAX, Standing};
pub use self::length::{
    CLIENT_DEADLINE_US_MAX, HEARTBEAT_US, LEASE_US, LEASE_US_MAX, LEASE_US_MIN, Length, LengthError, RENEWED_EVERY_US,
    quorum_holds_us, room_for_deadline_us,
};
pub use self::message::{Answer, Ask, GiveBack, Grant, Refusal};
pub use self::right::{Lapsed, Right, Sealed};
pub use self::roll::Roll;
pub use self::succession::{FORMER_MAX, Succession};
pub use self::tenure::{ASKED_MAX, LEASES_MAX, NoGrant, Tenure};
