//! Who may still decide about a range that somebody else owned a moment ago.

use tallyring_protocol::NodeId;

use super::roll::Roll;

/// Former owners of a range that are remembered one by one.
pub const FORMER_MAX: usize = 16;

/// One range, as a node sees it that owns it or may: who owned it under an epoch that somebody may still be living in.
///
/// The owner of a range under the newest epoch serves once none of them can decide about it any more:
///
/// - a former owner that *is out*, down or removed, is no obstacle: it was given up only after its lease was over;
/// - one that *has moved on* says so itself, after its last decision under the older epoch: a handoff, or the news that it has
///   taken the newer topology;
/// - an epoch that *has settled* takes all before it along: the leader knows when their last lease is over.
///
/// What a node has not seen itself may have been anybody's: after a start, and when it missed an epoch.
#[derive(Clone, Debug)]
pub struct Succession {
    me: NodeId,
    epoch: u64,
    owner: NodeId,
    former: Vec<Former>,
}

/// Somebody who owned the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Former {
    /// `None` = whoever it was.
    owner: Option<NodeId>,
    /// The last epoch under which it did.
    last: u64,
}

impl Succession {
    /// What a node knows that has just learned of the range.
    pub fn new(me: NodeId, epoch: u64, owner: NodeId) -> Succession {
        let former = vec![Former { owner: None, last: epoch.saturating_sub(1) }];
        Succession { me, epoch, owner, former }
    }

    /// There is a newer epoch, and in it this owner.
    pub fn follow(&mut self, roll: &Roll, owner: NodeId) {
        if roll.epoch <= self.epoch {
            return;
        }
        if owner != self.owner && self.owner != self.me {
            self.former.push(Former { owner: Some(self.owner), last: self.epoch });
        }
        if roll.epoch > self.epoch + 1 {
            self.former.push(Former { owner: None, last: roll.epoch - 1 });
        }
        (self.epoch, self.owner) = (roll.epoch, owner);
        self.former.retain(|former| former.owner.is_none_or(|node| node != owner && !roll.is_out(node)));
        self.bound();
    }

    /// Nobody decides under an epoch before this one any more.
    pub fn settled(&mut self, epoch: u64) {
        self.former.retain(|former| former.last >= epoch);
    }

    /// A node has decided for the last time under an epoch before this one.
    pub fn moved_on(&mut self, node: NodeId, epoch: u64) {
        self.former.retain(|former| former.owner != Some(node) || former.last >= epoch);
    }

    /// Whether this node owns the range, and nobody else can decide about it.
    pub fn is_sole(&self) -> bool {
        self.owner == self.me && self.former.is_empty()
    }

    /// Too many to be remembered were as good as unknown.
    fn bound(&mut self) {
        if self.former.len() > FORMER_MAX {
            let last = self.former.iter().map(|former| former.last).max().unwrap_or(0);
            self.former = vec![Former { owner: None, last }];
        }
    }
}

#[cfg(test)]
mod tests;
