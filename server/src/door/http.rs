//! The HTTP door: what people, their tools and simple gateways ask of a node. Is it alive, how is it, which rules are live,
//! may this request pass, forget this key.
//!
//! `/livez`, `/readyz` and `/metrics` are open to whoever reaches the port. What is below `/v1` needs a token where the
//! node has any (`caller`), and answers what it refuses with a problem (RFC 9457) that says what to mend.

mod announced;
mod asked;
mod body;
mod caller;
mod check;
mod cluster;
mod connection;
mod etag;
mod form;
mod keys;
mod limit;
mod limits;
mod line;
mod metrics;
mod milliseconds;
mod openapi;
mod patient;
mod problem;
mod pushing;
mod rules;
mod settle;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{Request, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, put};
use hyper::body::Incoming;
use parking_lot::Mutex;
use tallyring_protocol::NodeId;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::asked::Asked;
use self::caller::Peer;
use self::connection::{Answer, Hall};
use self::problem::Problem;
use crate::cluster::control::Control;
use crate::cluster::view::View;
use crate::door::judge::Judge;
use crate::door::shards::Shards;
use crate::entrance::Entrance;
use crate::entrance::tls::Certificates;
use crate::observe::clock::ClockGauge;
use crate::observe::door::DoorTallies;
use crate::observe::errand::ErrandTally;
use crate::observe::histogram::{Histogram, micros};
use crate::observe::local::Locals;
use crate::observe::reload::ReloadTally;
use crate::rules::Rules;
use crate::shard::{Message, Report, ShardMailbox};
use crate::sys::clock::Clock;
use crate::sys::net::TcpListener;
use crate::tokens::LiveTokens;

/// A shard that has not said for this long that it is alive is not.
const PULSE_AGE_MAX: Duration = Duration::from_secs(2);

/// How long a shard may take to report how it is.
const REPORT_TIMEOUT: Duration = Duration::from_secs(1);

/// What the HTTP door looks at.
#[derive(Debug)]
pub struct HttpDoor {
    /// The node that it belongs to.
    pub node: NodeId,
    /// The cluster as the node sees it.
    pub view: Arc<View>,
    /// What all nodes agree on.
    pub control: Control,
    /// The shards, to ask.
    pub mailboxes: Arc<[ShardMailbox]>,
    /// When each shard last said that it is alive, in microseconds of the clock.
    pub pulses: Vec<Arc<AtomicU64>>,
    /// The node's clock.
    pub clock: Clock,
    /// What is counted of errands between nodes.
    pub errands: Arc<ErrandTally>,
    /// How far off it is.
    pub clock_gauge: Arc<ClockGauge>,
    /// What is counted where connections come in.
    pub doors: Arc<DoorTallies>,
    /// What is counted of files that are read again.
    pub reloads: Arc<ReloadTally>,
    /// What the doors show, if anything is encrypted.
    pub certificates: Option<Arc<Certificates>>,
    /// How long the door's requests took.
    pub latency: Mutex<Histogram>,
    /// What the door decided that no shard knows of.
    pub locals: Mutex<Locals>,
    /// The rules.
    pub rules: Arc<Rules>,
    /// The shards, to decide.
    pub shards: Arc<Shards>,
    /// Who decides by the rules.
    pub judge: Judge,
    /// Who may do what.
    pub tokens: Arc<LiveTokens>,
    /// The name that the node goes by, besides its addresses.
    pub advertise_host: Option<String>,
    /// What the shards wait for before they end: requests that are being answered count.
    pub answering: Arc<AtomicUsize>,
    /// Cancelled when the node drains.
    pub draining: CancellationToken,
}

/// Serves HTTP until the node drains, and what was asked until then.
pub async fn run(door: HttpDoor, entrance: Entrance, listener: TcpListener) {
    let (draining, connections) = (door.draining.clone(), TaskTracker::new());
    let (shards, door) = (Arc::clone(&door.shards), Arc::new(door));
    let asking = tokio::task::spawn_local(async move { shards.serve().await });
    let hall = Hall {
        answering: Arc::clone(&door.answering),
        draining: draining.clone(),
        connections: connections.clone(),
        desk: Desk { router: router(Arc::clone(&door)), door },
    };
    entrance.open(listener, hall, &draining).await;
    connections.close();
    connections.wait().await;
    asking.abort();
}

fn router(door: Arc<HttpDoor>) -> Router {
    Router::new()
        .route("/livez", get(live))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics::metrics))
        .route("/openapi.json", get(openapi::openapi))
        .route("/v1/rules", get(rules::read).put(rules::publish))
        .route("/v1/rules/history", get(rules::history))
        .route("/v1/rules/history/{version}", get(rules::edition))
        .route("/v1/limits/{tier}", get(limits::read).put(limits::publish))
        .route(Asked::Check.path(), Asked::Check.route())
        .route(Asked::Settle.path(), Asked::Settle.route())
        .route(Asked::Limit.path(), Asked::Limit.route())
        .route("/v1/cluster", get(cluster::status))
        .route("/v1/cluster/members/{id}", put(cluster::reweigh).delete(cluster::leave))
        .route("/v1/keys/{*key}", get(keys::peek).delete(keys::reset))
        .fallback(async || Problem::not_found("there is nothing at this path"))
        .method_not_allowed_fallback(async || Problem::method_not_allowed())
        .with_state(door)
}

/// Who answers at the door.
struct Desk {
    door: Arc<HttpDoor>,
    router: Router,
}

impl Answer for Desk {
    /// Measures a request from its head until the head of its answer. One that is dropped with its connection is not
    /// counted: nobody had the answer.
    async fn answer(&self, mut request: Request<Incoming>, peer: Peer) -> Response {
        let began = tokio::time::Instant::now();
        let response = match (form::check(&mut request), Asked::of(&request)) {
            (Err(problem), _) => problem.into_response(),
            (Ok(()), Some(asked)) => self.door.reply(asked, request).await,
            (Ok(()), None) => self.router.answer(request, peer).await,
        };
        self.door.latency.lock().observe(micros(began.elapsed()), 1);
        response
    }
}

async fn live(State(door): State<Arc<HttpDoor>>) -> Response {
    match door.silent_shards() {
        0 => (StatusCode::OK, "alive\n").into_response(),
        silent => (StatusCode::SERVICE_UNAVAILABLE, format!("{silent} shards are silent\n")).into_response(),
    }
}

async fn ready(State(door): State<Arc<HttpDoor>>) -> Response {
    match door.hindrance() {
        None => (StatusCode::OK, "ready\n").into_response(),
        Some(hindrance) => (StatusCode::SERVICE_UNAVAILABLE, format!("{hindrance}\n")).into_response(),
    }
}

impl HttpDoor {
    /// Why this node should not be asked, if it should not.
    fn hindrance(&self) -> Option<String> {
        if self.draining.is_cancelled() {
            return Some("draining".to_owned());
        }
        if !self.control.is_member() {
            return Some("this node has left its cluster".to_owned());
        }
        if let Some(fault) = self.control.standing().fault {
            return Some(format!("the control plane has ended: {fault}"));
        }
        match self.silent_shards() {
            0 => None,
            silent => Some(format!("{silent} shards are not up")),
        }
    }

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
}
