//! The store and the gateway, each in a process of its own.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};

/// Lines that a node may say before it says that it serves.
const LINES_MAX: usize = 100;

/// A node; killed when dropped.
#[derive(Debug)]
pub(super) struct Node {
    child: Child,
    /// Kept open: a program that nobody listens to may not mind, or end.
    _log: BufReader<ChildStderr>,
    /// Where gateways find it.
    pub(super) address: SocketAddr,
}

impl Node {
    /// Starts a node at `address`, or anywhere, and waits until it serves.
    pub(super) fn start(program: &Path, address: Option<SocketAddr>) -> io::Result<Node> {
        let native = address.map_or("127.0.0.1:0".to_owned(), |address| address.to_string());
        let others = [
            "--http-addr",
            "127.0.0.1:0",
            "--resp-addr",
            "127.0.0.1:0",
            "--peer-addr",
            "127.0.0.1:0",
            "--log-format",
            "json",
        ];
        let mut command = Command::new(program);
        command.args(["serve", "--native-addr", &native]).args(others).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| named(program, &error))?;
        let mut log = BufReader::new(child.stderr.take().expect("it was asked for"));
        for _ in 0..LINES_MAX {
            let said: serde_json::Value = serde_json::from_str(&line(&mut log)?).map_err(io::Error::other)?;
            if let Some(address) = said["fields"]["native"].as_str().and_then(|address| address.parse().ok()) {
                return Ok(Node { child, _log: log, address });
            }
        }
        child.kill()?;
        Err(io::Error::other("the node does not say where it serves"))
    }

    /// Kills it as a crash does.
    pub(super) fn kill(&mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(drop)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.kill(); // it may be dead already
    }
}

/// The gateway; killed when dropped.
#[derive(Debug)]
pub(super) struct Gateway {
    child: Child,
    _said: BufReader<ChildStdout>,
    rules: PathBuf,
    /// Where its callers find it.
    pub(super) address: SocketAddr,
}

impl Gateway {
    /// Starts a gateway with these rules, whose store is at `store`.
    pub(super) fn start(program: &Path, store: SocketAddr, rules: &str) -> io::Result<Gateway> {
        let file = std::env::temp_dir().join(format!("outage-rules-{}.json", std::process::id()));
        File::create(&file)?.write_all(rules.as_bytes())?;
        let mut command = Command::new(program);
        command.args(["--listen", "127.0.0.1:0", "--store", &store.to_string(), "--rules"]).arg(&file);
        let mut child = command.stdout(Stdio::piped()).spawn().map_err(|error| named(program, &error))?;
        let mut said = BufReader::new(child.stdout.take().expect("it was asked for"));
        let serving = line(&mut said)?; // "serving on ADDRESS, counting in STORE"
        let address = serving.split([' ', ',']).find_map(|word| word.parse().ok());
        let address = address.ok_or_else(|| io::Error::other("the gateway does not say where it serves"));
        let address = address.inspect_err(|_| drop(child.kill()))?;
        Ok(Gateway { child, _said: said, rules: file, address })
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.rules);
    }
}

fn line(said: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    match said.read_line(&mut line)? {
        0 => Err(io::Error::other("a program ended before it served")),
        _ => Ok(line),
    }
}

fn named(program: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", program.display()))
}
