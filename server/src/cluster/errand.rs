//! Errands: what a door of one node is asked about a key of another one, taken there and back.
//!
//! ```text
//! door ─► shard::abroad ─► post ─► line to the owner ═══► host ─► its shard's mailbox
//!   ▲                               │  window: who waits    ▲                │
//!   └────────── outlet ◄────────────┘ ◄═════════════════════╧──── outlet ◄───┘
//! ```
//! It all runs on one thread, in both directions, that is not the control plane's: heartbeats never wait for any of this.
//! A line is a connection with many questions open; behind the hello (`super::peer`) one side sends bundles, the other one
//! answers, in any order. Whatever has gathered is one write.
//!
//! Invariants:
//! - An errand is taken to another node at most once: a host asks shards of its own node and nobody else.
//! - An errand that was sent is never sent again. One that was not, when its line broke, has a second line tried for it.
//! - Every errand is answered once, at the latest [`ERRAND_WITHIN`] after it came here.
//! - Nothing waits for a full queue, and no node for another one: each has its own lines.
//!
//! Not here: who owns a key (`super::view`), what an errand does (`crate::shard`).

mod frame;
mod host;
mod line;
mod owed;
mod post;
mod vocabulary;
mod window;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use tallyring_protocol::NodeId;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use self::host::Hosts;
use self::post::Post;
use super::peer::hello::Introduction;
use super::view::View;
use crate::observe::errand::ErrandTally;
use crate::shard::abroad::Abroad;
use crate::shard::command::KeyQuota;
use crate::shard::{Seeds, ShardMailbox};
use crate::sys::net::Parcel;

/// How long an errand may take, there and back. Waiting longer would hold up the answers behind it, and say less.
pub const ERRAND_WITHIN: Duration = Duration::from_millis(250);

/// Lines to one other node. What is about one place takes the same one, so that it stays in order.
pub const LINES_PER_NODE: usize = 2;

/// Errands that wait for one line; one more is answered `overloaded`.
pub const QUEUE_MAX: usize = 4_096;

/// Errands of one line that may be open at once; the others wait.
pub const WINDOW_MAX: usize = 4_096;

/// Lines of other nodes that a node serves: each of a thousand members may have its few.
pub const HOSTED_MAX: usize = 2_048;

/// Calls that were greeted and wait to be served.
pub const GUESTS_MAX: usize = 64;

/// How long a line without an errand stays open. Whoever serves it waits longer: no errand meets a line that is closing.
const LINE_IDLE: Duration = Duration::from_secs(30);

/// How long a node that cannot be reached is left alone; what is for it meanwhile is answered at once.
const DOWN_FOR: Duration = Duration::from_millis(100);

/// A call of another node that has errands, and was greeted.
#[derive(Debug)]
pub struct Guest {
    /// Who calls.
    pub from: NodeId,
    /// The connection.
    pub parcel: Parcel,
}

/// Where calls are left that were greeted.
pub type Guests = mpsc::Sender<Guest>;

/// What the thread of errands is started with.
#[derive(Debug)]
pub struct ErrandSetup {
    /// Where this node's doors leave errands for others.
    pub abroad: Arc<Abroad>,
    /// Other nodes that call.
    pub guests: mpsc::Receiver<Guest>,
    /// Who this node is, and whom it knows.
    pub introduction: Introduction,
    /// Who owns what, as this node sees it.
    pub view: Arc<View>,
    /// Its shards.
    pub mailboxes: Arc<[ShardMailbox]>,
    /// What places keys.
    pub seeds: Seeds,
    /// How many keys of a rule a shard holds.
    pub quota: KeyQuota,
    /// What is counted.
    pub tally: Arc<ErrandTally>,
    /// When it ends: after the doors and the shards.
    pub ending: CancellationToken,
}

/// Takes errands to other nodes and does theirs, until it is to end.
pub async fn run(setup: ErrandSetup) {
    let ErrandSetup { abroad, guests, introduction, view, mailboxes, seeds, quota, tally, ending } = setup;
    let post = Post::new(abroad, introduction, quota, Arc::clone(&tally));
    let hosts = Hosts { view, mailboxes, seeds, quota, tally };
    tokio::select! {
        biased;
        () = ending.cancelled() => {}
        () = post.run() => {}
        () = hosts.run(guests) => {}
    }
}
