//! What is counted of files that are read again while the node runs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A kind of file that is read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reloaded {
    /// The token file.
    Tokens,
    /// Certificates and their key.
    Certificates,
}

impl Reloaded {
    /// Every kind.
    pub const ALL: [Reloaded; 2] = [Reloaded::Tokens, Reloaded::Certificates];

    /// Its name, in metrics.
    pub fn name(self) -> &'static str {
        ["tokens", "certificates"][self as usize]
    }
}

/// The counts.
#[derive(Debug, Default)]
pub struct ReloadTally([Counts; Reloaded::ALL.len()]);

#[derive(Debug, Default)]
struct Counts {
    taken: AtomicU64,
    refused: AtomicU64,
    /// Whether what is on disk now was refused: what runs is older.
    is_stale: AtomicBool,
}

impl ReloadTally {
    /// Other content was found and taken.
    pub fn taken(&self, what: Reloaded) {
        let counts = &self.0[what as usize];
        counts.taken.fetch_add(1, Ordering::Relaxed);
        counts.is_stale.store(false, Ordering::Relaxed);
    }

    /// Other content was found and is no good: what ran before runs on.
    pub fn refused(&self, what: Reloaded) {
        let counts = &self.0[what as usize];
        counts.refused.fetch_add(1, Ordering::Relaxed);
        counts.is_stale.store(true, Ordering::Relaxed);
    }

    /// How often other content was taken and refused, and whether what is on disk now was.
    pub fn of(&self, what: Reloaded) -> (u64, u64, bool) {
        let counts = &self.0[what as usize];
        let (taken, refused) = (counts.taken.load(Ordering::Relaxed), counts.refused.load(Ordering::Relaxed));
        (taken, refused, counts.is_stale.load(Ordering::Relaxed))
    }
}
