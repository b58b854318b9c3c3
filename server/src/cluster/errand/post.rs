//! The post: where errands of this node's doors are sorted by the nodes that they are for.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use tallyring_protocol::{NodeId, Placement, Reply};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::line::{Line, Load, Route};
use super::owed::Owed;
use super::{ERRAND_WITHIN, LINES_PER_NODE};
use crate::cluster::control::state::State;
use crate::cluster::peer::hello::Introduction;
use crate::observe::errand::ErrandTally;
use crate::shard::abroad::{Abroad, Departure};
use crate::shard::command::KeyQuota;

/// Errands that are sorted before the lines have their turn.
const SORTED_PER_TURN_MAX: usize = 256;

/// What somebody is told to wait who asks about a key of a node that has just left, in microseconds: others learn of a
/// change of the cluster within that time.
const MOVING_US: u64 = 100_000;

/// See the module's text.
pub(super) struct Post {
    abroad: Arc<Abroad>,
    introduction: Introduction,
    quota: KeyQuota,
    tally: Arc<ErrandTally>,
    nodes: BTreeMap<NodeId, Lines>,
    running: JoinSet<()>,
}

/// The lines to one node.
struct Lines {
    address: String,
    lines: [Rc<Line>; LINES_PER_NODE],
    tasks: [tokio::task::AbortHandle; LINES_PER_NODE],
}

impl Post {
    pub(super) fn new(
        abroad: Arc<Abroad>,
        introduction: Introduction,
        quota: KeyQuota,
        tally: Arc<ErrandTally>,
    ) -> Post {
        Post { abroad, introduction, quota, tally, nodes: BTreeMap::new(), running: JoinSet::new() }
    }

    pub(super) async fn run(mut self) {
        let mut states = self.introduction.states.clone();
        loop {
            let changed = tokio::select! {
                biased;
                () = self.abroad.arrival() => false,
                changed = states.changed() => changed.is_ok(),
                Some(_) = self.running.join_next() => false,
            };
            if changed {
                self.close_lines(&states.borrow_and_update().clone());
            }
            while self.sort() {
                tokio::task::yield_now().await;
            }
        }
    }

    /// Sorts a bounded share; true if there is more.
    fn sort(&mut self) -> bool {
        for _ in 0..SORTED_PER_TURN_MAX {
            let Some(departure) = self.abroad.pop() else { return false };
            self.hand_over(departure);
        }
        true
    }

    fn hand_over(&mut self, Departure { to, epoch, place, door, envelope }: Departure) {
        let owed = Owed::new(envelope.id, envelope.reply_to, door, Arc::clone(&self.tally));
        match self.line(to, place) {
            Some(line) => line.add(Load { errand: envelope.errand, epoch, owed }),
            None => owed.reply(Reply::Moving { retry_us: MOVING_US }),
        }
    }

    /// The line to a node that what is about that place takes; `None` if the node is no member.
    fn line(&mut self, to: NodeId, place: Placement) -> Option<&Line> {
        if !self.nodes.contains_key(&to) {
            let address = address_of(&self.introduction.states.borrow(), to)?;
            let lines = self.open_lines(to, address);
            self.nodes.insert(to, lines);
        }
        // The low bits tell shards apart, and each shard's keys are to be on all lines.
        let which = (place.0 >> 32) as usize % LINES_PER_NODE;
        self.nodes.get(&to).map(|lines| &*lines.lines[which])
    }

    fn open_lines(&mut self, node: NodeId, address: String) -> Lines {
        let lines = std::array::from_fn(|_| Rc::new(Line::new()));
        let tasks = lines.each_ref().map(|line| {
            let (line, tally) = (Rc::clone(line), Arc::clone(&self.tally));
            let introduction = self.introduction.clone();
            let route = Route { node, address: address.clone(), introduction, quota: self.quota };
            self.running.spawn_local(async move { line.run(route, &tally).await })
        });
        Lines { address, lines, tasks }
    }

    /// Closes the lines to nodes that are no members any more, or have moved. What is under way may come back.
    fn close_lines(&mut self, state: &State) {
        let has_gone = |node: &NodeId, lines: &Lines| address_of(state, *node).is_none_or(|now| now != lines.address);
        let gone: Vec<Lines> =
            self.nodes.extract_if(.., |node, lines| has_gone(node, lines)).map(|(_, lines)| lines).collect();
        for Lines { tasks, .. } in gone {
            self.running.spawn_local(async move {
                // Nothing is added to them: by then nobody waits for anything.
                sleep(ERRAND_WITHIN * 2).await;
                tasks.iter().for_each(tokio::task::AbortHandle::abort);
            });
        }
    }
}

fn address_of(state: &State, node: NodeId) -> Option<String> {
    state.members().get(&node).map(|member| member.addresses.peer.clone())
}
