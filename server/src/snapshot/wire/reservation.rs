//! A reservation in plain numbers.

use bincode::{Decode, Encode};
use tallyring_engine::{Decision, ReservationState, Wait};

use super::{Reason, WireIdentity, identity_bytes, identity_of, instant};

/// What was answered is an allowed decision, so the wait is not said.
#[derive(Encode, Decode)]
pub(super) struct WireReservation {
    counter: WireIdentity,
    limit: u32,
    charged: u64,
    charged_at_us: u64,
    until_us: u64,
    answered_limit: u64,
    answered_remaining: u64,
    answered_reset_after_us: u128,
    answered_charged: Option<u64>,
    answered_delay_us: Option<u128>,
}

impl WireReservation {
    pub(super) fn new(reservation: &ReservationState) -> WireReservation {
        let decision = reservation.decision;
        WireReservation {
            counter: identity_bytes(reservation.counter),
            limit: reservation.limit,
            charged: reservation.charged,
            charged_at_us: reservation.charged_at.as_micros(),
            until_us: reservation.until_us,
            answered_limit: decision.limit,
            answered_remaining: decision.remaining,
            answered_reset_after_us: decision.reset_after_us,
            answered_charged: decision.charged,
            answered_delay_us: decision.delay_us,
        }
    }

    pub(super) fn into_reservation(self) -> Result<ReservationState, Reason> {
        let decision = Decision {
            allowed: true,
            limit: self.answered_limit,
            remaining: self.answered_remaining,
            retry_after: Wait::NOW,
            reset_after_us: self.answered_reset_after_us,
            charged: self.answered_charged,
            delay_us: self.answered_delay_us,
        };
        Ok(ReservationState {
            counter: identity_of(self.counter),
            limit: self.limit,
            charged: self.charged,
            charged_at: instant(self.charged_at_us)?,
            decision,
            until_us: self.until_us,
        })
    }
}
