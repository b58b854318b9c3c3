//! The questions that one thread has open with the shards.
//!
//! Threads wake each other through the kernel, which costs more than a decision, and a woken thread that shares the
//! processor of the one that wakes it interrupts it at once. So a shard is woken behind all tasks that are ready, once for
//! what they all have asked, and its answers come back together, through one outlet.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tallyring_protocol::{NodeId, Placement};
use tokio::sync::{Notify, oneshot};

use super::Refusal;
use crate::observe::door::Door;
use crate::shard::abroad::{Abroad, Departure};
use crate::shard::command::{Envelope, Errand};
use crate::shard::mailbox::Round;
use crate::shard::outlet::{Outgoing, Outlet};
use crate::shard::{Message, ShardMailbox};

/// The id of what nobody waits for.
const NOBODY: u32 = 0;

/// Where questions are left.
#[derive(Clone, Debug)]
pub struct Mailboxes {
    /// For the shards of this node.
    pub shards: Arc<[ShardMailbox]>,
    /// For other nodes.
    pub abroad: Arc<Abroad>,
}

/// Whom a question is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Departing {
    /// A shard of this node.
    Here(u16),
    /// Another node, which owns that place as of that epoch.
    Abroad { to: NodeId, place: Placement, epoch: u64 },
}

/// The open questions.
#[derive(Debug)]
pub(super) struct Calls {
    shards: Round<Message>,
    abroad: Arc<Abroad>,
    has_mail: Notify,
    outlet: Arc<Outlet>,
    open: Mutex<Open>,
}

/// Who waits, by the id of the question. Bounded by the requests that are being answered.
#[derive(Debug, Default)]
struct Open {
    last: u32,
    waiting: BTreeMap<u32, oneshot::Sender<Outgoing>>,
}

/// A question whose answer is waited for.
#[derive(Debug)]
pub(super) struct Call<'a> {
    calls: &'a Calls,
    id: u32,
    answer: oneshot::Receiver<Outgoing>,
}

impl Calls {
    pub(super) fn new(mailboxes: Mailboxes) -> Calls {
        let Mailboxes { shards, abroad } = mailboxes;
        let (outlet, open) = Default::default();
        Calls { shards: Round::new(shards), abroad, has_mail: Notify::new(), outlet, open }
    }

    /// Leaves a question for a shard.
    ///
    /// # Errors
    /// Its mailbox is full.
    pub(super) fn ask(&self, to: Departing, errand: Errand) -> Result<Call<'_>, Refusal> {
        let (answered, answer) = oneshot::channel();
        let call = Call { calls: self, id: self.open.lock().add(answered), answer };
        self.leave(to, call.id, errand)?;
        Ok(call)
    }

    /// Leaves something for a shard of which nobody waits for the answer.
    ///
    /// # Errors
    /// Its mailbox is full.
    pub(super) fn tell(&self, to: Departing, errand: Errand) -> Result<(), Refusal> {
        self.leave(to, NOBODY, errand)
    }

    /// Wakes shards and hands out answers, for ever.
    pub(super) async fn serve(&self) {
        tokio::join!(self.wake_shards(), self.hand_out());
    }

    fn leave(&self, to: Departing, id: u32, errand: Errand) -> Result<(), Refusal> {
        let envelope = Envelope { errand, id, reply_to: Arc::clone(&self.outlet) };
        let shard = match to {
            Departing::Here(shard) => shard,
            Departing::Abroad { to, place, epoch } => {
                let departure = Departure { to, epoch, place, door: Door::Http, envelope };
                return self.abroad.push(departure).map_err(|_| Refusal::Overloaded);
            }
        };
        self.shards.leave(shard, Message::Command(envelope)).map_err(|_| Refusal::Overloaded)?;
        self.has_mail.notify_one();
        Ok(())
    }

    async fn wake_shards(&self) {
        loop {
            self.has_mail.notified().await;
            self.shards.wake();
        }
    }

    async fn hand_out(&self) {
        loop {
            self.outlet.arrival().await;
            while let Some(outgoing) = self.outlet.pop() {
                let (Outgoing::Reply(id, _) | Outgoing::Reserved(id, ..) | Outgoing::Stocks(id, _)) = outgoing else {
                    continue;
                };
                if let Some(to) = self.open.lock().waiting.remove(&id) {
                    let _ = to.send(outgoing); // whoever asked may have stopped waiting
                }
            }
        }
    }
}

impl Open {
    /// A new id for somebody who waits.
    fn add(&mut self, to: oneshot::Sender<Outgoing>) -> u32 {
        loop {
            self.last = self.last.wrapping_add(1);
            if self.last != NOBODY && !self.waiting.contains_key(&self.last) {
                break;
            }
        }
        self.waiting.insert(self.last, to);
        self.last
    }
}

impl Call<'_> {
    /// Waits for the answer; `None` = there will be none.
    pub(super) async fn answer(&mut self) -> Option<Outgoing> {
        (&mut self.answer).await.ok()
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.calls.open.lock().waiting.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tallyring_engine::Identity;
    use tallyring_protocol::Reply;
    use tokio::task::LocalSet;
    use tokio::time::timeout;

    use super::*;
    use crate::shard::mailbox::Mailbox;

    /// Some errand, whose answer the test makes up.
    fn errand() -> Errand {
        Errand::Settle { reservation: Identity { placement: 0, identity: 0 }, actual: 1 }
    }

    /// Takes what a shard was left.
    fn taken(calls: &Calls, shard: u16) -> Envelope {
        match calls.shards.mailbox(shard).pop() {
            Some(Message::Command(envelope)) => envelope,
            other => panic!("{other:?}"),
        }
    }

    fn answer(envelope: &Envelope, found: bool) {
        envelope.reply_to.push(Outgoing::Reply(envelope.id, Reply::ResetDone { found }));
    }

    async fn play(test: impl AsyncFnOnce(&Calls)) {
        let calls = Arc::new(Calls::new(Mailboxes {
            shards: (0..2).map(|_| Mailbox::new(2)).collect(),
            abroad: Arc::new(Mailbox::new(2)),
        }));
        let serving = Arc::clone(&calls);
        LocalSet::new()
            .run_until(async {
                tokio::task::spawn_local(async move { serving.serve().await });
                test(&calls).await;
            })
            .await;
    }

    #[tokio::test]
    async fn everybody_gets_the_answer_to_their_own_question() {
        play(async |calls| {
            let (mut first, mut second) =
                (calls.ask(Departing::Here(0), errand()).unwrap(), calls.ask(Departing::Here(0), errand()).unwrap());
            let (one, other) = (taken(calls, 0), taken(calls, 0));
            answer(&other, true);
            answer(&one, false);
            let is = |answer: Option<Outgoing>, expect| match answer {
                Some(Outgoing::Reply(_, Reply::ResetDone { found })) => assert_eq!(found, expect),
                other => panic!("{other:?}"),
            };
            is(second.answer().await, true);
            is(first.answer().await, false);
            drop((first, second));
            assert!(calls.open.lock().waiting.is_empty());
        })
        .await;
    }

    #[tokio::test]
    async fn shards_are_woken_behind_whoever_is_asking() {
        play(async |calls| {
            let _calls =
                [calls.ask(Departing::Here(1), errand()).unwrap(), calls.ask(Departing::Here(1), errand()).unwrap()];
            assert_eq!(calls.shards.mailbox(1).len(), 2);
            calls.shards.mailbox(1).arrival().await;
            assert!(timeout(Duration::ZERO, calls.shards.mailbox(1).arrival()).await.is_err(), "once for both");
            assert!(timeout(Duration::ZERO, calls.shards.mailbox(0).arrival()).await.is_err(), "only whoever has mail");
        })
        .await;
    }

    #[tokio::test]
    async fn who_stops_waiting_is_forgotten_and_their_answer_is_nobody_elses() {
        play(async |calls| {
            drop(calls.ask(Departing::Here(0), errand()).unwrap());
            calls.tell(Departing::Here(0), errand()).unwrap();
            assert!(calls.open.lock().waiting.is_empty());
            (0..2).for_each(|_| answer(&taken(calls, 0), true));
            let mut next = calls.ask(Departing::Here(0), errand()).unwrap();
            assert!(timeout(Duration::ZERO, next.answer()).await.is_err());
        })
        .await;
    }

    #[tokio::test]
    async fn a_full_mailbox_refuses_and_nobody_waits() {
        play(async |calls| {
            let _calls =
                [calls.ask(Departing::Here(0), errand()).unwrap(), calls.ask(Departing::Here(0), errand()).unwrap()];
            assert_eq!(calls.ask(Departing::Here(0), errand()).unwrap_err(), Refusal::Overloaded);
            assert_eq!(calls.open.lock().waiting.len(), 2);
        })
        .await;
    }
}
