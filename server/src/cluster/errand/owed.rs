//! An answer that somebody waits for.

use std::sync::Arc;

use tallyring_protocol::Reply;
use tokio::time::Instant;

use super::ERRAND_WITHIN;
use crate::observe::door::Door;
use crate::observe::errand::{ErrandTally, Fate};
use crate::observe::histogram::micros;
use crate::shard::outlet::{Answered, Outgoing, Outlet};

/// Owed to the connection that asked: it is paid once, also if nobody does; then nobody knows what became of the errand.
#[derive(Debug)]
pub(super) struct Owed {
    id: u32,
    to: Option<Arc<Outlet>>,
    door: Door,
    /// When the errand was taken on.
    since: Instant,
    tally: Arc<ErrandTally>,
}

impl Owed {
    pub(super) fn new(id: u32, to: Arc<Outlet>, door: Door, tally: Arc<ErrandTally>) -> Owed {
        Owed { id, to: Some(to), door, since: Instant::now(), tally }
    }

    /// The request's id on its connection.
    pub(super) fn id(&self) -> u32 {
        self.id
    }

    /// When its time is up.
    pub(super) fn until(&self) -> Instant {
        self.since + ERRAND_WITHIN
    }

    /// Pays with what came back; whoever waits is woken together with the others.
    pub(super) fn pay(mut self, outgoing: Outgoing, answered: &mut Answered) {
        self.settle(outgoing, answered);
    }

    /// Pays with why nothing comes back.
    pub(super) fn reply(self, reply: Reply<'static>) {
        let id = self.id;
        self.pay(Outgoing::Reply(id, reply), &mut Answered::default());
    }

    fn settle(&mut self, outgoing: Outgoing, answered: &mut Answered) {
        let Some(to) = self.to.take() else { return };
        self.tally.note(self.door, Fate::of(&outgoing), micros(self.since.elapsed()));
        to.leave(outgoing);
        answered.add(to);
    }
}

impl Drop for Owed {
    fn drop(&mut self) {
        self.settle(Outgoing::Reply(self.id, Reply::Unavailable), &mut Answered::default());
    }
}

impl Fate {
    /// What became of an errand, by its answer.
    pub(super) fn of(outgoing: &Outgoing) -> Fate {
        match outgoing {
            Outgoing::Reply(_, Reply::Unavailable) => Fate::Unavailable,
            Outgoing::Reply(_, Reply::Overloaded) => Fate::Overloaded,
            Outgoing::Reply(_, Reply::WrongOwner { .. } | Reply::Moving { .. }) => Fate::Elsewhere,
            _ => Fate::Answered,
        }
    }
}
