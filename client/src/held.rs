//! Slots that a request holds until it has been answered.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::limiter::Slot;

/// The slots of one request, of every rule that limits concurrency. Cheap to clone; they are released when the last
/// clone is dropped, also when that is because the request was cancelled or its body has been streamed.
#[derive(Clone, Debug, Default)]
pub struct Held(Option<Arc<Mutex<Vec<Slot>>>>);

impl Held {
    pub(crate) fn new(slots: Vec<Slot>) -> Held {
        Held((!slots.is_empty()).then(|| Arc::new(Mutex::new(slots))))
    }

    /// Whether there is nothing to release: a request without slots need not be followed to its end.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Where slots may be put that are given later, as long as somebody holds on.
    pub(crate) fn later(&mut self) -> Weak<Mutex<Vec<Slot>>> {
        Arc::downgrade(self.0.get_or_insert_default())
    }
}
