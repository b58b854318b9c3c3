//! Peers that do not do their part, on a shard whose time is virtual.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tallyring_engine::Bounds;
use tallyring_protocol::{IdentityHasher, IdentityKey, Node, NodeId, PlacementSeed, RulesVersion, Topology};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::LocalSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{LOGIN_TIMEOUT, RespArrival};
use crate::shard::abroad::{ABROAD_MAX, Abroad};
use crate::shard::rules::RulesFrames;
use crate::shard::territory::Territory;
use crate::shard::{MAILBOX_MAX, Message, Seeds, ShardMailbox, ShardSetup, run};
use crate::sys::clock::Clock;
use crate::sys::net::{Parcel, Stream, TcpListener, TcpStream};
use crate::tokens::{LiveTokens, TokenHash, Tokens};

const SECRET: &str = "a-client";

/// What a peer that reads nothing is given.
const READING_TIMEOUT: Duration = Duration::from_secs(10);

/// A shard counts idle time in ticks, and whoever is told to go has half a second to end.
const SLACK: Duration = Duration::from_secs(2);

fn setup(draining: CancellationToken) -> ShardSetup {
    let tokens = Tokens { client: vec![TokenHash::of(SECRET)], ..Tokens::default() };
    ShardSetup {
        index: 0,
        node: NodeId(1),
        mailboxes: [ShardMailbox::new(MAILBOX_MAX)].into(),
        abroad: Arc::new(Abroad::new(ABROAD_MAX)),
        seeds: Seeds { placement: PlacementSeed([1; 16]), identity: IdentityHasher::new(IdentityKey([2; 16])) },
        bounds: Bounds::default(),
        territory: Arc::new(alone()),
        rules: Arc::new(RulesFrames::new(RulesVersion::default(), b"{}")),
        clock: Clock::start(),
        pulse: Arc::default(),
        tokens: Arc::new(LiveTokens::new(tokens)),
        idle_timeout: Duration::from_secs(300),
        doors: Arc::default(),
        node_connections: Arc::default(),
        draining,
    }
}

/// A cluster of one.
fn alone() -> Territory {
    let node = Node { id: NodeId(1), weight: 1, shards: 1, native: String::new(), zone: String::new() };
    let topology = Topology { epoch: 1, placement_seed: PlacementSeed([1; 16]), nodes: vec![node], gateways: 1 };
    Territory::new(NodeId(1), topology)
}

/// A shard in this thread, and the peer's end of a RESP connection to it.
async fn with_peer(play: impl AsyncFnOnce(TcpStream)) {
    let played = async {
        let draining = CancellationToken::new();
        let setup = setup(draining.clone());
        let mailboxes = Arc::clone(&setup.mailboxes);
        let shard = tokio::task::spawn_local(run(setup));
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (peer, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
        let parcel = Parcel::pack(Stream::from(accepted.unwrap().0)).unwrap();
        mailboxes[0].push(Message::AdoptResp(RespArrival { parcel, id: 1, ended: Box::new(()) })).unwrap();
        play(peer.unwrap()).await;
        draining.cancel();
        shard.await.unwrap();
    };
    LocalSet::new().run_until(played).await;
}

/// How long a connection lives whose peer says this and then only listens; what it hears.
async fn check(says: &[u8], lives: Duration, hears: &str) {
    with_peer(async |mut peer| {
        let began = Instant::now();
        peer.write_all(says).await.unwrap();
        let mut heard = String::new();
        peer.read_to_string(&mut heard).await.unwrap();
        let lived = began.elapsed();
        assert!(lives <= lived && lived < lives + SLACK, "{}: {lived:?}", says.escape_ascii());
        assert_eq!(heard, hears);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn who_does_not_log_in_is_let_go() {
    check(b"", LOGIN_TIMEOUT, "").await;
    check(b"PING\r\n", LOGIN_TIMEOUT, "+PONG\r\n").await;
    check(b"*2\r\n$4\r\nAUTH\r\n$8\r\na-cl", LOGIN_TIMEOUT, "").await;
    let wrong = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
    check(b"AUTH guess\r\nAUTH guess\r\n", LOGIN_TIMEOUT, &wrong.repeat(2)).await;
}

#[tokio::test(start_paused = true)]
async fn who_never_stops_talking_is_let_go_all_the_same() {
    with_peer(async |mut peer| {
        let began = Instant::now();
        let mut heard = [0; 64];
        // A ping is there whenever the shard looks, and virtual time goes on in between.
        while peer.write_all(b"PING\r\n").await.is_ok() && peer.read(&mut heard).await.is_ok_and(|len| len > 0) {
            assert!(began.elapsed() < LOGIN_TIMEOUT + SLACK, "{:?}", began.elapsed());
            peer.write_all(b"PING\r\n").await.unwrap();
            tokio::time::advance(Duration::from_millis(100)).await;
        }
        assert!(began.elapsed() >= LOGIN_TIMEOUT, "{:?}", began.elapsed());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn who_guesses_tokens_is_let_go_at_once() {
    let wrong = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
    check(&b"AUTH guess\r\n".repeat(9), Duration::ZERO, &wrong.repeat(3)).await;
}

#[tokio::test(start_paused = true)]
async fn who_has_logged_in_may_be_silent_until_the_idle_timeout() {
    check(format!("AUTH {SECRET}\r\n").as_bytes(), Duration::from_secs(300), "+OK\r\n").await;
}

#[tokio::test(start_paused = true)]
async fn who_sends_empty_lines_alone_is_silent() {
    with_peer(async |mut peer| {
        let began = Instant::now();
        peer.write_all(format!("AUTH {SECRET}\r\n").as_bytes()).await.unwrap();
        while peer.write_all(b"\r\n*0\r\n \r\n").await.is_ok() {
            assert!(began.elapsed() < Duration::from_secs(300) + 20 * SLACK, "{:?}", began.elapsed());
            tokio::time::sleep(Duration::from_secs(10)).await;
        }
        assert!(began.elapsed() >= Duration::from_secs(300), "{:?}", began.elapsed());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn who_does_not_read_is_cut_off() {
    with_peer(async |mut peer| {
        let began = Instant::now();
        peer.write_all(format!("AUTH {SECRET}\r\n").as_bytes()).await.unwrap();
        let echo = [b"*2\r\n$4\r\nECHO\r\n$8192\r\n", &[b'x'; 8_192][..], b"\r\n"].concat();
        let mut sent = 0;
        while peer.write_all(&echo).await.is_ok() {
            sent += echo.len();
            assert!(sent < 256 << 20, "what nobody reads is not asked for either");
        }
        assert!(began.elapsed() < READING_TIMEOUT + SLACK, "{:?}", began.elapsed());
    })
    .await;
}
