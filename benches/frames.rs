//! Frames as they travel: batches of checks and of decisions.

use tallyring_protocol::bounds::REPLY_BYTES_MAX;
use tallyring_protocol::reply::Decision;
use tallyring_protocol::{Charge, Frame, KeyRef, Reply, Request, frame};

/// The hot request: one unit for a key.
pub fn check(key: KeyRef<'_>) -> Request<'_> {
    Request::Check(Charge { handle: 1, cost: 1, keep: 0, force: false, key })
}

/// The hot reply.
pub fn decision(remaining: u64) -> Reply<'static> {
    Reply::Decision(Decision {
        allowed: true,
        remaining,
        retry_after_us: 0,
        reset_after_us: 1_000_000,
        at_us: 1_800_000_000_000_000,
        charged: None,
        delay_us: None,
    })
}

/// Calls `each` for every frame of `bytes`.
///
/// # Panics
/// If they are no frames.
pub fn each(mut bytes: &[u8], mut each: impl FnMut(&Frame<'_>)) {
    while let Some((frame, taken)) = frame::split(bytes, REPLY_BYTES_MAX).expect("they were encoded here") {
        each(&frame);
        bytes = &bytes[taken..];
    }
}
