//! Errands between nodes: how they ended, how long they took, and the lines that they take.

use crate::observe::door::Door;
use crate::observe::errand::{ErrandTally, Fate};
use crate::observe::metrics::{Exposition, Type};

/// The doors whose clients do not find the owner of a key by themselves.
const FORWARDING: [Door; 2] = [Door::Http, Door::Resp];

/// Appends the families.
pub(super) fn families(tally: &ErrandTally, text: &mut Exposition) {
    let sent: Vec<_> = FORWARDING
        .into_iter()
        .flat_map(|door| {
            Fate::ALL.map(|fate| ([("door", door.name()), ("outcome", fate.name())], tally.sent(door, fate)))
        })
        .collect();
    let sent = sent.iter().map(|(labels, count)| (&labels[..], *count));
    let help = "Requests about keys of other nodes that were taken there, by what became of them.";
    text.family("tallyring_errands_total", Type::Counter, help, sent);
    let done = Fate::ALL.map(|fate| ([("outcome", fate.name())], tally.received(fate)));
    let done = done.iter().map(|(labels, count)| (&labels[..], *count));
    let help = "Requests that other nodes have brought, by what became of them.";
    text.family("tallyring_errands_received_total", Type::Counter, help, done);
    let help = "How long answered errands took, there and back.";
    text.histograms("tallyring_errand_duration_seconds", help, [(&[][..], &tally.latency())]);
    lines(tally, text);
}

fn lines(tally: &ErrandTally, text: &mut Exposition) {
    let open: Vec<_> = tally.lines().into_iter().map(|(node, open)| (node.to_string(), open)).collect();
    let labels: Vec<_> = open.iter().map(|(node, open)| ([("node", node.as_str())], *open)).collect();
    let open = labels.iter().map(|(labels, open)| (&labels[..], *open));
    text.family("tallyring_errand_lines", Type::Gauge, "Connections for errands to each other node.", open);
    let help = "Connections for errands that other nodes have opened.";
    text.family("tallyring_errand_lines_received", Type::Gauge, help, [(&[][..], tally.hosted_lines())]);
}
