//! What a caller is told, and the one rule by which all algorithms admit.

use std::fmt;

use super::event::Call;
use super::limit::{Algorithm, Limit};
use super::usage::{self, Usage};
use super::{Micros, Units};

/// A decision on one call.
#[derive(Clone, Copy)]
pub(super) struct Decision {
    pub(super) allowed: bool,
    pub(super) limit: Units,
    pub(super) remaining: Units,
    /// `None` = never.
    pub(super) retry_after_us: Option<Micros>,
    pub(super) reset_after_us: Micros,
    /// There for every leaky bucket.
    pub(super) delay_us: Option<Micros>,
    /// There for every forced call.
    pub(super) charged: Option<Units>,
}

impl Decision {
    /// Decides `call` on the usage that it finds, and says what the usage is afterwards.
    pub(super) fn of(call: &Call, before: &dyn Usage) -> (Self, Box<dyn Usage>) {
        let limit = &call.limit;
        let asked = call.cost + call.keep;
        let allowed = call.force || before.room(limit) >= usage::rational(asked);
        let charged = match (allowed, call.force) {
            (true, true) => call.cost.min(usage::remaining(before, limit)),
            (true, false) => call.cost,
            (false, _) => 0,
        };
        let mut after = before.boxed();
        after.charge(charged);
        let decision = Self {
            allowed,
            limit: limit.ceiling(),
            remaining: usage::remaining(after.as_ref(), limit),
            retry_after_us: retry_after(allowed, asked, limit, before),
            reset_after_us: usage::reset_after(after.as_ref(), limit),
            delay_us: delay(allowed, call, before),
            charged: call.force.then_some(charged),
        };
        (decision, after)
    }

    /// Rewrites a part's decision when its `check_all` was rejected as a whole: the state is what it was before.
    pub(super) fn nothing_charged(&mut self, limit: &Limit, before: &dyn Usage) {
        self.remaining = usage::remaining(before, limit);
        self.reset_after_us = usage::reset_after(before, limit);
        self.delay_us = self.delay_us.and(Some(0));
        self.charged = self.charged.and(Some(0));
    }
}

fn retry_after(allowed: bool, asked: Units, limit: &Limit, before: &dyn Usage) -> Option<Micros> {
    if allowed {
        return Some(0);
    }
    (asked <= limit.ceiling()).then(|| usage::wait_for(before, limit, asked))
}

/// The time that what was queued before this call takes to drain.
fn delay(allowed: bool, call: &Call, before: &dyn Usage) -> Option<Micros> {
    if call.limit.algorithm != Algorithm::LeakyBucket {
        return None;
    }
    let waits = allowed && !call.is_peek();
    Some(if waits { usage::reset_after(before, &call.limit) } else { 0 })
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, r#"{{"allowed":{},"limit":{},"remaining":{}"#, self.allowed, self.limit, self.remaining)?;
        write!(f, r#","retry_after_us":{},"reset_after_us":{}"#, OrNull(self.retry_after_us), self.reset_after_us)?;
        if let Some(delay_us) = self.delay_us {
            write!(f, r#","delay_us":{delay_us}"#)?;
        }
        if let Some(charged) = self.charged {
            write!(f, r#","charged":{charged}"#)?;
        }
        f.write_str("}")
    }
}

/// A decision on several calls at once.
pub(super) struct AllDecision {
    pub(super) parts: Vec<Decision>,
}

impl AllDecision {
    /// The longest wait of the rejected parts; never wins.
    fn retry_after_us(&self) -> Option<Micros> {
        let waits = self.parts.iter().map(|part| part.retry_after_us);
        waits.reduce(|longest, wait| Some(longest?.max(wait?))).flatten()
    }
}

impl fmt::Display for AllDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let allowed = self.parts.iter().all(|part| part.allowed);
        let parts: Vec<String> = self.parts.iter().map(Decision::to_string).collect();
        write!(f, r#"{{"allowed":{allowed},"retry_after_us":{}"#, OrNull(self.retry_after_us()))?;
        write!(f, r#","checks":[{}]}}"#, parts.join(","))
    }
}

/// What a take was granted.
pub(super) struct Grant {
    granted: Units,
    remaining: Units,
    reset_after_us: Micros,
}

impl Grant {
    /// The answer for `granted` units, with the usage after them.
    pub(super) fn of(granted: Units, limit: &Limit, after: &dyn Usage) -> Self {
        let remaining = usage::remaining(after, limit);
        Self { granted, remaining, reset_after_us: usage::reset_after(after, limit) }
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { granted, remaining, reset_after_us } = self;
        write!(f, r#"{{"granted":{granted},"remaining":{remaining},"reset_after_us":{reset_after_us}}}"#)
    }
}

struct OrNull(Option<Micros>);

impl fmt::Display for OrNull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(us) => us.fmt(f),
            None => f.write_str("null"),
        }
    }
}
