//! A fence: what a record carries so that whoever takes it can tell the owner from one that was.

use serde::{Deserialize, Serialize};
use tallyring_protocol::NodeId;

/// Who held a range, and from which epoch on.
///
/// Every record of replication and of handoff carries one. A lease rests on what clocks promise; a fence rests on nothing but
/// order, so that an owner whose clock lied, or that slept with a record in its hands, changes nothing that its successor
/// has taken over. A `sync` rule answers after its replica took the record: it is exact even then.
///
/// Source: fencing tokens, as in Burrows, "The Chubby lock service", 2006, section 2.4 (sequencers).
///
/// ```
/// use tallyring::cluster::lease::Fence;
/// use tallyring_protocol::NodeId;
///
/// let seen = Fence { epoch: 7, holder: NodeId(1) };
/// assert!(seen.accepts(Fence { epoch: 8, holder: NodeId(2) }), "a later owner");
/// assert!(!seen.accepts(Fence { epoch: 6, holder: NodeId(2) }), "an earlier one");
/// assert!(!seen.accepts(Fence { epoch: 7, holder: NodeId(2) }), "an epoch has one owner");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fence {
    /// The epoch under which it holds the range.
    pub epoch: u64,
    /// Who holds it.
    pub holder: NodeId,
}

/// A record behind a fence: it is dropped, and who sent it has been succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("fenced: a record of node {} under epoch {}, after node {} held the range under epoch {}",
    offered.holder.0, offered.epoch, seen.holder.0, seen.epoch)]
pub struct Fenced {
    /// The newest fence that was seen.
    pub seen: Fence,
    /// That of the record.
    pub offered: Fence,
}

impl Fence {
    /// Whether a record may still be taken after one of this fence: from the same holder, or from a later epoch.
    pub fn accepts(self, offered: Fence) -> bool {
        offered == self || offered.epoch > self.epoch
    }

    /// Moves up to a record's fence.
    ///
    /// # Errors
    /// [`Fenced`] if the record is to be refused; the fence stays.
    pub fn raise(&mut self, offered: Fence) -> Result<(), Fenced> {
        if !self.accepts(offered) {
            return Err(Fenced { seen: *self, offered });
        }
        *self = offered;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_only_rises() {
        let fence = |epoch, holder| Fence { epoch, holder: NodeId(holder) };
        let mut seen = fence(5, 1);
        let mut check = |offered, expect: Result<Fence, Fence>| {
            let raised = seen.raise(offered).map(|()| offered).map_err(|fenced| fenced.seen);
            assert_eq!((raised, seen), (expect, expect.unwrap_or_else(|stays| stays)));
        };
        check(fence(5, 1), Ok(fence(5, 1)));
        check(fence(5, 2), Err(fence(5, 1)));
        check(fence(4, 1), Err(fence(5, 1)));
        check(fence(6, 2), Ok(fence(6, 2)));
        check(fence(5, 1), Err(fence(6, 2)));
        check(fence(9, 1), Ok(fence(9, 1)));
    }

    #[test]
    fn a_refusal_says_whose_record_came_too_late() {
        let refusal =
            Fenced { seen: Fence { epoch: 8, holder: NodeId(2) }, offered: Fence { epoch: 7, holder: NodeId(1) } };
        let text = "fenced: a record of node 1 under epoch 7, after node 2 held the range under epoch 8";
        assert_eq!(refusal.to_string(), text);
    }
}
