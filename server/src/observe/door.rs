//! What is counted where connections come in.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::warn;

/// A refusal of one kind is told to the log at most so often, with how many were not: who is refused a million times
/// must not fill a disk.
const TELL_EVERY: Duration = Duration::from_secs(10);

/// A listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// The native protocol.
    Native,
    /// HTTP.
    Http,
    /// RESP.
    Resp,
}

impl Door {
    /// Every door.
    pub const ALL: [Door; 3] = [Door::Native, Door::Http, Door::Resp];

    /// Its name, in metrics and in the log.
    pub fn name(self) -> &'static str {
        ["native", "http", "resp"][self as usize]
    }
}

/// Why a connection was refused, or ended by us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The node has all the connections it accepts.
    Full,
    /// The address has all the connections that one address may have.
    AddressFull,
    /// It did not get through TLS.
    Tls,
    /// It did not say in time who it is.
    Slow,
    /// What it said makes no sense.
    Malformed,
    /// It speaks a version that is not spoken here.
    Version,
    /// Its token is none of ours, or is so no more.
    Unauthorized,
    /// The shard it asked for has more to do than it can.
    Busy,
    /// It had asked for nothing for too long.
    Idle,
    /// Somebody else needed its place, and nobody had been silent for longer.
    Ousted,
    /// It broke off before anybody could know what it wanted.
    Broken,
}

impl Refusal {
    /// Every reason.
    pub const ALL: [Refusal; 11] = [
        Refusal::Full,
        Refusal::AddressFull,
        Refusal::Tls,
        Refusal::Slow,
        Refusal::Malformed,
        Refusal::Version,
        Refusal::Unauthorized,
        Refusal::Busy,
        Refusal::Idle,
        Refusal::Ousted,
        Refusal::Broken,
    ];

    /// Its name, in metrics and in the log.
    pub fn name(self) -> &'static str {
        [
            "full",
            "address_full",
            "tls",
            "slow",
            "malformed",
            "version",
            "unauthorized",
            "busy",
            "idle",
            "ousted",
            "broken",
        ][self as usize]
    }
}

/// What one door counts.
#[derive(Debug)]
pub struct DoorTally {
    door: Door,
    /// Connections now, those included that have not said who they are.
    pub open: AtomicUsize,
    /// Connections accepted since the start.
    pub accepted: AtomicU64,
    /// Bytes that were read and thrown away, because they made no sense or came from somebody who was refused.
    pub refused_bytes: AtomicU64,
    refused: [AtomicU64; Refusal::ALL.len()],
    told: Mutex<[Told; Refusal::ALL.len()]>,
}

/// When a kind of refusal was last told to the log, and how many have not been since.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    at: Option<Instant>,
    untold: u64,
}

impl DoorTally {
    /// Nothing counted yet.
    pub fn new(door: Door) -> DoorTally {
        DoorTally {
            door,
            open: AtomicUsize::default(),
            accepted: AtomicU64::default(),
            refused_bytes: AtomicU64::default(),
            refused: Default::default(),
            told: Mutex::default(),
        }
    }

    /// Counts a connection that was refused, and tells the log about it, but not about every one.
    pub fn refuse(&self, refusal: Refusal, peer: SocketAddr, detail: &dyn Display) {
        self.count(refusal);
        if refusal == Refusal::Broken {
            tracing::debug!(door = self.door.name(), %peer, %detail, "connection broke off"); // any port scan does that
        } else if let Some(untold) = self.to_tell(refusal, Instant::now()) {
            let (door, reason) = (self.door.name(), refusal.name());
            warn!(door, reason, %peer, %detail, untold, "connection refused");
        }
    }

    /// Counts a connection that was refused.
    pub fn count(&self, refusal: Refusal) {
        self.refused[refusal as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts bytes that were thrown away.
    pub fn throw_away(&self, bytes: usize) {
        self.refused_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Connections refused for that reason.
    pub fn refused(&self, refusal: Refusal) -> u64 {
        self.refused[refusal as usize].load(Ordering::Relaxed)
    }

    /// How many refusals of the kind the log has not heard of, if it is to hear of this one.
    fn to_tell(&self, refusal: Refusal, now: Instant) -> Option<u64> {
        let mut told = self.told.lock();
        let told = &mut told[refusal as usize];
        if told.at.is_some_and(|at| now - at < TELL_EVERY) {
            told.untold += 1;
            return None;
        }
        let untold = told.untold;
        *told = Told { at: Some(now), untold: 0 };
        Some(untold)
    }
}

/// What each door counts.
#[derive(Debug)]
pub struct DoorTallies([std::sync::Arc<DoorTally>; Door::ALL.len()]);

impl Default for DoorTallies {
    fn default() -> DoorTallies {
        DoorTallies(Door::ALL.map(|door| std::sync::Arc::new(DoorTally::new(door))))
    }
}

impl DoorTallies {
    /// What that door counts.
    pub fn of(&self, door: Door) -> &std::sync::Arc<DoorTally> {
        &self.0[door as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_refusals_are_two_lines_of_the_log_and_all_are_counted() {
        let tally = DoorTally::new(Door::Native);
        let began = Instant::now();
        assert_eq!(tally.to_tell(Refusal::Tls, began), Some(0));
        for _ in 0..999 {
            assert_eq!(tally.to_tell(Refusal::Tls, began + TELL_EVERY / 2), None);
        }
        assert_eq!(tally.to_tell(Refusal::Slow, began), Some(0), "another kind is news");
        assert_eq!(tally.to_tell(Refusal::Tls, began + TELL_EVERY), Some(999));
        assert_eq!(tally.to_tell(Refusal::Tls, began + TELL_EVERY), None);
    }

    #[test]
    fn names_stand_where_their_numbers_are() {
        for (at, refusal) in Refusal::ALL.into_iter().enumerate() {
            assert_eq!(refusal as usize, at);
        }
        for (at, door) in Door::ALL.into_iter().enumerate() {
            assert_eq!(door as usize, at);
        }
        assert_eq!((Refusal::Broken.name(), Door::Resp.name()), ("broken", "resp"));
    }
}
