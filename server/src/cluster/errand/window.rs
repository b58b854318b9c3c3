//! The errands of a line that were sent and not answered.

use std::collections::VecDeque;

use tokio::time::Instant;

use super::WINDOW_MAX;
use super::owed::Owed;

/// Who waits, in the order in which they were sent: ids count up, and all may wait for as long.
#[derive(Debug, Default)]
pub(super) struct Window {
    open: VecDeque<Option<Owed>>,
    /// The id of the first.
    oldest: u32,
}

impl Window {
    /// Whether no more may be sent. Who was answered out of turn counts until all before it are.
    pub(super) fn is_full(&self) -> bool {
        self.open.len() == WINDOW_MAX
    }

    /// Whether nobody waits.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Notes that somebody waits, and returns the id to ask under.
    pub(super) fn add(&mut self, owed: Owed) -> u32 {
        debug_assert!(!self.is_full(), "whoever sends has looked");
        let id = self.oldest.wrapping_add(self.open.len() as u32);
        self.open.push_back(Some(owed));
        id
    }

    /// Whom the answer with this id is for; `None` if they wait no more.
    pub(super) fn take(&mut self, id: u32) -> Option<Owed> {
        let at = id.wrapping_sub(self.oldest) as usize;
        let owed = self.open.get_mut(at)?.take();
        self.close();
        owed
    }

    /// Lets go of those whose time is up; whether there were any.
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        let mut has_expired = false;
        while let Some(Some(_)) = self.open.front_mut().map(|first| first.take_if(|owed| owed.until() <= now)) {
            has_expired = true;
            self.close();
        }
        has_expired
    }

    /// When the time of the first is up.
    pub(super) fn next_expiry(&self) -> Option<Instant> {
        self.open.front().and_then(|first| first.as_ref()).map(Owed::until)
    }

    /// Lets go of everybody.
    pub(super) fn clear(&mut self) {
        self.oldest = self.oldest.wrapping_add(self.open.len() as u32);
        self.open.clear();
    }

    fn close(&mut self) {
        while let Some(None) = self.open.front() {
            self.open.pop_front();
            self.oldest = self.oldest.wrapping_add(1);
        }
    }
}
