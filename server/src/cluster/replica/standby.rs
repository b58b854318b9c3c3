//! The receiving end of a stream on one shard: state that is kept for the day its owner is gone.

use tallyring_engine::{Cursor, Engine, ImportError, Imported, Intake, Placements, Timestamp, Version};
use tallyring_protocol::NodeId;

use super::flush::{Flush, Stage};
use crate::cluster::lease::{Fence, Fenced};

/// One stream's state in one shard's engine, beside the keys that the shard owns and within the same cap of memory.
///
/// A node with several shards has one of these on each; every flush goes to all of them, each with its own records
/// ([`Flush::part`]), and what the node acknowledges is the oldest of their [`position`](Standby::position)s.
#[derive(Debug)]
pub struct Standby {
    within: Placements,
    /// Whose stream it is.
    owner: NodeId,
    /// Who held the range last, as far as is known here.
    fence: Fence,
    /// The last flush that was taken.
    latest: Version,
    /// The last flush that may be acknowledged.
    position: Version,
    intake: Intake,
    state: Fill,
    counts: Refusals,
    #[cfg(test)]
    pub(super) bug: Option<super::tests::Bug>,
}

/// How much of the source's state is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fill {
    /// Nothing has begun.
    Nothing,
    /// A fill is on its way.
    Running,
    /// All of it has come, and what was there before goes, from here on.
    Sweeping(Cursor),
    /// Everything, as of `latest`.
    Whole,
}

/// Flushes that were refused, ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refusals {
    /// From an owner that owns no more.
    pub fenced: u64,
    /// Because one before was missing.
    pub gaps: u64,
    /// From more than a second in the future: a clock is wrong.
    pub ahead: u64,
    /// For want of memory or limits.
    pub full: u64,
    /// Because no engine writes such a record.
    pub malformed: u64,
}

/// Why a flush was refused. Nothing of it was taken in, and it is not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Its sender owns the range no more.
    #[error(transparent)]
    Fenced(#[from] Fenced),
    /// A flush before it is missing: the stream goes on from [`Standby::position`].
    #[error("it follows {follows}, and {latest} is the last that has come")]
    Gap {
        /// What it follows.
        follows: Version,
        /// What is here.
        latest: Version,
    },
    /// The engine refuses its batch.
    #[error(transparent)]
    Import(#[from] ImportError),
}

impl Standby {
    /// Nothing yet of what `owner` has `within`: who holds the range, and since when.
    pub fn new(within: Placements, owner: Fence) -> Standby {
        Standby {
            within,
            owner: owner.holder,
            fence: owner,
            latest: Version::NONE,
            position: Version::NONE,
            intake: Intake::in_order(),
            state: Fill::Nothing,
            counts: Refusals::default(),
            #[cfg(test)]
            bug: None,
        }
    }

    /// Takes a flush in, if its sender still owns the range and nothing before it is missing. One that has come before
    /// changes nothing.
    ///
    /// # Errors
    /// [`Refused`]; it is counted.
    pub fn take(&mut self, engine: &mut Engine, now: Timestamp, flush: &Flush) -> Result<Imported, Refused> {
        let taken = self.take_uncounted(engine, now, flush);
        if let Err(refused) = &taken {
            self.counts.add(refused);
        }
        taken
    }

    /// Forgets, in a bounded step, what a fill found here and did not bring. Says whether there is more to do: call it
    /// every turn while there is. Until then the end of the fill is not acknowledged.
    pub fn sweep(&mut self, engine: &mut Engine) -> bool {
        let Fill::Sweeping(from) = self.state else { return false };
        match engine.discard_unseen(&self.within, &self.intake, from) {
            Some(next) => self.state = Fill::Sweeping(next),
            None => self.be_whole(),
        }
        self.state != Fill::Whole
    }

    /// Refuses what the owner still sends once `successor` has taken over: call it before a key of theirs is decided here.
    pub fn fence(&mut self, successor: Fence) {
        if self.fence.accepts(successor) {
            self.fence = successor;
        }
    }

    /// Everything up to here has come: what is acknowledged, and where a stream goes on after a lost connection.
    pub fn position(&self) -> Version {
        self.position
    }

    /// Whether this is the whole of the source's state, as it was at [`position`](Standby::position). If not, what is
    /// here of a key may be older than that, or missing.
    pub fn is_whole(&self) -> bool {
        self.state == Fill::Whole
    }

    /// What was refused.
    pub fn refusals(&self) -> Refusals {
        self.counts
    }

    fn take_uncounted(&mut self, engine: &mut Engine, now: Timestamp, flush: &Flush) -> Result<Imported, Refused> {
        self.reject_fenced(flush)?;
        if flush.version() <= self.latest {
            return Ok(Imported { replaced: 0, older: flush.batch.records.len() });
        }
        self.reject_gap(flush)?;
        if flush.stage == Stage::FillBegins {
            return self.begin_fill(engine, now, flush);
        }
        let imported = engine.import(now, &mut self.intake, &flush.batch)?;
        self.took(flush);
        Ok(imported)
    }

    fn reject_fenced(&self, flush: &Flush) -> Result<(), Refused> {
        #[cfg(test)]
        if self.bug == Some(super::tests::Bug::Unfenced) {
            return Ok(());
        }
        let offered = Fence { epoch: flush.version().epoch, holder: self.owner };
        if self.fence.accepts(offered) { Ok(()) } else { Err(Fenced { seen: self.fence, offered }.into()) }
    }

    fn reject_gap(&self, flush: &Flush) -> Result<(), Refused> {
        #[cfg(test)]
        if self.bug == Some(super::tests::Bug::Gaps) {
            return Ok(());
        }
        let Flush { stage, follows, .. } = *flush;
        let is_next = stage == Stage::FillBegins || self.state != Fill::Nothing && follows == self.latest;
        if is_next { Ok(()) } else { Err(Refused::Gap { follows, latest: self.latest }) }
    }

    /// What was here stays until the fill is over: it may be needed before that.
    fn begin_fill(&mut self, engine: &mut Engine, now: Timestamp, flush: &Flush) -> Result<Imported, Refused> {
        let mut intake = Intake::refill();
        let imported = engine.import(now, &mut intake, &flush.batch)?;
        self.intake = intake;
        self.state = Fill::Running;
        self.took(flush);
        Ok(imported)
    }

    fn took(&mut self, flush: &Flush) {
        self.latest = flush.version();
        if flush.stage == Stage::FillEnds {
            self.state = Fill::Sweeping(Cursor::START);
        }
        if !matches!(self.state, Fill::Sweeping(_)) {
            self.position = self.latest;
        }
    }

    fn be_whole(&mut self) {
        self.state = Fill::Whole;
        self.intake.refilled();
        self.position = self.latest;
    }
}

impl Refusals {
    fn add(&mut self, refused: &Refused) {
        let count = match refused {
            Refused::Fenced(_) => &mut self.fenced,
            Refused::Gap { .. } => &mut self.gaps,
            Refused::Import(ImportError::TooFarAhead { .. }) => &mut self.ahead,
            Refused::Import(ImportError::Full(_) | ImportError::LimitsFull(_)) => &mut self.full,
            Refused::Import(ImportError::Unsettled | ImportError::TooLong { .. } | ImportError::Malformed { .. }) => {
                &mut self.malformed
            }
        };
        *count += 1;
    }
}
