//! The node as a member of a cluster: it starts its part of the control plane, and sees what comes of it.

use std::net::SocketAddr;
use std::sync::Arc;

use tallyring_protocol::{IdentityHasher, PlacementSeed, Topology};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::cluster::control::begin::Beginning;
use crate::cluster::control::change;
use crate::cluster::control::member::{Addresses, Member};
use crate::cluster::control::raft::store::Store;
use crate::cluster::control::timing::Timing;
use crate::cluster::control::{Control, ControlError, ControlSetup};
use crate::cluster::errand::{GUESTS_MAX, Guest};
use crate::cluster::pulse::Pulse;
use crate::cluster::view::View;
use crate::config::{Config, Host};
use crate::data::Data;
use crate::entrance::tls::Certificates;
use crate::shard::Seeds;
use crate::sys::clock::Clock;
use crate::sys::net::Bound;
use crate::sys::spawn::Thread;
use crate::tokens::LiveTokens;

/// Where the node listens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listening {
    pub(super) native: SocketAddr,
    pub(super) http: SocketAddr,
    pub(super) resp: SocketAddr,
    pub(super) peer: SocketAddr,
}

/// The node's part of the control plane.
#[derive(Debug)]
pub(super) struct Membership {
    pub(super) control: Control,
    pub(super) pulse: Pulse,
    member: Member,
    /// Calls of other nodes that are for errands; taken by whoever does those.
    guests: Option<mpsc::Receiver<Guest>>,
    thread: Thread,
    /// Ends after everything else: what is asked until then may have to be agreed on.
    draining: CancellationToken,
}

impl Membership {
    /// Starts the control plane; when this returns, the node is in a cluster.
    ///
    /// # Errors
    /// [`ControlError`]; nothing is left running.
    pub(super) async fn start(
        config: &Config,
        data: Option<&Data>,
        listening: Listening,
        peer: Bound,
        tokens: &Arc<LiveTokens>,
        certificates: Option<Arc<Certificates>>,
        clock: Clock,
    ) -> Result<Membership, ControlError> {
        let member = member(config, listening);
        let (guests, called) = mpsc::channel(GUESTS_MAX);
        let (draining, pulse) = (CancellationToken::new(), Pulse::new(clock));
        let setup = ControlSetup {
            store: data.map_or_else(|| Ok(Store::in_memory()), |data| Store::open(data.folder()))?,
            member: member.clone(),
            beginning: beginning(config, &member),
            listener: peer,
            guests,
            certificates,
            token: config.peer_token.as_ref().map_or_else(|| "".into(), |token| token.reveal()),
            tokens: Arc::clone(tokens),
            pulse: pulse.clone(),
            timing: Timing::default(),
            draining: draining.clone(),
        };
        let (control, thread) = Control::start(setup).await?;
        Ok(Membership { control, pulse, member, guests: Some(called), thread, draining })
    }

    /// The calls of other nodes that are for errands.
    ///
    /// # Panics
    /// The second time.
    pub(super) fn take_guests(&mut self) -> mpsc::Receiver<Guest> {
        self.guests.take().expect("one thread takes them, once")
    }

    /// Whether the node is the only member.
    pub(super) fn is_alone(&self) -> bool {
        self.control.state().members().len() == 1
    }

    /// What places keys and tells them apart, in this cluster.
    pub(super) fn seeds(&self) -> Seeds {
        let change::Seeds { placement, identity } = self.cluster_seeds();
        let identity = IdentityHasher::new(tallyring_protocol::IdentityKey(identity));
        Seeds { placement: PlacementSeed(placement), identity }
    }

    fn cluster_seeds(&self) -> change::Seeds {
        self.control.state().cluster().expect("the control plane starts in a cluster or not at all").seeds
    }

    /// What the node sees of the cluster at first. It knows of itself what the others may not know yet: where it listens
    /// now, and its shards.
    pub(super) fn topology(&self) -> Topology {
        let topology = self.control.state().topology(1);
        let mut topology = topology.expect("the control plane starts in a cluster or not at all");
        if let Some(me) = topology.nodes.iter_mut().find(|node| node.id == self.member.id) {
            *me = tallyring_protocol::Node { weight: me.weight, ..self.member.to_node() };
        }
        topology
    }

    /// Has the node see every topology that its cluster agrees on from now on.
    pub(super) fn follow(&self, view: Arc<View>) -> impl Future<Output = ()> + use<> {
        follow(self.control.clone(), view)
    }

    /// Ends the control plane.
    pub(super) async fn stop(self) {
        self.draining.cancel();
        self.thread.join().await;
    }
}

async fn follow(control: Control, view: Arc<View>) {
    let mut states = control.states();
    let mut was_member = true;
    loop {
        let topology = states.borrow_and_update().topology(1);
        let current = view.territory().topology().epoch;
        if let Some(next) = topology.filter(|next| next.epoch > current)
            && let Err(reason) = view.take(next)
        {
            tracing::warn!(%reason, "a topology is not taken");
        }
        if was_member && !control.is_member() {
            was_member = false;
            tracing::error!("this node has left its cluster: it answers for no key any more and can be stopped");
            view.vacate();
        }
        tokio::select! {
            () = control.dismissed(), if was_member => {}
            changed = states.changed() => if changed.is_err() { return },
        }
    }
}

/// The node as the others are to know it.
fn member(config: &Config, listening: Listening) -> Member {
    let host = config.advertise_host.as_ref().map(Host::as_str);
    let reached = |at: SocketAddr| host.map_or_else(|| at.to_string(), |host| format!("{host}:{}", at.port()));
    let Listening { native, http, resp, peer } = listening;
    let addresses =
        Addresses { native: reached(native), http: reached(http), resp: reached(resp), peer: reached(peer) };
    let (zone, shards) = (config.zone.clone(), config.shards.get());
    Member { zone, shards, ..Member::new(config.node_id.id(), addresses) }
}

/// How the node comes into a cluster, if it is in none. A list of all nodes may be given to each of them: nobody joins
/// itself.
fn beginning(config: &Config, member: &Member) -> Beginning {
    let others = config.join.addresses().iter().filter(|address| **address != member.addresses.peer);
    if config.join.is_empty() {
        let (placement, identity) = (config.placement_seed.0, config.identity_key.0);
        return Beginning::Found(change::Seeds { placement, identity });
    }
    Beginning::Join(others.cloned().collect())
}
