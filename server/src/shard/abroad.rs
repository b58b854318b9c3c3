//! The way to other nodes. What a door is asked about a key of another node is left here; whoever knows the other nodes
//! takes it there, once, and the answer comes back as from a shard of this node.

use std::sync::Arc;

use tallyring_protocol::{NodeId, Placement, Reply};

use super::Shard;
use super::command::{Envelope, Errand};
use super::mailbox::Mailbox;
use super::session::{Foreign, WayBack};
use crate::observe::door::Door;

/// Errands that wait to be taken to other nodes; one more is refused.
pub const ABROAD_MAX: usize = 16 * 1_024;

/// An errand for another node.
#[derive(Debug)]
pub struct Departure {
    /// The node whose key it is about.
    pub to: NodeId,
    /// The epoch of the ring that says so.
    pub epoch: u64,
    /// Where the key lives: what is about one place stays in the order that it was left in.
    pub place: Placement,
    /// The door that it came through.
    pub door: Door,
    /// What to do, and who waits for it.
    pub envelope: Envelope,
}

/// Where errands for other nodes are left.
pub type Abroad = Mailbox<Departure>;

impl Shard {
    /// Leaves a request about another node's key for that node, or names the node, as the connection has it.
    #[cold]
    pub(super) fn send_abroad(
        &mut self,
        id: u32,
        errand: Errand,
        place: Placement,
        way: &mut WayBack,
    ) -> Option<Reply<'static>> {
        let owner = self.territory.owner(place).filter(|_| way.foreign == Foreign::Forwarded);
        let Some(to) = owner.map(|owner| owner.id) else { return Some(self.territory.refusal(place)) };
        if way.is_full() {
            return Some(Reply::Overloaded);
        }
        let envelope = Envelope { errand, id, reply_to: Arc::clone(&way.outlet) };
        let epoch = self.territory.topology().epoch;
        if self.abroad.push(Departure { to, epoch, place, door: Door::Resp, envelope }).is_err() {
            self.tally.overloaded += 1;
            return Some(Reply::Overloaded);
        }
        way.leave();
        None
    }
}
