//! `tallyring demo`: a whole system in one process, to try with curl: a node, a gateway with the client crate's layer, a
//! toy backend behind it.

use std::error::Error;
use std::fmt;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use axum::extract::ConnectInfo;
use axum::http::request::Parts;
use axum::routing::get;
use axum::{Router, extract::Path};
use clap::Args;
use tallyring_client::middleware::{Identity, RateLimitLayer, header};
use tallyring_client::{RateLimiter, RateLimiterConfig, Store, StoreConfig};
use tallyring_protocol::rules::parse;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing_subscriber::EnvFilter;

use super::fail;
use crate::config::{Config, RulesFile};
use crate::node::Node;
use crate::sys::net::Bound;

/// The rules that the demo begins with.
const RULES: &str = include_str!("demo/rules.toml");

/// Units that a full bucket of the sample rules holds: a person empties it with curl in a few seconds.
const BURST: u64 = 10;

/// Seconds until a used unit is back: an empty bucket is whole again in half a minute.
const REFILL_S: u64 = 3;

/// How long open requests may take to end when the demo is stopped.
const DRAIN_MAX: Duration = Duration::from_secs(2);

/// How long the gateway may take to find its own store.
const READY_MAX: Duration = Duration::from_secs(5);

const LOOPBACK_ANY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// What `demo` takes.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Where the demo gateway serves HTTP
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
}

/// Runs the demo until SIGTERM or Ctrl-C.
pub fn run(args: &DemoArgs) -> ExitCode {
    let filter = EnvFilter::try_from_env("TALLYRING_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter(filter).init();
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(error),
    };
    match runtime.block_on(demo(args.listen)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(format_args!("demo: {error}")),
    }
}

async fn demo(listen: SocketAddr) -> Result<(), Box<dyn Error>> {
    // Listen for signals first: one that comes while the node starts must not kill it half-way.
    let signals = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let gateway = Bound::listen(listen).await.map_err(|error| {
        format!("{listen}: {error}: stop what listens there, or give another address with --listen")
    })?;
    let node = Node::start(config()).await?;
    let limiter = limiter(node.native_addr());
    if !limiter.store().ready(READY_MAX).await {
        return Err("the gateway does not reach its store".into());
    }
    let tour = Tour { gateway: gateway.local_addr()?, native: node.native_addr(), http: node.http_addr() };
    // Whoever has closed our output does not want the tour; the demo goes on.
    let _ = std::io::stdout().write_all(tour.to_string().as_bytes());
    serve(gateway, limiter, signals).await?;
    node.drain().await;
    Ok(())
}

fn config() -> Config {
    let rules = RulesFile { path: "demo".into(), text: RULES.to_owned().into() };
    Config {
        native_addr: LOOPBACK_ANY,
        http_addr: LOOPBACK_ANY,
        resp_addr: LOOPBACK_ANY,
        peer_addr: LOOPBACK_ANY,
        rules: Some(rules),
        ..Config::default()
    }
}

/// A limiter that enforces the sample rules from its first request on, and then whatever the store says.
fn limiter(store: SocketAddr) -> RateLimiter {
    let seeds = vec![store.to_string()];
    let store = Store::open(StoreConfig { seeds, name: "demo gateway".to_owned(), ..StoreConfig::default() });
    let baked_in = parse(RULES).expect("the demo's rules make sense").rules;
    RateLimiter::new(store, RateLimiterConfig { baked_in, ..RateLimiterConfig::default() })
}

/// Serves until a signal comes, and a little longer for requests that are under way.
async fn serve(gateway: Bound, limiter: RateLimiter, signals: (Signal, Signal)) -> std::io::Result<()> {
    let (stopping, stopped) = tokio::sync::watch::channel(());
    let service = app(limiter).into_make_service_with_connect_info::<SocketAddr>();
    let serving = axum::serve(gateway.open()?, service).with_graceful_shutdown(async move {
        wait_for(signals).await;
        drop(stopping);
    });
    tokio::select! {
        biased;
        served = serving.into_future() => served,
        () = drain_time(stopped) => Ok(()),
    }
}

async fn wait_for((mut terminate, mut interrupt): (Signal, Signal)) {
    tokio::select! {
        biased;
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

/// Ends some time after the other end of `stopped` is gone.
async fn drain_time(mut stopped: tokio::sync::watch::Receiver<()>) {
    while stopped.changed().await.is_ok() {}
    tokio::time::sleep(DRAIN_MAX).await;
}

fn app(limiter: RateLimiter) -> Router {
    Router::new()
        .route("/", get(|| async { "hello from behind the limiter\n" }))
        .route("/{*path}", get(|Path(path): Path<String>| async move { format!("you asked for /{path}\n") }))
        .layer(RateLimitLayer::new(limiter.clone(), whose))
        .route("/counts", get(move || async move { format!("{:#?}\n", limiter.counts()) }))
}

fn whose(request: &Parts) -> Identity<'_> {
    let peer = request.extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
    Identity { client: header(request, "x-api-key"), peer, ..Identity::default() }
}

/// What to try.
struct Tour {
    gateway: SocketAddr,
    native: SocketAddr,
    http: SocketAddr,
}

impl fmt::Display for Tour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tour { gateway, native, http } = self;
        let whole_s = BURST * REFILL_S;
        write!(
            f,
            "\
gateway  http://{gateway}, a toy backend behind the limiter
store    {native} speaks the native protocol, http://{http} has the rules and /metrics for Prometheus
limit    {BURST} requests at once for each X-Api-Key (else each address), then 1 every {REFILL_S} s; whole again after {whole_s} s

Try, in another terminal:
  # what is left stands in the headers
  curl -i -H 'X-Api-Key: alice' http://{gateway}/

  # use it up: {BURST} requests pass, the rest are 429
  for i in $(seq 12); do curl -s -o /dev/null -w '%{{http_code}} ' -H 'X-Api-Key: alice' http://{gateway}/; done; echo

  # when to come back: Retry-After, and a problem to read
  curl -i -H 'X-Api-Key: alice' http://{gateway}/

  # Bob has a budget of his own
  curl -i -H 'X-Api-Key: bob' http://{gateway}/

  # who decided, and how often
  curl http://{gateway}/counts

  # other rules, in force at once: edit the file before you push it
  export TALLYRING_HTTP_ADDR={http}
  tallyring rules pull > rules.toml
  tallyring rules diff rules.toml
  tallyring rules push rules.toml --comment 'more for everybody'
  tallyring rules history; tallyring rules rollback 1

Ctrl-C stops it.
"
        )
    }
}

#[cfg(test)]
mod tests {
    use tallyring_protocol::PeriodCode;

    use super::*;

    #[test]
    fn the_sample_rules_are_those_of_the_tour_and_leave_nothing_to_warn_of() {
        let parsed = parse(RULES).unwrap();
        assert_eq!(parsed.warnings, []);
        let numbers = *parsed.rules.rules()[0].numbers().unwrap();
        let refill = PeriodCode::Micros(REFILL_S * 1_000_000);
        assert_eq!((numbers.limit, numbers.period, numbers.burst), (1, refill, BURST));
    }

    #[test]
    fn the_tour_names_the_addresses_and_the_limit() {
        let address = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
        let text = Tour { gateway: address(8080), native: address(1), http: address(2) }.to_string();
        for part in
            ["http://127.0.0.1:8080/", "10 requests at once", "1 every 3 s", "%{http_code}", "http://127.0.0.1:2 has"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
