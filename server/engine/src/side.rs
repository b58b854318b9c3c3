//! State that is too big for an entry's twelve bytes: logs, holders, and counters with extreme numbers.
//!
//! An entry keeps a number into one of these stores. What they hold on the heap is reckoned here, so that the byte cap
//! sees it.

use crate::algorithm::concurrency::Holders;
use crate::algorithm::sliding_log::log::Log;
use crate::slab::Slab;

/// What entries keep elsewhere.
#[derive(Debug, Default)]
pub(crate) struct Side {
    pub(crate) logs: Slab<Log>,
    pub(crate) holders: Slab<Holders>,
    /// Counts that do not fit in an entry: the window, and the counts in it and in the one before.
    pub(crate) counts: Slab<[u64; 3]>,
    /// Heap bytes behind the logs and holders.
    pub(crate) heap_bytes: usize,
}

impl Side {
    /// Bytes held, as the allocator sees them.
    pub(crate) fn bytes(&self) -> usize {
        self.logs.bytes() + self.holders.bytes() + self.counts.bytes() + self.heap_bytes
    }
}
