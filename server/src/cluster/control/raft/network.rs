//! The other nodes as openraft calls them: a line for each stream of questions.

use std::time::Duration;

use openraft::BasicNode;
use openraft::error::{InstallSnapshotError, NetworkError, RPCError, RaftError, RemoteError, Unreachable};
use openraft::network::{Backoff, RPCOption, RaftNetwork, RaftNetworkFactory};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse, VoteRequest,
    VoteResponse,
};
use tallyring_protocol::NodeId;

use super::Types;
use crate::cluster::heard::Heard;
use crate::cluster::peer::hello::Introduction;
use crate::cluster::peer::line::{CallError, Line};
use crate::cluster::peer::message::{Answer, Ask};

/// Opens lines.
#[derive(Clone, Debug)]
pub struct Network {
    introduction: Introduction,
    /// Who answered this node as its leader.
    acks: Heard,
    heartbeat: Duration,
}

impl Network {
    /// Lines on which this node introduces itself; who answers is noted.
    pub fn new(introduction: Introduction, acks: Heard, heartbeat: Duration) -> Network {
        Network { introduction, acks, heartbeat }
    }
}

impl RaftNetworkFactory<Types> for Network {
    type Network = Peer;

    async fn new_client(&mut self, target: u64, node: &BasicNode) -> Peer {
        let line = Line::new(self.introduction.clone(), Some(NodeId(target)), &node.addr);
        Peer { line, target, acks: self.acks.clone(), heartbeat: self.heartbeat }
    }
}

/// Another node, as openraft calls it.
#[derive(Debug)]
pub struct Peer {
    line: Line,
    target: u64,
    acks: Heard,
    heartbeat: Duration,
}

type CallFailed<E = openraft::error::Infallible> = RPCError<u64, BasicNode, RaftError<u64, E>>;

impl Peer {
    async fn ask<T, E: std::error::Error>(
        &mut self,
        ask: &Ask,
        option: &RPCOption,
        take: impl FnOnce(Answer) -> Option<Result<T, RaftError<u64, E>>>,
    ) -> Result<T, CallFailed<E>> {
        let answer = self.line.ask(ask, option.hard_ttl()).await.map_err(|error| failed(&error))?;
        match take(answer) {
            Some(Ok(answer)) => Ok(answer),
            Some(Err(error)) => Err(RemoteError::new(self.target, error).into()),
            None => Err(NetworkError::new(&CallError::out_of_turn(self.line.address())).into()),
        }
    }
}

/// Openraft leaves a node alone for a while that cannot be reached, and asks one again at once that was late.
fn failed<E: std::error::Error>(error: &CallError) -> CallFailed<E> {
    match error {
        CallError::Late { .. } => NetworkError::new(error).into(),
        CallError::Broken { .. } | CallError::Refused { .. } => Unreachable::new(error).into(),
    }
}

impl RaftNetwork<Types> for Peer {
    async fn append_entries(
        &mut self,
        request: AppendEntriesRequest<Types>,
        option: RPCOption,
    ) -> Result<AppendEntriesResponse<u64>, CallFailed> {
        let take = |answer| if let Answer::Append(answer) = answer { Some(answer) } else { None };
        let answer = self.ask(&Ask::Append(request), &option, take).await?;
        self.acks.note(NodeId(self.target));
        Ok(answer)
    }

    async fn install_snapshot(
        &mut self,
        request: InstallSnapshotRequest<Types>,
        option: RPCOption,
    ) -> Result<InstallSnapshotResponse<u64>, CallFailed<InstallSnapshotError>> {
        let take = |answer| if let Answer::Snapshot(answer) = answer { Some(answer) } else { None };
        let answer = self.ask(&Ask::Snapshot(request), &option, take).await?;
        self.acks.note(NodeId(self.target));
        Ok(answer)
    }

    async fn vote(&mut self, request: VoteRequest<u64>, option: RPCOption) -> Result<VoteResponse<u64>, CallFailed> {
        let take = |answer| if let Answer::Vote(answer) = answer { Some(answer) } else { None };
        self.ask(&Ask::Vote(request), &option, take).await
    }

    /// A node that cannot be reached is tried again with the next heartbeat: it must hear of its leader before it
    /// elects another one.
    fn backoff(&self) -> Backoff {
        Backoff::new(std::iter::repeat(self.heartbeat))
    }
}
