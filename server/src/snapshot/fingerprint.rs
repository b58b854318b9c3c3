//! Which hash keys a snapshot's identities were made under.

use sha2::{Digest, Sha256};
use tallyring_protocol::{IdentityKey, PlacementSeed};

/// Tells hash keys apart without telling what they are: the first half of a SHA-256 over both.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; Fingerprint::BYTES]);

impl Fingerprint {
    /// Bytes of one.
    pub(super) const BYTES: usize = 16;

    /// The fingerprint of a cluster's two hash keys, which are 128 random bits each: none is guessed from it.
    pub fn new(placement: PlacementSeed, identity: &IdentityKey) -> Fingerprint {
        let digest = Sha256::new()
            .chain_update(b"tallyring snapshot\0")
            .chain_update(placement.0)
            .chain_update(identity.0)
            .finalize();
        Fingerprint(std::array::from_fn(|no| digest[no]))
    }

    pub(super) fn from_bytes(bytes: [u8; Fingerprint::BYTES]) -> Fingerprint {
        Fingerprint(bytes)
    }

    pub(super) fn to_bytes(self) -> [u8; Fingerprint::BYTES] {
        self.0
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl std::fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_key_makes_another_fingerprint() {
        let of = |placement, identity| Fingerprint::new(PlacementSeed([placement; 16]), &IdentityKey([identity; 16]));
        assert_eq!(of(1, 2), of(1, 2));
        assert_ne!(of(1, 2), of(2, 1));
        assert_ne!(of(1, 2), of(1, 1));
        assert_eq!(of(1, 2).to_string().len(), 32);
    }
}
