//! Rules that are not enforced: they decide on state of their own, are counted, and never touch the answer.
//!
//! They are asked behind the answer's back, by a task, so that trying a rule out does not cost the callers a round trip.
//! At most so many such questions are under way at the same time; one more is skipped and counted.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::Inner;
use super::slot::Slot;
use super::snapshot::Snapshot;
use super::tab::Part;
use crate::decision::Source;
use crate::deny_cache::Refused;
use crate::held::Held;

/// Slots of rules that are not enforced end with the request too.
type SlotsOfRequest = Weak<Mutex<Vec<Slot>>>;

/// Asks the rules in shadow about an admitted call.
pub(super) fn ask(inner: &Arc<Inner>, snapshot: &Arc<Snapshot>, mut parts: Vec<Part>, held: &mut Held) {
    parts.retain(|part| !is_decided(inner, snapshot, part));
    if parts.is_empty() {
        return;
    }
    let asks_slots = parts.iter().any(|part| snapshot.limited(part.order).is_slots());
    let slots = if asks_slots { held.later() } else { Weak::new() };
    let skipped = parts.len();
    let asked = ask_each(Arc::clone(inner), Arc::clone(snapshot), parts, slots);
    if inner.store.background().ask(asked).is_none() {
        (0..skipped).for_each(|_| inner.tally.count_shadow(None));
    }
}

/// Counts a call that a rule blocks, that the deny cache knows to be denied, or whose rule there is no handle for.
fn is_decided(inner: &Inner, snapshot: &Snapshot, part: &Part) -> bool {
    let limited = snapshot.limited(part.order);
    if limited.blocks() {
        inner.tally.count_shadow(Some(false));
        limited.unreported.count(Source::Rule, false);
        return true;
    }
    if limited.define(&inner.store).is_err() {
        inner.tally.count_shadow(None);
        return true;
    }
    let whose = Refused { identity: part.identity, version: limited.handle().version() };
    let is_denied = !limited.is_slots() && inner.deny.look_up(inner.now(), whose, part.ask).is_some();
    if is_denied {
        inner.tally.count_shadow(Some(false));
        limited.unreported.count(Source::DenyCache, false);
    }
    is_denied
}

async fn ask_each(inner: Arc<Inner>, snapshot: Arc<Snapshot>, parts: Vec<Part>, slots: SlotsOfRequest) {
    for part in parts {
        let limited = snapshot.limited(part.order);
        let allowed = if limited.is_slots() {
            acquire(&inner, &snapshot, &part, &slots).await
        } else {
            match inner.store.check(limited.handle(), &part.key, part.ask).await {
                Ok(decision) => {
                    if !decision.allowed {
                        inner.remember(inner.now(), limited, &part, &decision);
                    }
                    Some(decision.allowed)
                }
                Err(_) => None,
            }
        };
        inner.tally.count_shadow(allowed);
    }
}

/// Takes a slot for as long as the request lasts; gives it back at once if that has ended already.
async fn acquire(inner: &Arc<Inner>, snapshot: &Snapshot, part: &Part, slots: &SlotsOfRequest) -> Option<bool> {
    let limited = snapshot.limited(part.order);
    let hold = limited.hold(part.ask.cost);
    match inner.store.permit(&part.key, hold).await {
        Ok(Ok(permit)) => {
            let slot = Slot::of_store(inner, inner.whose(limited, part.identity), hold, permit);
            if let Some(slots) = slots.upgrade() {
                slots.lock().push(slot);
            }
            Some(true)
        }
        Ok(Err(_)) => Some(false),
        Err(_) => None,
    }
}
