//! The HTTP door: is the node alive, is it ready, how is it.

use std::future::IntoFuture;
mod incoming;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use self::incoming::Incoming;
use crate::acceptor::AcceptorTally;
use crate::observe::metrics::{CONTENT_TYPE, Exposition, Type};
use crate::shard::{Message, Report, ShardMailbox};
use crate::sys::clock::Clock;
use crate::sys::net::TcpListener;

/// A shard that has not said for this long that it is alive is not.
const PULSE_AGE_MAX: Duration = Duration::from_secs(2);

/// How long a shard may take to report how it is.
const REPORT_TIMEOUT: Duration = Duration::from_secs(1);

/// What the HTTP door looks at.
#[derive(Debug)]
pub struct HttpDoor {
    /// The shards, to ask.
    pub mailboxes: Arc<[ShardMailbox]>,
    /// When each shard last said that it is alive, in microseconds of the clock.
    pub pulses: Vec<Arc<AtomicU64>>,
    /// The node's clock.
    pub clock: Clock,
    /// What the acceptor counts.
    pub acceptor: Arc<AcceptorTally>,
    /// Cancelled when the node drains.
    pub draining: CancellationToken,
}

/// Serves HTTP until the node drains.
///
/// # Errors
/// The listener is broken.
pub async fn run(door: HttpDoor, listener: TcpListener) -> io::Result<()> {
    let draining = door.draining.clone();
    let router = Router::new()
        .route("/livez", get(live))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(Arc::new(door));
    let server = axum::serve(Incoming::new(listener), router);
    tokio::select! {
        biased;
        // A scrape may be under way; there is nothing in it that a drain has to wait for.
        () = draining.cancelled() => Ok(()),
        served = server.into_future() => served,
    }
}

async fn live(State(door): State<Arc<HttpDoor>>) -> Response {
    match door.silent_shards() {
        0 => (StatusCode::OK, "alive\n").into_response(),
        silent => (StatusCode::SERVICE_UNAVAILABLE, format!("{silent} shards are silent\n")).into_response(),
    }
}

async fn ready(State(door): State<Arc<HttpDoor>>) -> Response {
    if door.draining.is_cancelled() {
        return (StatusCode::SERVICE_UNAVAILABLE, "draining\n").into_response();
    }
    match door.silent_shards() {
        0 => (StatusCode::OK, "ready\n").into_response(),
        silent => (StatusCode::SERVICE_UNAVAILABLE, format!("{silent} shards are not up\n")).into_response(),
    }
}

async fn metrics(State(door): State<Arc<HttpDoor>>) -> Response {
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], door.exposition().await).into_response()
}

impl HttpDoor {
    fn silent_shards(&self) -> usize {
        let now = self.clock.now_us();
        let age_max_us = PULSE_AGE_MAX.as_micros() as u64;
        self.pulses.iter().filter(|pulse| now.saturating_sub(pulse.load(Ordering::Relaxed)) > age_max_us).count()
    }

    /// Each shard's report; `None` for a shard that did not answer in time.
    async fn reports(&self) -> Vec<Option<Report>> {
        let deadline = tokio::time::Instant::now() + REPORT_TIMEOUT;
        let mut asked = Vec::with_capacity(self.mailboxes.len());
        for mailbox in self.mailboxes.iter() {
            let (to, from) = oneshot::channel();
            asked.push(mailbox.push(Message::Report(to)).ok().map(|()| from));
        }
        let mut reports = Vec::with_capacity(asked.len());
        for answer in asked {
            reports.push(match answer {
                Some(from) => tokio::time::timeout_at(deadline, from).await.ok().and_then(Result::ok),
                None => None,
            });
        }
        reports
    }

    async fn exposition(&self) -> String {
        let reports = self.reports().await;
        let mut text = Exposition::default();
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        text.family("tallyring_build_info", Type::Gauge, "The running version; always 1.", [(&version[..], 1)]);
        self.acceptor_families(&mut text);
        shard_families(&mut text, &reports);
        rule_family(&mut text, &reports);
        text.finish()
    }

    fn acceptor_families(&self, text: &mut Exposition) {
        let AcceptorTally { open, accepted, refused } = &*self.acceptor;
        let (open, none) = (open.load(Ordering::Relaxed), &[][..]);
        text.family("tallyring_connections", Type::Gauge, "Native connections now.", [(none, open)]);
        let accepted = accepted.load(Ordering::Relaxed);
        text.family("tallyring_connections_accepted_total", Type::Counter, "Native connections.", [(none, accepted)]);
        let refused = refused.load(Ordering::Relaxed);
        let help = "Native connections refused: bad hello or token, too many, too slow.";
        text.family("tallyring_connections_refused_total", Type::Counter, help, [(none, refused)]);
    }
}

/// A number of a shard's report.
type Reading = fn(&Report) -> u64;

fn shard_families(text: &mut Exposition, reports: &[Option<Report>]) {
    let families: [(&str, Type, &str, Reading); 8] = [
        ("tallyring_shard_keys", Type::Gauge, "Keys held.", |r| r.keys as u64),
        ("tallyring_shard_bytes", Type::Gauge, "Bytes held for keys and limits.", |r| r.bytes as u64),
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

/// Rules that have series of their own; the decisions of the others, by name, are summed under [`OTHER_RULES`].
///
/// A client names rules as it likes: without a bound it could make every scrape as large as it likes.
const RULE_SERIES_MAX: usize = 1_000;

/// The label of the rules beyond [`RULE_SERIES_MAX`]. No rule id has parentheses.
const OTHER_RULES: &str = "(other)";

/// Decisions that were allowed, denied, and refused for want of memory.
type Outcomes = [u64; 3];

fn rule_family(text: &mut Exposition, reports: &[Option<Report>]) {
    let mut rules: BTreeMap<&str, Outcomes> = [("", [0; 3])].into();
    for rule in reports.iter().flatten().flat_map(|report| &report.rules) {
        add(rules.entry(&rule.rule).or_default(), [rule.allowed, rule.denied, rule.full]);
    }
    if let Some((&first_beyond, _)) = rules.iter().nth(RULE_SERIES_MAX) {
        let beyond = rules.split_off(first_beyond);
        let others = rules.entry(OTHER_RULES).or_default();
        beyond.into_values().for_each(|outcomes| add(others, outcomes));
    }
    let samples: Vec<([(&str, &str); 2], u64)> = rules
        .iter()
        .flat_map(|(rule, counts)| {
            let outcomes = ["allowed", "denied", "full"].into_iter().zip(*counts);
            outcomes.map(|(outcome, count)| ([("rule", *rule), ("outcome", outcome)], count))
        })
        .collect();
    let help = "Decisions by rule and outcome; rule is empty for limits that no rule gave.";
    let samples = samples.iter().map(|(labels, count)| (&labels[..], count));
    text.family("tallyring_decisions_total", Type::Counter, help, samples);
}

fn add(sum: &mut Outcomes, more: Outcomes) {
    for (sum, more) in sum.iter_mut().zip(more) {
        *sum += more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shard::RuleReport;

    #[test]
    fn a_client_that_invents_rules_does_not_grow_the_scrape() {
        let invented = |n: usize| RuleReport { rule: format!("rule-{n:05}"), allowed: 1, ..RuleReport::default() };
        let report = Report { rules: (0..5_000).map(invented).collect(), ..Report::default() };
        let mut text = Exposition::default();
        rule_family(&mut text, &[Some(report.clone()), Some(report)]);
        let text = text.finish();
        assert_eq!(text.lines().count(), 2 + 3 * (RULE_SERIES_MAX + 1));
        assert!(text.contains("{rule=\"rule-00998\",outcome=\"allowed\"} 2\n"));
        assert!(text.contains("{rule=\"(other)\",outcome=\"allowed\"} 8002\n"), "{text}");
    }
}
