//! One node of the demo: a process like any other node, with its settings, its log and its data in the demo's folder.

use std::fs::{self, File};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{Instant, sleep};

use super::super::child::this_program;

/// Threads of a node that own keys: more than one, so that it is a node like others, and few, since there are many nodes.
const SHARDS: u16 = 2;

/// How long a node may take until it serves.
const SERVES_WITHIN: Duration = Duration::from_secs(20);

/// How long a node may take to end.
const ENDS_WITHIN: Duration = Duration::from_secs(5);

/// How often it is looked whether a node serves, or has ended.
const LOOK: Duration = Duration::from_millis(10);

/// What a node's log says once it serves.
const SERVES: &str = "serving native=";

/// Where a node listens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addresses {
    pub(super) native: SocketAddr,
    pub(super) http: SocketAddr,
    pub(super) resp: SocketAddr,
    pub(super) peer: SocketAddr,
}

/// A node, killed when dropped.
#[derive(Debug)]
pub(super) struct DemoNode {
    pub(super) id: u16,
    pub(super) pid: u32,
    pub(super) addresses: Addresses,
    /// What `serve --config` takes to start it again.
    pub(super) settings: PathBuf,
    log: PathBuf,
    child: Child,
    has_ended: bool,
}

impl DemoNode {
    /// Starts the node; it may not serve yet. `first` is what the node with number 1 is told besides, or the others of it.
    ///
    /// # Errors
    /// The folder cannot be written to, or the system has no process for it.
    pub(super) fn start(folder: &Path, id: u16, addresses: Addresses, first: &str) -> io::Result<DemoNode> {
        let at = |what: &str| folder.join(format!("node-{id}{what}"));
        let (settings, log) = (at(".toml"), at(".log"));
        fs::write(&settings, text(id, addresses, &at(""), first))?;
        let mut command = this_program()?;
        command.args(["serve", "--ends-with-parent", "--config"]).arg(&settings);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&log)?).spawn()?;
        Ok(DemoNode { id, pid: child.id(), addresses, settings, log, child, has_ended: false })
    }

    /// Waits until it serves.
    ///
    /// # Errors
    /// It has ended, or takes too long; with the last line of its log.
    pub(super) async fn serves(&mut self) -> io::Result<()> {
        let begun = Instant::now();
        loop {
            let log = fs::read_to_string(&self.log)?;
            if log.contains(SERVES) {
                return Ok(());
            }
            if self.child.try_wait()?.is_some() || begun.elapsed() > SERVES_WITHIN {
                let last = log.lines().last().unwrap_or("it says nothing");
                return Err(io::Error::other(format!("node {} does not serve: {last}", self.id)));
            }
            sleep(LOOK).await;
        }
    }

    /// How it has ended, if nobody was told yet.
    pub(super) fn news(&mut self) -> Option<ExitStatus> {
        let status = self.child.try_wait().ok().flatten().filter(|_| !self.has_ended)?;
        self.has_ended = true;
        Some(status)
    }

    /// Asks it to end.
    pub(super) fn terminate(&self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM); // it may have ended
    }

    /// Waits until it has ended; one that does not is killed.
    ///
    /// # Errors
    /// The system does not let us.
    pub(super) async fn ends(&mut self) -> io::Result<()> {
        let begun = Instant::now();
        while self.child.try_wait()?.is_none() {
            if begun.elapsed() > ENDS_WITHIN {
                self.child.kill()?;
                return self.child.wait().map(drop);
            }
            sleep(LOOK).await;
        }
        Ok(())
    }
}

impl Drop for DemoNode {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The settings of a node, as `serve --config` reads them.
fn text(id: u16, addresses: Addresses, data: &Path, more: &str) -> String {
    let Addresses { native, http, resp, peer } = addresses;
    let data = toml::Value::from(data.display().to_string());
    format!(
        "node_id = {id}\nshards = {SHARDS}\nnative_addr = \"{native}\"\nhttp_addr = \"{http}\"\n\
         resp_addr = \"{resp}\"\npeer_addr = \"{peer}\"\ndata = {data}\n{more}"
    )
}
