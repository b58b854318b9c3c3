//! The state in plain shapes, as a snapshot holds it, and back. The order of fields is the format: golden bytes hold it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::change::{ChangeId, ClusterId, Seeds};
use super::super::codec::CodecError;
use super::super::member::{Member, NodeKey};
use super::super::outcome::Outcome;
use super::{Cluster, State};
use crate::rules::book::Book;
use crate::rules::edition::{Edition, Imprint};

#[derive(Serialize, Deserialize)]
pub(super) struct WireState {
    cluster: Option<(ClusterId, Seeds)>,
    epoch: u64,
    members: Vec<Member>,
    feature_level: u16,
    lineage: u64,
    editions: Vec<(Imprint, String)>,
    recent: Vec<(ChangeId, Outcome)>,
    left: Vec<NodeKey>,
}

impl WireState {
    pub(super) fn new(state: &State) -> WireState {
        let mut editions: Vec<_> = state.rules.editions().map(plain).collect();
        editions.reverse();
        WireState {
            cluster: state.cluster.map(|cluster| (cluster.id, cluster.seeds)),
            epoch: state.epoch,
            members: state.members.values().cloned().collect(),
            feature_level: state.feature_level,
            lineage: state.rules.version().lineage,
            editions,
            recent: state.recent.iter().cloned().collect(),
            left: state.left.iter().copied().collect(),
        }
    }

    pub(super) fn into_state(self) -> Result<State, CodecError> {
        let editions = self.editions.into_iter().map(|(imprint, text)| Edition { imprint, text: text.into() });
        let rules = Book::from_editions(self.lineage, editions)
            .map_err(|gap| CodecError::Nonsense { reason: gap.to_string() })?;
        Ok(State {
            cluster: self.cluster.map(|(id, seeds)| Cluster { id, seeds }),
            epoch: self.epoch,
            members: self.members.into_iter().map(|member| (member.id, member)).collect(),
            feature_level: self.feature_level,
            rules,
            recent: self.recent.into_iter().collect(),
            left: self.left.into_iter().collect(),
        })
    }
}

fn plain(edition: &Arc<Edition>) -> (Imprint, String) {
    (edition.imprint.clone(), edition.text.as_str().to_owned())
}
