//! How a node comes into a cluster: it founds one, it joins one, or it remembers the one that it is in.

use std::sync::atomic::Ordering;
use std::time::Duration;

use openraft::BasicNode;
use tallyring_protocol::NodeId;
use tokio_util::sync::CancellationToken;

use super::change::{Change, ClusterId, Founding, Seeds, What};
use super::desk::{Desk, ProposeError};
use super::farewell;
use super::member::Member;
use super::outcome::{Outcome, Refusal};
use crate::sys::clock::Clock;
use crate::sys::random;

/// How long a node tries to join before it gives up: whoever starts it sees an end, and starts it again.
pub const JOIN_TIMEOUT: Duration = Duration::from_secs(60);

/// How long after a vain announcement the next one follows.
const ANNOUNCE_AGAIN: Duration = Duration::from_secs(1);

/// What a node does that is in no cluster.
#[derive(Clone, Debug)]
pub enum Beginning {
    /// It founds one, with these seeds.
    Found(Seeds),
    /// It asks the nodes at these addresses, as `host:port`, to take it in.
    Join(Vec<String>),
}

/// Why a node is in no cluster.
#[derive(Debug, thiserror::Error)]
pub enum BeginError {
    /// Its log or its network cannot be used.
    #[error("the control plane cannot start: {0}")]
    Broken(String),
    /// The cluster does not want it.
    #[error("join: {0}")]
    Refused(Refusal),
    /// Nobody has answered, or nobody may.
    #[error("join: {0}")]
    NotReached(ProposeError),
    /// It was a member, and is none any more.
    #[error("node {} has left its cluster: to come back, it needs a new --data folder and --join", .0.0)]
    Left(NodeId),
    /// It was told to stop first.
    #[error("stopped before it was in a cluster")]
    Stopped,
}

/// Brings a node into a cluster, if it is in none.
///
/// # Errors
/// [`BeginError`].
pub(super) async fn begin(
    desk: &Desk,
    member: &Member,
    beginning: &Beginning,
    clock: &Clock,
) -> Result<(), BeginError> {
    if desk.introduction.states.borrow().cluster().is_some() {
        return if farewell::has_left(desk).await { Err(BeginError::Left(member.id)) } else { Ok(()) };
    }
    match beginning {
        Beginning::Found(seeds) => found(desk, member, *seeds, clock).await,
        Beginning::Join(addresses) => join(desk, member, addresses, clock).await,
    }
}

/// Founds a cluster. A node that ended in the middle of it goes on where it was.
async fn found(desk: &Desk, member: &Member, seeds: Seeds, clock: &Clock) -> Result<(), BeginError> {
    let broken = |error: &dyn std::fmt::Display| BeginError::Broken(error.to_string());
    if !desk.raft.is_initialized().await.map_err(|error| broken(&error))? {
        let me = [(member.id.0, BasicNode { addr: member.addresses.peer.clone() })];
        let alone = std::collections::BTreeMap::from(me);
        desk.raft.initialize(alone).await.map_err(|error| broken(&error))?;
    }
    let cluster = ClusterId(u128::from_le_bytes(random::seed()));
    let founding = Founding { cluster, seeds, founder: member.clone() };
    match desk.propose(&Change::new(clock.now_us(), What::Found(founding))).await {
        Ok(Outcome::Refused(refusal)) if !matches!(refusal, Refusal::Founded { .. }) => {
            Err(BeginError::Refused(refusal))
        }
        Ok(_) => Ok(()),
        Err(error) => Err(BeginError::NotReached(error)),
    }
}

/// Asks to be taken in, and waits until the leader's log has arrived.
async fn join(desk: &Desk, member: &Member, addresses: &[String], clock: &Clock) -> Result<(), BeginError> {
    let change = Change::new(clock.now_us(), What::Join(member.clone()));
    match desk.propose_at(&change, addresses, JOIN_TIMEOUT).await {
        Ok(Outcome::Refused(refusal)) => return Err(BeginError::Refused(refusal)),
        Ok(_) => desk.introduction.is_taken_in.store(true, Ordering::Release),
        Err(error) => return Err(BeginError::NotReached(error)),
    }
    let mut states = desk.introduction.states.clone();
    let arrived = states.wait_for(|state| state.members().get(&member.id).is_some_and(|known| known.key == member.key));
    match tokio::time::timeout(JOIN_TIMEOUT, arrived).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(_)) => Err(BeginError::Stopped),
        Err(_) => {
            let reason = format!("it was taken in, but the leader has not called at {}", member.addresses.peer);
            Err(BeginError::Broken(reason))
        }
    }
}

/// Tells the cluster what is new about this node since it was last heard of, until it is told.
pub(super) async fn announce(desk: Desk, member: Member, clock: Clock, draining: CancellationToken) {
    loop {
        if !is_news(&desk, &member) {
            return;
        }
        let change = Change::new(clock.now_us(), What::Join(member.clone()));
        match desk.propose(&change).await {
            Ok(Outcome::Refused(reason)) => {
                tracing::error!(%reason, "this node is not what its cluster knows it for");
                return;
            }
            Ok(_) => return,
            Err(error) => tracing::debug!(%error, "the cluster does not know yet what is new about this node"),
        }
        tokio::select! {
            biased;
            () = draining.cancelled() => return,
            () = tokio::time::sleep(ANNOUNCE_AGAIN) => {}
        }
    }
}

/// Whether the cluster knows this node otherwise than it is. Its weight and status are the cluster's to say, and who is no
/// member any more has left: it does not come back by itself.
fn is_news(desk: &Desk, member: &Member) -> bool {
    let state = desk.introduction.states.borrow();
    let Some(known) = state.members().get(&member.id) else { return false };
    *known != Member { weight: known.weight, status: known.status, ..member.clone() }
}
