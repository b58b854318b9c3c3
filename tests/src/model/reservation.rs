//! A reservation: units charged on an estimate, corrected once.

use super::decision::Decision;
use super::event::Call;
use super::limit::Limit;
use super::usage::{self, Usage};
use super::{Micros, Units};

/// Reservations a store keeps at a time.
pub(super) const RESERVATIONS_MAX: usize = 100_000;

/// What was charged for an id, and what its first call was answered.
#[derive(Clone, Copy)]
pub(super) struct Reservation {
    pub(super) limit: Limit,
    pub(super) charged: Units,
    pub(super) reserved_at_us: Micros,
    pub(super) first_decision: Decision,
    ends_us: Micros,
}

impl Reservation {
    /// The reservation that `call` made at `now_us` by being decided so.
    pub(super) fn new(call: &Call, decision: Decision, now_us: Micros, ttl_us: Micros) -> Self {
        Self {
            limit: call.limit,
            charged: decision.charged.unwrap_or(call.cost),
            reserved_at_us: now_us,
            first_decision: decision,
            ends_us: now_us + ttl_us,
        }
    }

    pub(super) fn is_live(&self, now_us: Micros) -> bool {
        now_us < self.ends_us
    }
}

/// The answer to a settle that found its reservation.
pub(super) fn settled(limit: &Limit, usage: &dyn Usage) -> String {
    let remaining = usage::remaining(usage, limit);
    let reset_after_us = usage::reset_after(usage, limit);
    format!(r#"{{"settled":true,"remaining":{remaining},"reset_after_us":{reset_after_us}}}"#)
}
