//! Those who make room for others, in the order of their last sign of life.

use std::collections::BTreeMap;

use tokio_util::sync::CancellationToken;

/// The line: whoever has shown no sign of life for longest is at its front.
#[derive(Debug, Default)]
pub(super) struct Line {
    by_sign: BTreeMap<u64, Standing>,
    /// Signs of life so far. Counted, so that the order needs no clock.
    signs: u64,
}

/// Somebody in the line.
#[derive(Debug)]
struct Standing {
    address: u128,
    ousted: CancellationToken,
}

impl Line {
    /// Puts somebody at the end; what they stand under, and how they learn that they have to go.
    pub(super) fn join(&mut self, address: u128) -> (u64, CancellationToken) {
        let ousted = CancellationToken::new();
        (self.stand(Standing { address, ousted: ousted.clone() }), ousted)
    }

    /// Somebody shows a sign of life and goes to the end; what they stand under now.
    pub(super) fn show(&mut self, sign: u64) -> u64 {
        match self.by_sign.remove(&sign) {
            Some(standing) => self.stand(standing),
            None => sign, // ousted, and about to notice
        }
    }

    /// Somebody leaves; false if they had been ousted.
    pub(super) fn leave(&mut self, sign: u64) -> bool {
        self.by_sign.remove(&sign).is_some()
    }

    /// Tells whoever stands first to go, of that address if it is given; whose place is free now.
    pub(super) fn oust(&mut self, of: Option<u128>) -> Option<u128> {
        let is_meant = |standing: &Standing| of.is_none_or(|address| standing.address == address);
        let sign = *self.by_sign.iter().find(|(_, standing)| is_meant(standing))?.0;
        let Standing { address, ousted } = self.by_sign.remove(&sign)?;
        ousted.cancel();
        Some(address)
    }

    fn stand(&mut self, standing: Standing) -> u64 {
        self.signs += 1;
        self.by_sign.insert(self.signs, standing);
        self.signs
    }
}
