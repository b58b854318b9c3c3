//! Servers of the run's own: a store, a floor and a `redis-server`, on free ports of loopback, stopped when it is over.

use std::io;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tokio::net::TcpStream;

use super::super::child;
use super::error::BenchError;
use super::target::{Scheme, Target};

/// How long a server may take until it accepts connections.
const READY_MAX: Duration = Duration::from_secs(10);

/// Pause between two attempts to connect to a server that is starting.
const RETRY: Duration = Duration::from_millis(20);

/// The store's listeners: each gets a free port, so that a store which already runs here is not in the way.
const STORE_ADDRS: [&str; 4] = ["NATIVE", "HTTP", "RESP", "PEER"];

/// A process that ends with this value.
#[derive(Debug)]
pub(super) struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It holds nothing that is worth a farewell: memory alone, for this run alone.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A store, and its doors.
#[derive(Debug)]
pub(super) struct Store {
    pub(super) server: Server,
    pub(super) native: Target,
    pub(super) resp: Target,
    pub(super) http: Target,
}

/// A store of one shard, by the very program that runs.
pub(super) async fn store() -> Result<Store, BenchError> {
    let addrs = free_addrs(STORE_ADDRS.len())?;
    let mut command = this_program()?;
    command.args(["serve", "--shards", "1"]).env("TALLYRING_LOG", "warn");
    for (name, addr) in STORE_ADDRS.iter().zip(&addrs) {
        command.env(format!("TALLYRING_{name}_ADDR"), addr.to_string());
    }
    let (server, native) = started(Scheme::Native, "tallyring serve", addrs[0], &mut command).await?;
    let at_door = |scheme: Scheme, addr| Target { label: scheme.name().to_owned(), scheme, addr, pid: native.pid };
    let (http, resp) = (at_door(Scheme::Http, addrs[1]), at_door(Scheme::Resp, addrs[2]));
    Ok(Store { server, native, resp, http })
}

/// The floor, by the very program that runs.
pub(super) async fn floor() -> Result<(Server, Target), BenchError> {
    let addr = free_addrs(1)?[0];
    let mut command = this_program()?;
    command.args(["bench", "--serve-floor", &addr.to_string()]);
    started(Scheme::Floor, "the floor", addr, &mut command).await
}

/// A Redis that keeps nothing on disk; `None` if there is no `redis-server` on the `PATH`.
pub(super) async fn redis() -> Result<Option<(Server, Target)>, BenchError> {
    let addr = free_addrs(1)?[0];
    let mut command = Command::new("redis-server");
    command.args(["--bind", &addr.ip().to_string(), "--port", &addr.port().to_string()]);
    command.args(["--save", "", "--appendonly", "no", "--daemonize", "no", "--loglevel", "warning"]);
    match started(Scheme::Redis, "redis-server", addr, &mut command).await {
        Err(BenchError::Spawn { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

fn this_program() -> Result<Command, BenchError> {
    child::this_program().map_err(|source| BenchError::System { what: "finding this program", source })
}

/// Starts the process and waits until it accepts a connection.
async fn started(
    scheme: Scheme,
    program: &'static str,
    addr: SocketAddr,
    command: &mut Command,
) -> Result<(Server, Target), BenchError> {
    let command = command.stdin(Stdio::null()).stdout(Stdio::null());
    let child = command.spawn().map_err(|source| BenchError::Spawn { program, source })?;
    let target = Target { label: scheme.name().to_owned(), scheme, addr, pid: Some(child.id()) };
    let mut server = Server(child);
    let started = Instant::now();
    while TcpStream::connect(addr).await.is_err() {
        let ended = server.0.try_wait().is_ok_and(|status| status.is_some());
        if ended || started.elapsed() > READY_MAX {
            return Err(BenchError::NotReady { program, addr, waited_ms: started.elapsed().as_millis() });
        }
        tokio::time::sleep(RETRY).await;
    }
    Ok((server, target))
}

/// Addresses of loopback on which nobody listens.
pub(super) fn free_addrs(count: usize) -> Result<Vec<SocketAddr>, BenchError> {
    child::free_addrs(count).map_err(|source| BenchError::System { what: "finding a free port", source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_program_that_ends_at_once_is_not_waited_for() {
        let addr = free_addrs(1).unwrap()[0];
        let began = Instant::now();
        let error = started(Scheme::Redis, "true", addr, &mut Command::new("true")).await.unwrap_err();
        assert!(matches!(error, BenchError::NotReady { program: "true", .. }), "{error}");
        assert!(began.elapsed() < READY_MAX);
    }

    #[tokio::test]
    async fn a_program_that_does_not_exist_is_told_apart() {
        let addr = free_addrs(1).unwrap()[0];
        let error = started(Scheme::Redis, "nowhere", addr, &mut Command::new("/nonexistent/program")).await;
        let Err(BenchError::Spawn { source, .. }) = error else { panic!("it was started") };
        assert_eq!(source.kind(), io::ErrorKind::NotFound);
    }
}
