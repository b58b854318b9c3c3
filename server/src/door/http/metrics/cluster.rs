//! The cluster as this node sees it.

use crate::cluster::control::Control;
use crate::cluster::control::member::Status;
use crate::observe::control::{ControlTally, PeerRefusal, Proposal};
use crate::observe::metrics::{Exposition, Type};

/// What the cluster thinks of members, and the name of that in metrics.
const STATES: [(Status, &str); 3] = [(Status::Up, "up"), (Status::Draining, "draining"), (Status::Down, "down")];

/// All families of the control plane.
pub(super) fn families(control: &Control, text: &mut Exposition) {
    gauges(control, text);
    members(control, text);
    counters(control.tally(), text);
}

fn gauges(control: &Control, text: &mut Exposition) {
    let (state, standing) = (control.state(), control.standing());
    let lag = standing.lags.values().max().copied().unwrap_or(0);
    let families: [(&str, &str, u64); 10] = [
        ("tallyring_cluster_epoch", "Grows with every change of the ring.", state.epoch()),
        ("tallyring_cluster_member", "Whether this node is a member; 0 = it has left.", control.is_member().into()),
        (
            "tallyring_control_up",
            "Whether it takes part in what nodes agree on; 0 = its log has failed.",
            standing.fault.is_none().into(),
        ),
        ("tallyring_control_leader_known", "Whether it knows of a leader.", standing.leader.is_some().into()),
        ("tallyring_control_leads", "Whether it is the leader.", standing.leads.into()),
        ("tallyring_control_term", "The how-manieth leader there is.", standing.term),
        ("tallyring_control_applied_entries", "Entries of the log that it has applied.", standing.applied),
        (
            "tallyring_control_lag_entries",
            "Entries that the member lacks which lacks most; 0 on who does not lead.",
            lag,
        ),
        ("tallyring_control_voters", "Members that vote.", standing.voters.len() as u64),
        (
            "tallyring_rules_agreed_version",
            "The rules document that all nodes agreed on last.",
            state.rules().version().version,
        ),
    ];
    for (name, help, value) in families {
        text.family(name, Type::Gauge, help, [(&[][..], value)]);
    }
}

fn members(control: &Control, text: &mut Exposition) {
    let state = control.state();
    let counted = STATES.map(|(status, name)| {
        let count = state.members().values().filter(|member| member.status == status).count();
        ([("state", name)], count)
    });
    let samples = counted.iter().map(|(labels, count)| (&labels[..], *count));
    text.family("tallyring_cluster_members", Type::Gauge, "Members by what the cluster thinks of them.", samples);
}

fn counters(tally: &ControlTally, text: &mut Exposition) {
    let proposals = Proposal::ALL.map(|end| ([("outcome", end.name())], tally.proposals(end)));
    let samples = proposals.iter().map(|(labels, count)| (&labels[..], *count));
    let help = "Changes that this node proposed, by how that ended.";
    text.family("tallyring_control_proposals_total", Type::Counter, help, samples);
    let refusals = PeerRefusal::ALL.map(|reason| ([("reason", reason.name())], tally.refusals(reason)));
    let samples = refusals.iter().map(|(labels, count)| (&labels[..], *count));
    text.family("tallyring_peers_refused_total", Type::Counter, "Calls of other nodes that were not taken.", samples);
}
