//! The host: does errands of other nodes. It asks shards of this node and nobody else, so that none is taken any further.

use std::cell::Cell;
use std::sync::Arc;

use bytes::BytesMut;
use tallyring_protocol::{Malformed, NodeId, Placement, Reply, shard_of};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::frame::{self, ITEMS_MAX, READ_BYTES, WRITE_BYTES};
use super::vocabulary::Heard;
use super::wire::answer::{Answer, Answers};
use super::wire::order::{Asked, Bundle, Order};
use super::{Guest, HOSTED_MAX, WINDOW_MAX};
use crate::cluster::peer::frame::FrameError;
use crate::cluster::peer::{IDLE_TIMEOUT, WRITE_TIMEOUT};
use crate::cluster::view::View;
use crate::observe::errand::{ErrandTally, Fate};
use crate::shard::command::{Envelope, Errand, KeyQuota};
use crate::shard::mailbox::Round;
use crate::shard::outlet::{Outgoing, Outlet};
use crate::shard::territory::Territory;
use crate::shard::{Message, Seeds, ShardMailbox};
use crate::sys::net::Stream;

/// What somebody is told to wait whose ring is newer than this node's, in microseconds.
const BEHIND_US: u64 = 10_000;

/// All that does errands.
#[derive(Clone, Debug)]
pub(super) struct Hosts {
    pub(super) view: Arc<View>,
    pub(super) mailboxes: Arc<[ShardMailbox]>,
    pub(super) seeds: Seeds,
    pub(super) quota: KeyQuota,
    pub(super) tally: Arc<ErrandTally>,
}

/// Why a line that other nodes opened has ended.
#[derive(Debug, thiserror::Error)]
enum HostError {
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error("what it means by a number makes no sense: {0}")]
    Terms(#[from] Malformed),
    #[error("it does not read what it asked for")]
    Slow,
    #[error("it has closed the line, or asked for nothing for {} s", IDLE_TIMEOUT.as_secs())]
    Closed,
}

impl From<std::io::Error> for HostError {
    fn from(error: std::io::Error) -> HostError {
        HostError::Frame(error.into())
    }
}

impl Hosts {
    /// Serves whoever is let in, for ever.
    pub(super) async fn run(self, mut guests: mpsc::Receiver<Guest>) {
        let mut serving = JoinSet::new();
        loop {
            tokio::select! {
                biased;
                Some(_) = serving.join_next() => {}
                guest = guests.recv() => match guest {
                    Some(guest) if serving.len() < HOSTED_MAX => {
                        serving.spawn_local(self.clone().serve(guest));
                    }
                    Some(Guest { from, .. }) => {
                        tracing::warn!(node = from.0, HOSTED_MAX, "a line was dropped: there is no place for it");
                    }
                    None => std::future::pending().await, // the control plane has ended before this thread
                },
            }
        }
    }

    async fn serve(self, Guest { from, parcel }: Guest) {
        let Ok(stream) = parcel.open() else { return };
        let _open = self.tally.hosted();
        let ended = Visit {
            hosts: &self,
            outlet: Arc::default(),
            open: Cell::new(0),
            room: Notify::new(),
            shards: Round::new(Arc::clone(&self.mailboxes)),
        }
        .run(stream)
        .await;
        if let Err(error) = ended {
            note_end(from, &error);
        }
    }
}

fn note_end(from: NodeId, error: &HostError) {
    match error {
        HostError::Closed => tracing::debug!(node = from.0, %error, "a line of another node has ended"),
        _ => tracing::warn!(node = from.0, %error, "a line of another node was ended"),
    }
}

/// One line while it is served.
struct Visit<'a> {
    hosts: &'a Hosts,
    outlet: Arc<Outlet>,
    /// Errands that are not answered. While there are [`WINDOW_MAX`], nothing more is read.
    open: Cell<usize>,
    /// Some were.
    room: Notify,
    /// The way to the shards, which are woken once for all that a read brought.
    shards: Round<Message>,
}

impl Visit<'_> {
    async fn run(&self, stream: Stream) -> Result<(), HostError> {
        let (mut from, mut to) = tokio::io::split(stream);
        tokio::select! {
            ended = self.take(&mut from) => ended,
            ended = self.answer(&mut to) => ended,
        }
    }

    /// Takes errands to their shards.
    async fn take(&self, from: &mut (impl AsyncRead + Unpin)) -> Result<(), HostError> {
        let (mut inbox, mut heard) = (BytesMut::new(), Heard::new(self.hosts.quota));
        loop {
            while self.open.get() >= WINDOW_MAX {
                self.room.notified().await;
            }
            inbox.reserve(READ_BYTES);
            match timeout(IDLE_TIMEOUT, from.read_buf(&mut inbox)).await {
                Err(_) | Ok(Ok(0)) => return Err(HostError::Closed),
                Ok(read) => read?,
            };
            while let Some(bundle) = frame::split(&mut inbox)? {
                self.take_bundle(bundle, &mut heard)?;
            }
            self.shards.wake();
        }
    }

    fn take_bundle(&self, Bundle { epoch, orders }: Bundle, heard: &mut Heard) -> Result<(), HostError> {
        let territory = self.hosts.view.territory();
        for order in orders {
            let (id, within_us, asked) = match order {
                Order::Define(number, terms) => {
                    heard.define(number, terms)?;
                    continue;
                }
                Order::Do { id, within_us, asked } => (id, within_us, asked),
            };
            self.open.set(self.open.get() + 1);
            let started = self.shard_for(asked, within_us, heard, epoch, &territory);
            if let Err(refused) = started.and_then(|(shard, errand)| self.leave(shard, id, errand)) {
                self.outlet.push(Outgoing::Reply(id, refused));
            }
        }
        Ok(())
    }

    /// Leaves an errand for its shard.
    fn leave(&self, shard: u16, id: u32, errand: Errand) -> Result<(), Reply<'static>> {
        let envelope = Envelope { errand, id, reply_to: Arc::clone(&self.outlet) };
        self.shards.leave(shard, Message::Command(envelope)).map_err(|_| Reply::Overloaded)
    }

    /// An errand, and the shard that it is for; or why there is none.
    fn shard_for(
        &self,
        asked: Asked,
        within_us: u32,
        heard: &Heard,
        epoch: u64,
        territory: &Territory,
    ) -> Result<(u16, Errand), Reply<'static>> {
        let errand = asked.errand(heard).map_err(Reply::invalid)?;
        let shard = self.shard_of(&errand, epoch, territory)?;
        // Nobody waits for it any more, so that it must not be charged either.
        if within_us == 0 { Err(Reply::Unavailable) } else { Ok((shard, errand)) }
    }

    /// The shard whose an errand is.
    fn shard_of(&self, errand: &Errand, epoch: u64, territory: &Territory) -> Result<u16, Reply<'static>> {
        let shard = |place: Placement| shard_of(place, self.hosts.quota.shards);
        let mut places = errand.places(&self.hosts.seeds);
        let first = places.next().expect("every errand is about a key");
        let is_elsewhere = |place: &Placement| !territory.holds(*place);
        if let Some(place) = std::iter::once(first).chain(errand.places(&self.hosts.seeds)).find(is_elsewhere) {
            let is_behind = territory.topology().epoch < epoch;
            return Err(if is_behind { Reply::Moving { retry_us: BEHIND_US } } else { territory.refusal(place) });
        }
        if places.any(|place| shard(place) != shard(first)) {
            return Err(Reply::invalid(Malformed::new("checks", "cross_shard: their keys live on several shards")));
        }
        Ok(shard(first))
    }

    /// Sends what the shards have answered.
    async fn answer(&self, to: &mut (impl AsyncWrite + Unpin)) -> Result<(), HostError> {
        let mut out = Vec::new();
        loop {
            self.outlet.arrival().await;
            while self.gather(&mut out) {
                let write = async {
                    to.write_all(&out).await?;
                    to.flush().await
                };
                timeout(WRITE_TIMEOUT, write).await.map_err(|_| HostError::Slow)??;
                out.clear();
            }
        }
    }

    /// Moves answers into what is written next; false if there are none.
    fn gather(&self, out: &mut Vec<u8>) -> bool {
        while out.len() < WRITE_BYTES {
            let next = std::iter::from_fn(|| self.outlet.pop()).take(ITEMS_MAX);
            let answers: Vec<Answer> = next.filter_map(|outgoing| self.word(outgoing)).collect();
            if answers.is_empty() {
                break;
            }
            self.open.set(self.open.get() - answers.len());
            self.room.notify_one();
            frame::append(&Answers(answers), out);
        }
        !out.is_empty()
    }

    fn word(&self, outgoing: Outgoing) -> Option<Answer> {
        self.hosts.tally.done(Fate::of(&outgoing));
        Answer::of(outgoing)
    }
}
