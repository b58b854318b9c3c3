//! Those who make room for others. Whoever has shown no sign of life for longest goes first.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio_util::sync::CancellationToken;

/// Those inside, in no order: signs of life come with every request, and somebody is looked for only where a door is full.
#[derive(Debug, Default)]
pub(super) struct Line {
    standing: Vec<Arc<Standing>>,
}

/// Somebody in the line.
#[derive(Debug)]
pub(super) struct Standing {
    address: u128,
    /// When they last showed a sign of life, among all signs. Counted, so that the order needs no clock.
    sign: AtomicU64,
    /// How they learn that they have to go.
    ousted: CancellationToken,
}

impl Line {
    /// Takes somebody in, who has shown a sign of life.
    pub(super) fn join(&mut self, address: u128, sign: u64) -> Arc<Standing> {
        let standing = Standing { address, sign: AtomicU64::new(sign), ousted: CancellationToken::new() };
        let standing = Arc::new(standing);
        self.standing.push(Arc::clone(&standing));
        standing
    }

    /// Somebody leaves; false if they had been ousted.
    pub(super) fn leave(&mut self, who: &Arc<Standing>) -> bool {
        let at = self.standing.iter().position(|standing| Arc::ptr_eq(standing, who));
        at.map(|at| self.standing.swap_remove(at)).is_some()
    }

    /// Tells whoever has been silent longest to go, of that address if it is given; whose place is free now.
    pub(super) fn oust(&mut self, of: Option<u128>) -> Option<u128> {
        let is_meant = |standing: &Standing| of.is_none_or(|address| standing.address == address);
        let meant = self.standing.iter().enumerate().filter(|(_, standing)| is_meant(standing));
        let (at, _) = meant.min_by_key(|(_, standing)| standing.sign.load(Ordering::Relaxed))?;
        let ousted = self.standing.swap_remove(at);
        ousted.ousted.cancel();
        Some(ousted.address)
    }
}

impl Standing {
    /// Notes a sign of life.
    pub(super) fn show(&self, sign: u64) {
        self.sign.store(sign, Ordering::Relaxed);
    }

    /// How they learn that they have to go.
    pub(super) fn ousted(&self) -> &CancellationToken {
        &self.ousted
    }
}
