//! The stage: commands whose keys are hashed and on their way from memory, not decided yet, in the order they came.

use tallyring_engine::{Engine, Identity, LimitId, Timestamp};
use tallyring_protocol::Reply;

use super::apply::apply;
use super::command::Op;

/// Commands that are hashed and prefetched together: enough to overlap their waits for memory.
pub(super) const BATCH_MAX: usize = 64;

/// A command, and what its door needs to know to word the answer.
#[derive(Clone, Copy, Debug)]
struct Staged<T> {
    tag: T,
    limit: LimitId,
    op: Op,
}

/// Up to [`BATCH_MAX`] commands of one turn.
#[derive(Debug)]
pub(super) struct Stage<T> {
    commands: Vec<Staged<T>>,
    /// The key of each command: apart, because the engine fetches a whole batch of them.
    identities: Vec<Identity>,
}

impl<T> Stage<T> {
    pub(super) fn new() -> Stage<T> {
        Stage { commands: Vec::with_capacity(BATCH_MAX), identities: Vec::with_capacity(BATCH_MAX) }
    }

    #[inline]
    pub(super) fn push(&mut self, tag: T, identity: Identity, limit: LimitId, op: Op) {
        self.commands.push(Staged { tag, limit, op });
        self.identities.push(identity);
    }

    pub(super) fn len(&self) -> usize {
        self.commands.len()
    }

    pub(super) fn is_full(&self) -> bool {
        self.commands.len() == BATCH_MAX
    }

    /// Decides all of them in order, and leaves none.
    #[inline]
    pub(super) fn decide(&mut self, engine: &mut Engine, now: Timestamp, mut answer: impl FnMut(T, Reply<'static>)) {
        engine.prefetch(&self.identities);
        for (Staged { tag, limit, op }, identity) in self.commands.drain(..).zip(self.identities.drain(..)) {
            answer(tag, apply(engine, now, identity, limit, op));
        }
    }
}
