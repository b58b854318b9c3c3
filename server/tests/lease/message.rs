//! What machines say to each other.

use tallyring::cluster::lease::{Answer, Ask, GiveBack, Roll};

/// A term and a place in the log.
pub(crate) type LogId = (u64, u64);

/// The last entry of a log. An entry has the whole state, so no earlier one is needed.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) id: LogId,
    pub(crate) roll: Roll,
}

#[derive(Clone, Debug)]
pub(crate) enum Body {
    /// Vote for me.
    Stand {
        term: u64,
        last: LogId,
    },
    /// I do.
    Vote {
        term: u64,
    },
    /// I lead, this is my log and what is agreed on; `sent_us` is my clock.
    Beat {
        term: u64,
        sent_us: u64,
        log: Entry,
        agreed: Entry,
    },
    /// I heard it, and have this.
    Ack {
        term: u64,
        sent_us: u64,
        has: LogId,
    },
    Ask(Ask),
    Answer(Answer),
    Back(GiveBack),
    /// I have decided for the last time under an epoch before this one.
    MovedOn {
        epoch: u64,
    },
}

/// What a machine wants to be sent.
pub(crate) type Outbox = Vec<(u64, Body)>;
