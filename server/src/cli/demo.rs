//! `tallyring demo`: a whole system in one command, to try with curl: a cluster of nodes, each a process that can be killed,
//! a gateway with the client crate's layer in front of them, and a toy backend behind it.

mod gateway;
mod node;
mod nodes;
mod tour;

use std::error::Error;
use std::io::{IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use self::nodes::Nodes;
use self::tour::Tour;
use super::fail;
use crate::sys::net::Bound;

/// The rules that the demo begins with.
const RULES: &str = include_str!("demo/rules.toml");

/// Nodes of a demo at most: five vote and the others follow, so that there is one to see.
const NODES_MAX: u16 = 9;

/// How long the gateway may take to find its own store.
const READY_MAX: Duration = Duration::from_secs(5);

/// What `demo` takes.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Nodes of the cluster, 1 to 9
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=i64::from(NODES_MAX)))]
    nodes: u16,
    /// Where the demo gateway serves HTTP
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
}

/// Runs the demo until SIGTERM or Ctrl-C.
pub fn run(args: &DemoArgs) -> ExitCode {
    let filter = EnvFilter::try_from_env("TALLYRING_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    let colours = std::io::stderr().is_terminal();
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(colours).with_env_filter(filter).init();
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(error),
    };
    match runtime.block_on(demo(args)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(format_args!("demo: {error}")),
    }
}

async fn demo(DemoArgs { nodes, listen }: &DemoArgs) -> Result<(), Box<dyn Error>> {
    // Listen for signals first: one that comes while the nodes start must not kill the demo half-way.
    let signals = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let gateway = Bound::listen(*listen).await.map_err(|error| {
        format!("{listen}: {error}: stop what listens there, or give another address with --listen")
    })?;
    let mut nodes = Nodes::start(*nodes, RULES).await?;
    let limiter = gateway::limiter(nodes.native_addrs());
    if !limiter.store().ready(READY_MAX).await {
        return Err("the gateway does not reach its store".into());
    }
    let tour = Tour { gateway: gateway.local_addr()?, nodes: nodes.all(), folder: nodes.folder() };
    // Whoever has closed our output does not want the tour; the demo goes on.
    let _ = std::io::stdout().write_all(tour.to_string().as_bytes());
    tokio::select! {
        biased;
        served = gateway::serve(gateway, limiter, signals) => served?,
        () = nodes.watch() => {}
    }
    nodes.stop().await?;
    Ok(())
}
