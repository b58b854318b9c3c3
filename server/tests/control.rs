//! Control planes on real sockets: they form a cluster, agree, and refuse each other for a reason.
#![cfg(not(feature = "sim"))]
#![allow(clippy::unwrap_used, reason = "a broken fixture must panic")]

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redb::StorageBackend;
use redb::backends::InMemoryBackend;

use tallyring::cluster::control::begin::Beginning;
use tallyring::cluster::control::change::{Publish, Seeds, What};
use tallyring::cluster::control::member::{Addresses, Member};
use tallyring::cluster::control::outcome::{Outcome, Refusal};
use tallyring::cluster::control::packed::Packed;
use tallyring::cluster::control::raft::store::Store;
use tallyring::cluster::control::state::State;
use tallyring::cluster::control::timing::Timing;
use tallyring::cluster::control::{Control, ControlError, ControlSetup};
use tallyring::cluster::pulse::Pulse;
use tallyring::sys::clock::Clock;
use tallyring::sys::net::Bound;
use tallyring::sys::spawn::Thread;
use tallyring::tokens::{LiveTokens, TokenHash, Tokens};
use tallyring_protocol::NodeId;
use tokio_util::sync::CancellationToken;

const SEEDS: Seeds = Seeds { placement: [1; 16], identity: [2; 16] };

/// What a node of a test is started with, beyond its number.
struct Start {
    store: Store,
    beginning: Beginning,
    token: &'static str,
}

impl Start {
    fn founding() -> Start {
        let store = Store::on(InMemoryBackend::new()).unwrap();
        Start { store, beginning: Beginning::Found(SEEDS), token: "p" }
    }

    fn joining(node: &Node) -> Start {
        Start { beginning: Beginning::Join(vec![node.address.clone()]), ..Start::founding() }
    }
}

struct Node {
    control: Control,
    address: String,
    draining: CancellationToken,
    thread: Thread,
}

impl Node {
    async fn start(id: u64, start: Start) -> Result<Node, ControlError> {
        let listener = Bound::listen((Ipv4Addr::LOCALHOST, 0).into()).await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let elsewhere = || "127.0.0.1:1".to_owned();
        let addresses = Addresses { native: elsewhere(), http: elsewhere(), resp: elsewhere(), peer: address.clone() };
        let member = Member::new(NodeId(id), addresses);
        let draining = CancellationToken::new();
        let setup = ControlSetup {
            store: start.store,
            member,
            beginning: start.beginning,
            listener,
            guests: tokio::sync::mpsc::channel(1).0,
            certificates: None,
            token: start.token.into(),
            tokens: Arc::new(LiveTokens::new(Tokens { peer: vec![TokenHash::of("p")], ..Tokens::default() })),
            pulse: Pulse::new(Clock::start()),
            timing: Timing::default(),
            draining: draining.clone(),
        };
        let (control, thread) = Control::start(setup).await?;
        Ok(Node { control, address, draining, thread })
    }

    /// Waits until this node knows a state like that.
    async fn sees(&self, what: impl FnMut(&Arc<State>) -> bool) {
        self.control.states().wait_for(what).await.unwrap();
    }

    /// Waits until it knows that so many vote.
    async fn knows_voters(&self, count: usize) {
        self.control.standings().wait_for(|standing| standing.voters.len() == count).await.unwrap();
    }

    async fn stop(self) {
        self.draining.cancel();
        self.thread.join().await;
    }
}

fn publish(text: &str) -> What {
    let text = Packed::new(&text.to_owned().into()).unwrap();
    What::Publish(Publish { text, author: "test".into(), comment: "".into(), expect: None })
}

async fn refused(node: &Node, what: What) -> Refusal {
    match node.control.propose(what).await.unwrap() {
        Outcome::Refused(refusal) => refusal,
        other => panic!("it went through: {other:?}"),
    }
}

#[tokio::test]
async fn three_nodes_agree_wherever_they_are_asked() {
    let first = Node::start(1, Start::founding()).await.unwrap();
    let second = Node::start(2, Start::joining(&first)).await.unwrap();
    let third = Node::start(3, Start::joining(&second)).await.unwrap();
    first.knows_voters(3).await;
    for (node, version) in [(&third, 1), (&second, 2), (&first, 3)] {
        let outcome = node.control.propose(publish(&format!("# {version}"))).await.unwrap();
        assert!(matches!(outcome, Outcome::Published { version: found, is_new: true, .. } if found == version));
    }
    for node in [&first, &second, &third] {
        node.sees(|state| state.rules().version().version == 3).await;
        assert_eq!(node.control.state().topology(1), first.control.state().topology(1));
    }
    // The leader goes: the others elect another one, and are asked as before.
    first.stop().await;
    let outcome = second.control.propose(publish("# 4")).await.unwrap();
    assert!(matches!(outcome, Outcome::Published { version: 4, .. }), "{outcome:?}");
    third.sees(|state| state.rules().version().version == 4).await;
    // Of two, of which one is dead, the other one votes; without it nobody could.
    let outcome = third.control.propose(What::Leave(NodeId(2))).await.unwrap();
    assert!(matches!(outcome, Outcome::Done { .. }), "{outcome:?}");
    third.knows_voters(1).await;
    let refusal = refused(&third, What::Leave(NodeId(3))).await;
    assert!(matches!(refusal, Refusal::NoQuorum { alive: 0, voters: 1, .. }), "{refusal}");
}

#[tokio::test]
async fn who_leaves_is_no_voter_any_more() {
    let first = Node::start(1, Start::founding()).await.unwrap();
    let second = Node::start(2, Start::joining(&first)).await.unwrap();
    let third = Node::start(3, Start::joining(&first)).await.unwrap();
    first.knows_voters(3).await;
    let outcome = second.control.propose(What::Leave(NodeId(3))).await.unwrap();
    assert!(matches!(outcome, Outcome::Done { .. }), "{outcome:?}");
    first.knows_voters(1).await;
    first.sees(|state| state.members().len() == 2).await;
    third.stop().await;
    assert!(matches!(first.control.propose(publish("# 1")).await.unwrap(), Outcome::Published { .. }));
}

/// Why a node with this start is not taken in by a cluster of one.
async fn check_refused(id: u64, change: impl FnOnce(&mut Start), expect: &str) {
    let first = Node::start(1, Start::founding()).await.unwrap();
    let mut start = Start::joining(&first);
    change(&mut start);
    let Err(error) = Node::start(id, start).await else { panic!("node {id} was taken in") };
    let error = error.to_string().replace(&first.address, "A");
    assert!(error.starts_with(expect), "{error}");
}

#[tokio::test]
async fn who_is_not_taken_in_is_told_why() {
    check_refused(2, |start| start.token = "x", "join: A: the peer token is not valid there").await;
    check_refused(1, |_| (), "join: A: it is node 1 itself: give this node another --node-id").await;
}

#[tokio::test]
async fn a_second_node_of_one_number_is_not_taken_in() {
    let first = Node::start(1, Start::founding()).await.unwrap();
    let _second = Node::start(2, Start::joining(&first)).await.unwrap();
    let Err(error) = Node::start(2, Start::joining(&first)).await else { panic!("two nodes have one number") };
    assert!(error.to_string().starts_with("join: node 2 is a member already, from another data folder"), "{error}");
}

#[tokio::test]
async fn a_node_that_keeps_nothing_stays_alone() {
    let first = Node::start(1, Start { store: Store::in_memory(), ..Start::founding() }).await.unwrap();
    let Err(error) = Node::start(2, Start::joining(&first)).await else { panic!("it was joined") };
    let expect = "join: node 1 keeps nothing on a disk, so nobody can join it: start it with --data first";
    assert_eq!(error.to_string(), expect);
}

#[tokio::test]
async fn who_has_left_is_told_so_however_late() {
    let dir = tempfile::tempdir().unwrap();
    let first = Node::start(1, Start::founding()).await.unwrap();
    let start = || Start { store: Store::open(dir.path()).unwrap(), ..Start::joining(&first) };
    let second = Node::start(2, start()).await.unwrap();
    second.stop().await;
    first.control.propose(What::Leave(NodeId(2))).await.unwrap();
    let Err(error) = Node::start(2, start()).await else { panic!("it came back by itself") };
    let expect = "node 2 has left its cluster: to come back, it needs a new --data folder and --join";
    assert_eq!(error.to_string(), expect);
    Node::start(2, Start::joining(&first)).await.unwrap();
    first.sees(|state| state.members().len() == 2).await;
}

/// A disk that takes nothing any more once it is full.
#[derive(Debug)]
struct Disk {
    memory: InMemoryBackend,
    is_full: Arc<AtomicBool>,
}

impl Disk {
    fn check(&self) -> io::Result<()> {
        if self.is_full.load(Ordering::Relaxed) { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        self.memory.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.memory.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check()?;
        self.memory.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.check()?;
        self.memory.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.check()?;
        self.memory.write(offset, data)
    }
}

#[tokio::test]
async fn a_node_whose_disk_is_full_says_so_and_keeps_what_it_knows() {
    let is_full = Arc::<AtomicBool>::default();
    let disk = Disk { memory: InMemoryBackend::new(), is_full: Arc::clone(&is_full) };
    let node = Node::start(1, Start { store: Store::on(disk).unwrap(), ..Start::founding() }).await.unwrap();
    node.control.propose(publish("# kept")).await.unwrap();
    is_full.store(true, Ordering::Relaxed);
    let (proposed, standing) = tokio::join!(node.control.propose(publish("# lost")), async {
        node.control.standings().wait_for(|standing| standing.fault.is_some()).await.unwrap().clone()
    });
    assert!(proposed.is_err(), "{proposed:?}");
    assert!(standing.fault.unwrap().contains("no storage space"), "the reason is told");
    assert_eq!(node.control.state().rules().version().version, 1);
}

#[tokio::test]
async fn a_node_that_restarts_knows_its_cluster_and_its_rules() {
    let dir = tempfile::tempdir().unwrap();
    let start = || Start { store: Store::open(dir.path()).unwrap(), ..Start::founding() };
    let node = Node::start(1, start()).await.unwrap();
    node.control.propose(publish("# kept")).await.unwrap();
    let before = node.control.state();
    node.stop().await;
    let again = Node::start(1, start()).await.unwrap();
    let after = again.control.state();
    assert_eq!((after.cluster(), after.rules()), (before.cluster(), before.rules()));
}
