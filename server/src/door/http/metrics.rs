//! `/metrics`: what the shards and the acceptor counted, for Prometheus.

mod cluster;
mod decisions;
mod doors;
mod durations;
mod errands;
mod leaderless;

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use self::decisions::Decisions;
use super::HttpDoor;
use crate::entrance::tls::Expiry;
use crate::observe::metrics::{CONTENT_TYPE, Exposition, SignedMicros, Type};
use crate::observe::reload::Reloaded;
use crate::shard::Report;

/// Answers a scrape.
pub(super) async fn metrics(State(door): State<Arc<HttpDoor>>) -> Response {
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], door.exposition().await).into_response()
}

impl HttpDoor {
    async fn exposition(&self) -> String {
        let reports = self.reports().await;
        let mut text = Exposition::default();
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        text.family("tallyring_build_info", Type::Gauge, "The running version; always 1.", [(&version[..], 1)]);
        doors::families(&self.doors, &mut text);
        shard_families(&mut text, &reports);
        durations::families(&mut text, &reports, &self.latency.lock());
        leaderless::families(&mut text, &self.control.leaderless());
        errands::families(&self.errands, &mut text);
        self.clock_family(&mut text);
        cluster::families(&self.control, &mut text);
        self.rules_families(&mut text);
        self.reload_families(&mut text);
        self.expiry_family(&mut text);
        let locals = self.locals.lock().reports();
        Decisions::of(reports.iter().flatten(), &locals).families(&mut text);
        text.finish()
    }

    fn reload_families(&self, text: &mut Exposition) {
        let labels = |what: Reloaded, result| [("file", what.name()), ("result", result)];
        let counted = Reloaded::ALL.map(|what| {
            let (taken, refused, is_stale) = self.reloads.of(what);
            ([(labels(what, "taken"), taken), (labels(what, "refused"), refused)], (what, is_stale))
        });
        let results = counted.iter().flat_map(|(results, _)| results).map(|(labels, count)| (&labels[..], *count));
        let help = "Other content of tokens or certificates that was found and taken, or refused as making no sense.";
        text.family("tallyring_reloads_total", Type::Counter, help, results);
        let stale = counted.map(|(_, (what, is_stale))| ([("file", what.name())], u8::from(is_stale)));
        let stale = stale.iter().map(|(labels, is_stale)| (&labels[..], *is_stale));
        let help = "Whether what is on disk was refused, so that what is valid is older.";
        text.family("tallyring_reload_stale", Type::Gauge, help, stale);
    }

    fn clock_family(&self, text: &mut Exposition) {
        let help = "How far the node's clock was behind wall time when they were last compared; negative = ahead.";
        let behind = SignedMicros(self.clock_gauge.behind_us());
        text.family("tallyring_clock_deviation_seconds", Type::Gauge, help, [(&[][..], behind)]);
    }

    fn expiry_family(&self, text: &mut Exposition) {
        let Expiry { cert_s, ca_s } = self.certificates.as_ref().map(|shown| shown.expiry()).unwrap_or_default();
        let ends = [("cert", cert_s), ("ca", ca_s)].map(|(file, end_s)| ([("file", file)], end_s));
        let ends = ends.iter().filter_map(|(labels, end_s)| Some((&labels[..], (*end_s)?)));
        let help = "When the first of the certificates ends that the node shows, or that clients' have to come from.";
        text.family("tallyring_certificate_expiry_timestamp_seconds", Type::Gauge, help, ends);
    }

    fn rules_families(&self, text: &mut Exposition) {
        let (live, none) = (self.rules.live(), &[][..]);
        let help = "The rules document that is live, counted from 1; 0 = none was ever published.";
        text.family("tallyring_rules_version", Type::Gauge, help, [(none, live.version.version)]);
        let help = "When the history of the rules began; 0 = none was ever published.";
        let began_s = live.version.lineage / 1_000_000;
        text.family("tallyring_rules_lineage_timestamp_seconds", Type::Gauge, help, [(none, began_s)]);
        let help = "Rules of the document that is live.";
        text.family("tallyring_rules", Type::Gauge, help, [(none, live.set.rules().len())]);
    }
}

/// A number of a shard's report.
type Reading = fn(&Report) -> u64;

fn shard_families(text: &mut Exposition, reports: &[Option<Report>]) {
    let families: [(&str, Type, &str, Reading); 10] = [
        ("tallyring_shard_keys", Type::Gauge, "Keys held.", |r| r.keys as u64),
        ("tallyring_shard_bytes", Type::Gauge, "Bytes held for keys and limits.", |r| r.bytes as u64),
        ("tallyring_shard_bytes_max", Type::Gauge, "Bytes at which new keys are refused.", |r| r.bytes_max as u64),
        ("tallyring_shard_limits", Type::Gauge, "Limits defined and in use.", |r| r.limits as u64),
        ("tallyring_shard_connections", Type::Gauge, "Connections served.", |r| r.connections as u64),
        ("tallyring_shard_mailbox_messages", Type::Gauge, "Messages from other threads waiting.", |r| r.mail as u64),
        ("tallyring_shard_frames_total", Type::Counter, "Request frames read.", |r| r.tally.frames),
        ("tallyring_shard_forwarded_total", Type::Counter, "Requests sent on to the key's shard.", |r| {
            r.tally.forwarded
        }),
        ("tallyring_shard_overloaded_total", Type::Counter, "Requests refused: mailbox full.", |r| r.tally.overloaded),
        ("tallyring_shard_expired_total", Type::Counter, "Keys forgotten: whole again.", |r| r.tally.expired),
    ];
    let names: Vec<String> = (0..reports.len()).map(|index| index.to_string()).collect();
    let labels: Vec<[(&str, &str); 1]> = names.iter().map(|name| [("shard", name.as_str())]).collect();
    let up = labels.iter().zip(reports).map(|(label, report)| (&label[..], u8::from(report.is_some())));
    text.family("tallyring_shard_up", Type::Gauge, "Whether the shard answered in time.", up);
    for (name, kind, help, reading) in families {
        let present = labels.iter().zip(reports).filter_map(|(label, report)| Some((label, report.as_ref()?)));
        text.family(name, kind, help, present.map(|(label, report)| (&label[..], reading(report))));
    }
}
