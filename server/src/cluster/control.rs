//! The control plane: what all nodes of a cluster agree on.
//!
//! A *change* is proposed, put in order among all others, and applied to the *state* of every node: the members, the ring
//! and its epoch, the rules with their history, the seeds of the hashes, the feature level. It all runs on a thread of its
//! own; decisions about keys never wait for any of this.
//!
//! Invariants:
//! - The state is a pure function of the changes and their order: no clock, no entropy, no I/O, no iteration order that is
//!   not the values' own.
//! - A change that was applied once is not applied again, also if its author, who got no answer, proposes it again.
//! - The epoch never falls, and no two rings share one.
//! - A node that cannot reach the others keeps the last state that it knows.
//!
//! Not here: what the members say to clients (`super::view`), how they talk (`super::peer`).

pub mod begin;
pub mod change;
pub mod codec;
pub mod desk;
mod farewell;
mod health;
pub mod member;
pub mod outcome;
pub mod packed;
pub mod raft;
pub mod recover;
pub mod state;
pub mod steward;
pub mod timing;
pub mod vigil;
pub mod voters;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use openraft::error::Fatal;
use openraft::{BasicNode, LogId, RaftMetrics, ServerState};
use tallyring_protocol::NodeId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::begin::{BeginError, Beginning};
use self::change::{Change, What};
use self::desk::{Desk, ProposeError};
use self::member::Member;
use self::outcome::Outcome;
use self::raft::Raft;
use self::raft::log::Log;
use self::raft::machine::Machine;
use self::raft::network::Network;
use self::raft::store::{Store, StoreError};
use self::state::State;
use self::timing::Timing;
use self::vigil::{Leaderless, Vigil};
use super::errand::Guests;
use super::heard::Heard;
use super::peer::hello::Introduction;
use super::peer::reception;
use super::pulse::{Caller, Pulse};
use crate::entrance::tls::Certificates;
use crate::observe::control::{self as tally, ControlTally};
use crate::sys::clock::Clock;
use crate::sys::net::Bound;
use crate::sys::spawn::{self, Thread};
use crate::tokens::LiveTokens;

/// Changes that one node proposes at once.
const PROPOSALS_MAX: usize = 64;

/// What the control plane of a node is started with.
pub struct ControlSetup {
    /// What it remembers.
    pub store: Store,
    /// The node as the others are to know it; its key is the store's.
    pub member: Member,
    /// How it comes into a cluster, if it is in none.
    pub beginning: Beginning,
    /// Where other nodes call.
    pub listener: Bound,
    /// Who takes their calls over that are for errands.
    pub guests: Guests,
    /// How it agrees on keys with other nodes; `None` = nothing is encrypted.
    pub certificates: Option<Arc<Certificates>>,
    /// What it says to be let in by other nodes.
    pub token: Arc<str>,
    /// What other nodes have to say.
    pub tokens: Arc<LiveTokens>,
    /// Its clock, which dates changes and is kept with the leader's, and who else has gateways.
    pub pulse: Pulse,
    /// How long it waits for what.
    pub timing: Timing,
    /// When it ends.
    pub draining: CancellationToken,
}

/// A node's part of the control plane, for the rest of the node.
#[derive(Clone, Debug)]
pub struct Control {
    introduction: Introduction,
    states: watch::Receiver<Arc<State>>,
    standings: watch::Receiver<Standing>,
    proposals: mpsc::Sender<Proposal>,
    places: Arc<Semaphore>,
    clock: Clock,
    node: NodeId,
    dismissed: watch::Receiver<bool>,
    tally: Arc<ControlTally>,
    vigil: Vigil,
}

/// How a node stands among those that agree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Who leads, as far as this node knows; itself only while a majority answers it.
    pub leader: Option<NodeId>,
    /// Whether this node does.
    pub leads: bool,
    /// The how-manieth leader it is.
    pub term: u64,
    /// Changes, and the log's own entries, that this node has applied.
    pub applied: u64,
    /// Who votes.
    pub voters: BTreeSet<NodeId>,
    /// How many entries of the log each member lacks, itself included; only who leads knows.
    pub lags: BTreeMap<NodeId, u64>,
    /// Why it takes part no longer: its disk, most likely. The last state that it knows is still served.
    pub fault: Option<Arc<str>>,
}

/// A change on its way to the control thread.
#[derive(Debug)]
struct Proposal {
    change: Change,
    answer: oneshot::Sender<Result<Outcome, ProposeError>>,
    _place: OwnedSemaphorePermit,
}

/// Why a node has no part in a control plane.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// Its memory cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It is in no cluster.
    #[error(transparent)]
    Begin(#[from] BeginError),
    /// The system has no thread for it.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] std::io::Error),
}

impl Control {
    /// Starts the control plane's thread; when this returns, the node is in a cluster, and knows its last state.
    ///
    /// # Errors
    /// [`ControlError`]; the thread ends.
    pub async fn start(mut setup: ControlSetup) -> Result<(Control, Thread), ControlError> {
        let identity = setup.store.identity(setup.member.id)?;
        setup.member.key = identity.key;
        let (machine, states) = Machine::open(setup.store.clone())?;
        let (tokens, token) = (Arc::clone(&setup.tokens), Arc::clone(&setup.token));
        let (dismisses, dismissed) = watch::channel(false);
        let dismisses = Arc::new(dismisses);
        let tally = Arc::<ControlTally>::default();
        let (stands, standings) = watch::channel(Standing::default());
        let introduction = Introduction {
            identity,
            token,
            tokens,
            states: states.clone(),
            standings: standings.clone(),
            certificates: setup.certificates.clone(),
            is_taken_in: Arc::new(AtomicBool::new(setup.store.has_begun()?)),
            dismissed: dismisses,
            tally: Arc::clone(&tally),
        };
        let introduced = introduction.clone();
        let node = identity.node;
        let (proposals, proposed) = mpsc::channel(PROPOSALS_MAX);
        let (begun, has_begun) = oneshot::channel();
        let (clock, places) = (setup.pulse.clock().clone(), Arc::new(Semaphore::new(PROPOSALS_MAX)));
        let vigil = Vigil::new(setup.timing.election_min);
        let hears = vigil.clone();
        let thread =
            spawn::thread("control".into(), move || run(setup, machine, introduction, proposed, stands, begun, hears))?;
        match has_begun.await {
            Ok(Ok(())) => {
                let introduction = introduced;
                let control = Control {
                    introduction,
                    states,
                    standings,
                    proposals,
                    places,
                    clock,
                    node,
                    dismissed,
                    tally,
                    vigil,
                };
                Ok((control, thread))
            }
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(BeginError::Stopped.into()),
        }
    }

    /// What everybody agrees on, as far as this node knows.
    pub fn state(&self) -> Arc<State> {
        Arc::clone(&self.states.borrow())
    }

    /// What is counted of all that.
    pub fn tally(&self) -> &ControlTally {
        &self.tally
    }

    /// Who this node is.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// Whether this node is a member of its cluster, as far as it knows.
    pub fn is_member(&self) -> bool {
        !*self.dismissed.borrow() && self.states.borrow().members().contains_key(&self.node)
    }

    /// Waits until this node is told that it has left.
    pub async fn dismissed(&self) {
        let mut dismissed = self.dismissed.clone();
        if dismissed.wait_for(|is_dismissed| *is_dismissed).await.is_err() {
            std::future::pending::<()>().await; // the control plane has ended: nobody will tell
        }
    }

    /// Who this node is, for whoever calls other nodes.
    pub fn introduction(&self) -> Introduction {
        self.introduction.clone()
    }

    /// Sees every state in turn; some may be skipped, the last one never.
    pub fn states(&self) -> watch::Receiver<Arc<State>> {
        self.states.clone()
    }

    /// How this node stands.
    pub fn standing(&self) -> Standing {
        self.standings.borrow().clone()
    }

    /// Sees every standing in turn.
    pub fn standings(&self) -> watch::Receiver<Standing> {
        self.standings.clone()
    }

    /// How long nobody led.
    pub fn leaderless(&self) -> Leaderless {
        self.vigil.report()
    }

    /// Has everybody agree on something, from any thread.
    ///
    /// # Errors
    /// [`ProposeError`]: nobody knows what became of it.
    pub async fn propose(&self, what: What) -> Result<Outcome, ProposeError> {
        self.propose_at(self.clock.now_us(), what).await
    }

    /// The same, of a change that was made at another instant.
    ///
    /// # Errors
    /// [`ProposeError`].
    pub async fn propose_at(&self, at_us: u64, what: What) -> Result<Outcome, ProposeError> {
        let proposed = self.try_to_propose(at_us, what).await;
        self.tally.proposed(match &proposed {
            Ok(Outcome::Refused(_)) => tally::Proposal::Refused,
            Ok(_) => tally::Proposal::Agreed,
            Err(_) => tally::Proposal::Unknown,
        });
        proposed
    }

    async fn try_to_propose(&self, at_us: u64, what: What) -> Result<Outcome, ProposeError> {
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| ProposeError::Busy)?;
        let change = Change::new(at_us, what);
        let (answer, answered) = oneshot::channel();
        let proposal = Proposal { change, answer, _place: place };
        self.proposals.send(proposal).await.map_err(|_| ProposeError::Stopping)?;
        answered.await.unwrap_or(Err(ProposeError::Stopping))
    }
}

/// The control thread.
async fn run(
    setup: ControlSetup,
    machine: Machine,
    introduction: Introduction,
    proposed: mpsc::Receiver<Proposal>,
    stands: watch::Sender<Standing>,
    begun: oneshot::Sender<Result<(), BeginError>>,
    vigil: Vigil,
) {
    // A leader that waits behind busy shards for a processor is taken for dead.
    if let Err(error) = spawn::hurry() {
        tracing::debug!(%error, "the control plane has no precedence over other threads");
    }
    let ControlSetup { store, member, beginning, listener, guests, pulse, timing, draining, .. } = setup;
    let acks = Heard::default();
    let network = Network::new(introduction.clone(), acks.clone(), timing.heartbeat);
    let is_lasting = store.is_lasting();
    let config = Arc::new(timing.raft_config());
    let raft = match Raft::new(member.id.0, config, network, Log::new(store), machine).await {
        Ok(raft) => raft,
        Err(error) => return drop(begun.send(Err(BeginError::Broken(error.to_string())))),
    };
    let listener = match listener.open() {
        Ok(listener) => listener,
        Err(error) => return drop(begun.send(Err(BeginError::Broken(error.to_string())))),
    };
    let clock = pulse.clock().clone();
    let caller = Caller { pulse: pulse.clone(), introduction: introduction.clone(), standings: stands.subscribe() };
    let desk = Desk {
        raft: raft.clone(),
        introduction: introduction.clone(),
        acks: acks.clone(),
        pulse,
        timing,
        is_lasting,
        vigil: vigil.clone(),
        guests,
    };
    tokio::spawn(reception::run(listener, introduction.clone(), desk.clone(), draining.clone()));
    tokio::spawn(steward::run(raft.clone(), introduction.states.clone(), acks, draining.clone()));
    tokio::spawn(stand(raft.clone(), stands, vigil, 2 * timing.election_max));
    let is_in = tokio::select! {
        biased;
        () = draining.cancelled() => Err(BeginError::Stopped),
        is_in = begin(&desk, &caller, &member, &beginning) => is_in,
    };
    let goes_on = is_in.is_ok();
    if begun.send(is_in).is_ok() && goes_on {
        tokio::spawn(begin::announce(desk.clone(), member, clock, draining.clone()));
        tokio::spawn(farewell::watch(desk.clone(), draining.clone()));
        tokio::spawn(caller.run(draining.clone()));
        tokio::select! {
            biased;
            () = draining.cancelled() => {}
            () = answer_proposals(desk, proposed) => {}
        }
    }
    draining.cancel();
    if let Err(error) = raft.shutdown().await {
        tracing::error!(%error, "the control plane has not ended in order");
    }
}

/// Brings the node into a cluster, and its clock to the cluster's time.
async fn begin(desk: &Desk, caller: &Caller, member: &Member, beginning: &Beginning) -> Result<(), BeginError> {
    begin::begin(desk, member, beginning, desk.pulse.clock()).await?;
    caller.begin().await;
    Ok(())
}

async fn answer_proposals(desk: Desk, mut proposed: mpsc::Receiver<Proposal>) {
    while let Some(Proposal { change, answer, _place }) = proposed.recv().await {
        let desk = desk.clone();
        tokio::spawn(async move {
            // Whoever asked may have gone: the change is made all the same.
            let _ = answer.send(desk.propose(&change).await);
            drop(_place);
        });
    }
}

/// Whether this node leads in name alone.
fn has_lapsed(metrics: &RaftMetrics<u64, BasicNode>, lapse: Duration) -> bool {
    let silence = metrics.millis_since_quorum_ack.map(Duration::from_millis);
    metrics.state == ServerState::Leader && silence.is_some_and(|silence| silence > lapse)
}

/// What each node lacks of the log, as far as its leader knows.
fn lags(metrics: &RaftMetrics<u64, BasicNode>) -> BTreeMap<NodeId, u64> {
    let end = |index: Option<u64>| index.map_or(0, |index| index + 1);
    let last = end(metrics.last_log_index);
    let of = |(node, matched): (&u64, &Option<LogId<u64>>)| {
        (NodeId(*node), last.saturating_sub(end(matched.map(|matched| matched.index))))
    };
    metrics.replication.iter().flatten().map(of).collect()
}

/// Why openraft has ended, unless it was told to.
fn fault(running: &Result<(), Fatal<u64>>) -> Option<Arc<str>> {
    match running {
        Ok(()) | Err(Fatal::Stopped) => None,
        Err(error) => Some(error.to_string().into()),
    }
}

/// Tells the vigil that this node leads, if it does: a majority's answers say so, or nobody else votes.
fn tell(vigil: &Vigil, metrics: &RaftMetrics<u64, BasicNode>) {
    if metrics.state != ServerState::Leader {
        return;
    }
    if metrics.membership_config.voter_ids().eq([metrics.id]) {
        vigil.lead_alone(metrics.current_term);
    } else if let Some(ago_ms) = metrics.millis_since_quorum_ack {
        vigil.hear(metrics.current_term, Instant::now() - Duration::from_millis(ago_ms));
    }
}

/// Tells everybody who watches how this node stands.
///
/// A leader that no majority has answered for `lapse` is none that anybody should hope for.
async fn stand(raft: Raft, stands: watch::Sender<Standing>, vigil: Vigil, lapse: Duration) {
    let mut metrics = raft.metrics();
    loop {
        let standing = {
            let metrics = metrics.borrow_and_update();
            tell(&vigil, &metrics);
            Standing {
                fault: fault(&metrics.running_state),
                leader: metrics.current_leader.map(NodeId).filter(|_| !has_lapsed(&metrics, lapse)),
                leads: metrics.state == ServerState::Leader,
                term: metrics.current_term,
                applied: metrics.last_applied.map_or(0, |last| last.index + 1),
                voters: metrics.membership_config.voter_ids().map(NodeId).collect(),
                lags: lags(&metrics),
            }
        };
        stands.send_if_modified(|known| {
            if let Some(fault) = standing.fault.as_ref().filter(|_| known.fault.is_none()) {
                tracing::error!(%fault, "the control plane has ended: this node hears of no change any more");
            }
            if standing.leader != known.leader {
                let (leader, term) = (standing.leader.map(|leader| leader.0), standing.term);
                tracing::info!(leader, term, "the control plane has another leader");
            }
            let is_news = *known != standing;
            *known = standing;
            is_news
        });
        if metrics.changed().await.is_err() {
            return;
        }
    }
}
