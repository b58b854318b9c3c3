//! The pulse: every node calls every other one a few times a second, over the peer port. It shows what gateways are
//! connected to it, and is told the other's, and what the other's clock shows.
//!
//! From that follow the number of gateways that live, for all nodes, and the time: whoever leads the control plane keeps its
//! clock with wall time, the others keep theirs with the leader's.
//!
//! A call that is not answered within [`ANSWER_TIMEOUT`] is given up; a member that is not heard of for [`SILENT_AFTER`] is
//! thought to have no gateways any more. There is one call at a time to each member, so nothing queues.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tallyring_protocol::NodeId;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::control::Standing;
use super::control::state::State;
use super::gateways::Gateways;
use super::gateways::census::Census;
use super::heard::Heard;
use super::peer::hello::Introduction;
use super::peer::line::Line;
use super::peer::message::{Answer, Ask, Vital};
use super::time::{Sample, Timekeeper};
use crate::sys::clock::Clock;

/// How often the leader is called: its time is wanted.
pub const LEADER_EVERY: Duration = Duration::from_millis(200);

/// How often the other members are called.
pub const OTHERS_EVERY: Duration = Duration::from_secs(1);

/// How long an answer is waited for.
pub const ANSWER_TIMEOUT: Duration = Duration::from_millis(500);

/// A member that was not heard of for so long has no gateways.
pub const SILENT_AFTER: Duration = Duration::from_secs(3);

/// How long a node that starts looks for a leader to take the time from. One whose whole cluster starts finds one after
/// two elections, or begins at its own wall time, as its leader will have done.
pub const BEGIN_WITHIN: Duration = Duration::from_millis(700);

/// How often the clock is compared with wall time, and who is silent forgotten.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What a node's pulse keeps: its clock, and who is alive. The clones of it are one pulse.
#[derive(Clone, Debug)]
pub struct Pulse {
    timekeeper: Arc<Timekeeper>,
    gateways: Arc<Gateways>,
    heard: Heard,
}

impl Pulse {
    /// The pulse of a node with this clock, to which no gateway is connected yet.
    pub fn new(clock: Clock) -> Pulse {
        Pulse { timekeeper: Arc::new(Timekeeper::new(clock)), gateways: Arc::default(), heard: Heard::default() }
    }

    /// The clock.
    pub fn clock(&self) -> &Clock {
        self.timekeeper.clock()
    }

    /// Who steers it.
    pub fn timekeeper(&self) -> &Arc<Timekeeper> {
        &self.timekeeper
    }

    /// The gateways that live.
    pub fn gateways(&self) -> &Arc<Gateways> {
        &self.gateways
    }

    /// The answer to another node's call; only a `member`'s gateways count.
    pub fn answer(&self, member: Option<NodeId>, census: Census) -> Vital {
        if let Some(member) = member {
            self.hear(member, census);
        }
        Vital { now_us: self.clock().now_us(), census: self.gateways.census() }
    }

    fn hear(&self, node: NodeId, census: Census) {
        self.heard.note(node);
        self.gateways.hear(node, census);
    }

    /// Forgets what members have told that are silent, or have left.
    fn forget(&self, state: &State) {
        self.heard.retain(|node| state.members().contains_key(&node));
        self.gateways.retain(|node| self.heard.is_alive(node, SILENT_AFTER));
    }
}

/// A node's calls.
#[derive(Clone, Debug)]
pub struct Caller {
    /// What they are for.
    pub pulse: Pulse,
    /// Who calls.
    pub introduction: Introduction,
    /// Who leads.
    pub standings: watch::Receiver<Standing>,
}

impl Caller {
    /// Sets the clock of a node that has served nobody yet to the leader's time. It begins at wall time if it leads, and
    /// if no leader is found in time.
    pub async fn begin(&self) {
        let deadline = Instant::now() + BEGIN_WITHIN;
        let mut standings = self.standings.clone();
        while !self.is_alone() && Instant::now() < deadline {
            let found = timeout_at(deadline, standings.wait_for(|standing| standing.leader.is_some())).await;
            let Ok(Ok(standing)) = found.map(|found| found.map(|standing| standing.clone())) else { return };
            if standing.leads {
                return;
            }
            let line = standing.leader.and_then(|leader| self.line(leader));
            if let Some(sample) = self.ask_within(line, deadline).await {
                return self.pulse.timekeeper.begin(standing.term, sample);
            }
            sleep(RETRY_AFTER).await;
        }
    }

    async fn ask_within(&self, line: Option<Line>, deadline: Instant) -> Option<Sample> {
        timeout_at(deadline, self.ask(&mut line?)).await.ok()?.1
    }

    fn is_alone(&self) -> bool {
        self.introduction.states.borrow().members().len() <= 1
    }

    fn line(&self, to: NodeId) -> Option<Line> {
        let state = self.introduction.states.borrow();
        let address = &state.members().get(&to)?.addresses.peer;
        Some(Line::new(self.introduction.clone(), Some(to), address))
    }

    /// Calls every member, until `draining`.
    pub async fn run(self, draining: CancellationToken) {
        let mut states = self.introduction.states.clone();
        let _lead = AbortOnDropHandle::new(tokio::spawn(self.clone().look()));
        let mut calls = BTreeMap::new();
        loop {
            self.keep(&mut calls, &states.borrow_and_update().clone());
            tokio::select! {
                biased;
                () = draining.cancelled() => return,
                changed = states.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Calls whoever is a member and is not called yet, and whoever is no member no longer.
    fn keep(&self, calls: &mut BTreeMap<(NodeId, String), AbortOnDropHandle<()>>, state: &State) {
        let address_of = |node: &NodeId| state.members().get(node).map(|member| &member.addresses.peer);
        calls.retain(|(node, address), _| address_of(node) == Some(address));
        let me = self.introduction.identity.node;
        for member in state.members().values().filter(|member| member.id != me) {
            let (node, address) = (member.id, member.addresses.peer.clone());
            calls.entry((node, address)).or_insert_with_key(|(node, address)| {
                let line = Line::new(self.introduction.clone(), Some(*node), address);
                AbortOnDropHandle::new(tokio::spawn(self.clone().call(*node, line)))
            });
        }
    }

    async fn call(self, node: NodeId, mut line: Line) {
        let mut standings = self.standings.clone();
        loop {
            let (term, leads) = {
                let standing = standings.borrow_and_update();
                (standing.term, standing.leader == Some(node))
            };
            let (vital, sample) = self.ask(&mut line).await;
            if let Some(vital) = vital {
                self.pulse.hear(node, vital.census);
            }
            if let Some(sample) = sample.filter(|_| leads) {
                self.pulse.timekeeper.follow(term, sample);
            }
            tokio::select! {
                biased;
                () = sleep(if leads { LEADER_EVERY } else { OTHERS_EVERY }) => {}
                leads_now = standings.wait_for(|now| now.leader == Some(node) && (now.term, true) != (term, leads)) => {
                    if leads_now.is_err() {
                        return; // the control plane has ended
                    }
                }
            }
        }
    }

    /// Calls, and says what was answered, and what that says about time. The line is opened before the question leaves: what
    /// that takes says nothing about the other's clock.
    async fn ask(&self, line: &mut Line) -> (Option<Vital>, Option<Sample>) {
        if line.greet(ANSWER_TIMEOUT).await.is_err() {
            return (None, None);
        }
        let clock = self.pulse.clock();
        let asked_boot_us = clock.boot_us();
        match line.ask(&Ask::Pulse(self.pulse.gateways.census()), ANSWER_TIMEOUT).await {
            Ok(Answer::Pulse(vital)) => {
                let sample = Sample::new(asked_boot_us, clock.boot_us(), vital.now_us);
                (Some(vital), sample)
            }
            _ => (None, None),
        }
    }

    /// Now and then: keeps the leader's clock with wall time, and forgets who is silent.
    async fn look(self) {
        loop {
            if self.standings.borrow().leads {
                self.pulse.timekeeper.lead();
            }
            self.pulse.forget(&self.introduction.states.borrow().clone());
            sleep(LOOK_EVERY).await;
        }
    }
}

/// How long a node that starts waits before it asks again.
const RETRY_AFTER: Duration = Duration::from_millis(50);
