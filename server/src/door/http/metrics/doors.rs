//! Connections by door: how many there are, how many were refused, and why.

use std::sync::atomic::Ordering;

use crate::observe::door::{Door, DoorTallies, DoorTally, Refusal};
use crate::observe::metrics::{Exposition, Type};

/// Appends the families: what the doors and the shards behind them have counted.
pub(super) fn families(doors: &DoorTallies, text: &mut Exposition) {
    let labels = Door::ALL.map(|door| [("door", door.name())]);
    let read = |reading: fn(&DoorTally) -> u64| {
        labels.iter().zip(Door::ALL).map(move |(labels, door)| (&labels[..], reading(doors.of(door))))
    };
    let help = "Connections now, those included that have not said who they are.";
    text.family("tallyring_connections", Type::Gauge, help, read(|tally| tally.open.load(Ordering::Relaxed) as u64));
    let accepted = read(|tally| tally.accepted.load(Ordering::Relaxed));
    text.family("tallyring_connections_accepted_total", Type::Counter, "Connections that came in.", accepted);
    refused_family(doors, text);
    let bytes = read(|tally| tally.refused_bytes.load(Ordering::Relaxed));
    let help = "Bytes thrown away: they made no sense, or came from somebody who was refused.";
    text.family("tallyring_refused_bytes_total", Type::Counter, help, bytes);
}

fn refused_family(doors: &DoorTallies, text: &mut Exposition) {
    let pairs = Door::ALL.into_iter().flat_map(|door| Refusal::ALL.map(|refusal| (door, refusal)));
    let samples: Vec<_> = pairs
        .map(|(door, refusal)| ([("door", door.name()), ("reason", refusal.name())], doors.of(door).refused(refusal)))
        .collect();
    let samples = samples.iter().map(|(labels, count)| (&labels[..], *count));
    let help = "Connections refused, or ended because of what they did or their token's end.";
    text.family("tallyring_connections_refused_total", Type::Counter, help, samples);
}
