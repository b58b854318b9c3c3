//! How long nobody led the cluster, as this node sees it.

use crate::cluster::control::vigil::Leaderless;
use crate::observe::metrics::{Exposition, Micros, Type};

/// Appends the families.
pub(super) fn families(text: &mut Exposition, seen: &Leaderless) {
    let Leaderless { silences, now_us } = seen;
    let help =
        "How long this node heard of no leader, of silences that ended: all between two leaders, others from 0.1 s on.";
    text.histograms("tallyring_cluster_leaderless_seconds", help, [(&[][..], silences)]);
    let help = "How long this node has heard of no leader now; 0 = one was heard of lately.";
    text.family("tallyring_cluster_leader_missing_seconds", Type::Gauge, help, [(&[][..], Micros(*now_us))]);
}
