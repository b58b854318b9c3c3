//! How long things take: turns by shard, requests by door, and how far the sweep is behind.

use crate::observe::door::Door;
use crate::observe::histogram::Histogram;
use crate::observe::metrics::{Exposition, Micros, Type};
use crate::shard::Report;

/// Appends the families.
pub(super) fn families(text: &mut Exposition, reports: &[Option<Report>], http: &Histogram) {
    let present = || reports.iter().enumerate().filter_map(|(shard, report)| Some((shard, report.as_ref()?)));
    let names: Vec<String> = present().map(|(shard, _)| shard.to_string()).collect();
    let labels: Vec<[(&str, &str); 1]> = names.iter().map(|name| [("shard", name.as_str())]).collect();
    let turns = labels.iter().zip(present()).map(|(labels, (_, report))| (&labels[..], &report.turns));
    let help = "How long turns took: what one read of a connection brought, decided.";
    text.histograms("tallyring_shard_turn_duration_seconds", help, turns);
    let lags = labels.iter().zip(present()).map(|(labels, (_, report))| (&labels[..], Micros(report.expiry_lag_us)));
    let help = "How far the sweep is behind the oldest key that could be forgotten. No decision depends on it.";
    text.family("tallyring_shard_expiry_lag_seconds", Type::Gauge, help, lags);
    requests_family(text, reports, http);
}

fn requests_family(text: &mut Exposition, reports: &[Option<Report>], http: &Histogram) {
    let mut by_door = Door::ALL.map(|door| ([("door", door.name())], Histogram::default()));
    by_door[Door::Http as usize].1 = *http;
    for report in reports.iter().flatten() {
        by_door.iter_mut().zip(&report.requests).for_each(|((_, sum), requests)| sum.add(requests));
    }
    let help = "How long requests took inside the node: from the read that brought them until they were decided.";
    let samples = by_door.iter().map(|(labels, histogram)| (&labels[..], histogram));
    text.histograms("tallyring_request_duration_seconds", help, samples);
}
