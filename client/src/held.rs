//! Slots that a request holds until it has been answered.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::limiter::Slot;

/// The slots of one request, of every rule that limits concurrency. Cheap to clone; they are released when the last
/// clone is dropped, also when that is because the request was cancelled or its body has been streamed.
#[derive(Clone, Debug, Default)]
pub struct Held(Vec<Arc<Mutex<Vec<Slot>>>>);

impl Held {
    pub(crate) fn new(slots: Vec<Slot>) -> Held {
        Held(if slots.is_empty() { Vec::new() } else { vec![Arc::new(Mutex::new(slots))] })
    }

    /// Whether there is nothing to release: a request without slots need not be followed to its end.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Where slots may be put that are given later, as long as somebody holds on.
    pub(crate) fn later(&mut self) -> Weak<Mutex<Vec<Slot>>> {
        if self.0.is_empty() {
            self.0.push(Arc::default());
        }
        Arc::downgrade(&self.0[0])
    }

    /// What both hold.
    #[cfg(feature = "tower")]
    pub(crate) fn and(&self, other: &Held) -> Held {
        Held(self.0.iter().chain(&other.0).cloned().collect())
    }
}
