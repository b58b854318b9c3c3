//! The shards of the node, as a door that is not theirs asks them: through their mailboxes.

mod calls;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tallyring_engine::{Limit, Stock};
use tallyring_protocol::{Key, KeyRef, NodeId, Reply, shard_of};

pub use self::calls::Mailboxes;
use self::calls::{Calls, Departing};
use crate::cluster::view::View;
use crate::shard::Seeds;
use crate::shard::command::{Definition, Errand, KeyQuota};
use crate::shard::outlet::Outgoing;

/// How long a shard may take to answer: it is a thread of this process, and what is before us is bounded by its mailbox.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// Limits of explicit numbers that are kept to be used again; beyond it all are forgotten.
const LIMITS_KEPT_MAX: usize = 1_024;

/// Why a shard has not decided. Nothing is known to be charged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Its mailbox is full.
    #[error("overloaded: the key's shard has more to do than it can; nothing was charged, try again")]
    Overloaded,
    /// There is no room for another key.
    #[error("full: there is no room for another key, and no live counter is dropped to make some; nothing was charged")]
    Full,
    /// It is not the one whose key it is: members have come or gone.
    #[error("moving: the key is on its way from one node to another; nothing was charged, try again")]
    Moving,
    /// It does not answer, or says that it cannot.
    #[error("unavailable: the key's shard does not answer; it is not known whether something was charged")]
    Unavailable,
    /// What was asked makes no sense.
    #[error("{field}: {reason}")]
    Invalid {
        /// The first bad field.
        field: String,
        /// What is wrong with it and what is allowed.
        reason: String,
    },
}

/// Who decides about a key. What has the same judge can be decided together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seat {
    /// A shard of this node.
    Here(u16),
    /// A shard of another node.
    Abroad(NodeId, u16),
}

/// The shards, and what tells them which of them a key belongs to. For one thread, which also runs [`Shards::serve`].
#[derive(Debug)]
pub struct Shards {
    calls: Calls,
    view: Arc<View>,
    seeds: Seeds,
    quota: KeyQuota,
    limits: Mutex<BTreeMap<Limit, Arc<Definition>>>,
}

impl Shards {
    /// These shards; `quota` is how many keys of one rule each of them holds.
    pub fn new(mailboxes: Mailboxes, view: Arc<View>, seeds: Seeds, quota: KeyQuota) -> Shards {
        Shards { calls: Calls::new(mailboxes), view, seeds, quota, limits: Mutex::default() }
    }

    /// Takes questions to the shards and answers back, for as long as anybody asks.
    pub async fn serve(&self) {
        self.calls.serve().await;
    }

    /// What tells keys apart and places them.
    pub fn seeds(&self) -> &Seeds {
        &self.seeds
    }

    /// How many keys of a rule a shard holds.
    pub fn quota(&self) -> KeyQuota {
        self.quota
    }

    /// The shard that a key belongs to, as this node sees the cluster now.
    pub fn of(&self, key: KeyRef<'_>) -> Seat {
        let (place, territory) = (self.seeds.placement.place(key), self.view.territory());
        match territory.owner(place).filter(|_| !territory.holds(place)) {
            Some(owner) => Seat::Abroad(owner.id, shard_of(place, owner.shards)),
            None => Seat::Here(shard_of(place, self.quota.shards)),
        }
    }

    /// The definition of explicit numbers, which no rule is behind. The same numbers are one definition, so that a shard
    /// interns them once.
    pub fn definition(&self, limit: Limit) -> Arc<Definition> {
        let mut limits = self.limits.lock();
        if let Some(known) = limits.get(&limit) {
            return Arc::clone(known);
        }
        if limits.len() == LIMITS_KEPT_MAX {
            limits.clear();
        }
        let definition = Definition { rule: "".into(), shadow: false, keys_max: self.quota.of(0), limit };
        let definition = Arc::new(definition);
        limits.insert(limit, Arc::clone(&definition));
        definition
    }

    /// Has a shard do something, and waits for its answer.
    ///
    /// # Errors
    /// [`Refusal`]: it has not done it, or it is not known.
    pub async fn ask(&self, seat: Seat, errand: Errand) -> Result<Reply<'static>, Refusal> {
        self.ask_ceiling(seat, errand).await.map(|(reply, _)| reply)
    }

    /// The same, with the ceiling that a reservation was charged under: one that is repeated may name another by now.
    ///
    /// # Errors
    /// As [`Shards::ask`].
    pub async fn ask_ceiling(&self, seat: Seat, errand: Errand) -> Result<(Reply<'static>, Option<u64>), Refusal> {
        match self.answer(seat, errand).await? {
            Some(Outgoing::Reply(_, reply)) => decided(reply).map(|reply| (reply, None)),
            Some(Outgoing::Reserved(_, reply, ceiling)) => Ok((reply, Some(ceiling))),
            Some(Outgoing::Stocks(..) | Outgoing::Push(_) | Outgoing::Goodbye(..)) | None => Err(Refusal::Unavailable),
        }
    }

    async fn answer(&self, seat: Seat, errand: Errand) -> Result<Option<Outgoing>, Refusal> {
        let mut call = self.calls.ask(self.departing(seat, &errand), errand)?;
        let answered = tokio::time::timeout(ANSWER_TIMEOUT, call.answer()).await;
        Ok(answered.ok().flatten())
    }

    /// Has a shard do something of which nobody waits for the answer.
    ///
    /// # Errors
    /// Its mailbox is full.
    pub fn tell(&self, seat: Seat, errand: Errand) -> Result<(), Refusal> {
        self.calls.tell(self.departing(seat, &errand), errand)
    }

    /// What is left of a key's budgets that are not whole.
    ///
    /// # Errors
    /// [`Refusal`]: the shard cannot say.
    pub async fn peek(&self, key: Key) -> Result<Vec<Stock>, Refusal> {
        match self.answer(self.of(key.as_ref()), Errand::Peek(key)).await? {
            Some(Outgoing::Stocks(_, stocks)) => Ok(stocks),
            Some(Outgoing::Reply(_, reply)) => decided(reply).and(Err(Refusal::Unavailable)),
            _ => Err(Refusal::Unavailable),
        }
    }

    /// What is known of the way there.
    fn departing(&self, seat: Seat, errand: &Errand) -> Departing {
        match seat {
            Seat::Here(shard) => Departing::Here(shard),
            Seat::Abroad(to, _) => {
                let place = errand.places(&self.seeds).next().expect("every errand is about a key");
                Departing::Abroad { to, place, epoch: self.view.territory().topology().epoch }
            }
        }
    }
}

/// A reply, or why nothing was decided.
fn decided(reply: Reply<'static>) -> Result<Reply<'static>, Refusal> {
    match reply {
        Reply::Unavailable => Err(Refusal::Unavailable),
        Reply::WrongOwner { .. } | Reply::Moving { .. } => Err(Refusal::Moving),
        Reply::Full => Err(Refusal::Full),
        Reply::Overloaded => Err(Refusal::Overloaded),
        Reply::Invalid { field, reason } => {
            Err(Refusal::Invalid { field: field.into_owned(), reason: reason.into_owned() })
        }
        reply => Ok(reply),
    }
}
