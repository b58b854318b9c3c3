//! The cluster: three nodes, each a process with a data folder, whose logs are read.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use super::silence::{Phase, Silence};

/// Nodes.
const NODES: u16 = 3;

/// How long a node may take until it serves: it is started on a machine that is busy.
const SERVES_WITHIN: Duration = Duration::from_secs(60);

/// How long a node may take to answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

/// Three nodes.
#[derive(Debug)]
pub(super) struct Cluster {
    program: PathBuf,
    folder: PathBuf,
    nodes: Vec<Node>,
    seen: Arc<Seen>,
}

/// What was seen of the cluster.
#[derive(Debug)]
struct Seen {
    phase: Mutex<Phase>,
    silences: Mutex<Vec<Silence>>,
}

/// A process; killed when dropped.
#[derive(Debug)]
struct Node {
    child: Child,
    doors: Doors,
}

/// Where a node listens.
#[derive(Clone, Copy, Debug)]
struct Doors {
    native: SocketAddr,
    http: SocketAddr,
    resp: SocketAddr,
    peer: SocketAddr,
}

impl Cluster {
    /// Starts the nodes; when this returns, all serve.
    pub(super) fn start(program: &Path) -> io::Result<Cluster> {
        let folder = std::env::temp_dir().join(format!("leader-load-{}", std::process::id()));
        let seen = Seen { phase: Mutex::new(Phase::Start), silences: Mutex::default() };
        let mut cluster = Cluster { program: program.to_owned(), folder, nodes: Vec::new(), seen: Arc::new(seen) };
        for id in 1..=NODES {
            let join = cluster.nodes.first().map(|first| first.doors.peer.to_string());
            let node = cluster.serve(id, None, join.as_deref())?;
            cluster.nodes.push(node);
        }
        Ok(cluster)
    }

    pub(super) fn native_addrs(&self) -> Vec<SocketAddr> {
        self.nodes.iter().map(|node| node.doors.native).collect()
    }

    /// From now on the cluster goes through this.
    pub(super) fn begins(&self, phase: Phase) {
        *self.seen.phase.lock().unwrap_or_else(PoisonError::into_inner) = phase;
    }

    /// Who leads, as one of the nodes says.
    pub(super) fn leader(&self) -> io::Result<u16> {
        let leaders = self.nodes.iter().filter_map(|node| {
            let status: serde_json::Value = serde_json::from_str(&get(node.doors.http, "/v1/cluster").ok()?).ok()?;
            status["leader"].as_u64()?.try_into().ok()
        });
        let leader = leaders.into_iter().next();
        leader.ok_or_else(|| io::Error::other("no node says who leads"))
    }

    /// Kills a node as a crash does.
    pub(super) fn kill(&mut self, id: u16) -> io::Result<()> {
        let node = &mut self.nodes[usize::from(id) - 1];
        node.child.kill()?;
        node.child.wait().map(drop)
    }

    /// Starts a node that was killed, where it was.
    pub(super) fn start_again(&mut self, id: u16) -> io::Result<()> {
        let doors = self.nodes[usize::from(id) - 1].doors;
        self.nodes[usize::from(id) - 1] = self.serve(id, Some(doors), None)?;
        Ok(())
    }

    /// Ends the nodes; what they have said.
    pub(super) fn stop(self) -> Vec<Silence> {
        self.seen.silences.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn serve(&self, id: u16, doors: Option<Doors>, join: Option<&str>) -> io::Result<Node> {
        let mut command = Command::new(&self.program);
        command.env("TALLYRING_LOG", "info,tallyring::cluster::control::vigil=debug");
        command.args(["serve", "--log-format", "json", "--node-id", &id.to_string(), "--data"]);
        command.arg(self.folder.join(id.to_string()));
        let at = |door: fn(&Doors) -> SocketAddr| {
            doors.as_ref().map_or_else(|| "127.0.0.1:0".to_owned(), |doors| door(doors).to_string())
        };
        command.args(["--native-addr", &at(|doors| doors.native), "--http-addr", &at(|doors| doors.http)]);
        command.args(["--resp-addr", &at(|doors| doors.resp), "--peer-addr", &at(|doors| doors.peer)]);
        command.args(join.iter().flat_map(|join| ["--join", join]));
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", self.program.display()));
        let mut child = command.stderr(Stdio::piped()).spawn().map_err(named)?;
        let log = child.stderr.take().expect("it was asked for");
        let (says, said) = mpsc::channel();
        let seen = Arc::clone(&self.seen);
        std::thread::spawn(move || seen.read(log, id, &says));
        let Ok(doors) = said.recv_timeout(SERVES_WITHIN) else {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::other(format!("node {id} does not serve")));
        };
        Ok(Node { child, doors })
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.nodes.clear();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may be dead already
        let _ = self.child.wait();
    }
}

impl Seen {
    /// Reads a node's log until it ends.
    fn read(&self, log: ChildStderr, node: u16, says: &mpsc::Sender<Doors>) {
        for line in BufReader::new(log).lines().map_while(Result::ok) {
            let phase = *self.phase.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(silence) = Silence::read(&line, node, phase) {
                self.silences.lock().unwrap_or_else(PoisonError::into_inner).push(silence);
            } else if let Some(doors) = Doors::read(&line) {
                let _ = says.send(doors); // nobody waits if it took too long
            }
        }
    }
}

impl Doors {
    /// What the line says that tells where a node serves.
    fn read(line: &str) -> Option<Doors> {
        let said: serde_json::Value = serde_json::from_str(line).ok()?;
        let door = |name: &str| said["fields"][name].as_str()?.parse().ok();
        Some(Doors { native: door("native")?, http: door("http")?, resp: door("resp")?, peer: door("peer")? })
    }
}

/// The body of an answer.
fn get(address: SocketAddr, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(ANSWERS_WITHIN))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (_, body) = answer.split_once("\r\n\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
    Ok(body.to_owned())
}
