//! `tallyring demo` as a person runs it: the real binary, plain HTTP.

#![cfg(not(feature = "sim"))]
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test of a process may wait and panic")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

struct Demo {
    child: Child,
    gateway: String,
    nodes: Vec<Node>,
    folder: PathBuf,
    _stdout: BufReader<ChildStdout>,
}

/// A node as the demo tells of it.
struct Node {
    http: String,
    pid: Pid,
}

impl Node {
    /// Of `node 1   http://ADDRESS has …; pid N`.
    fn read(line: &str) -> Option<Node> {
        let pid = line.strip_prefix("node ")?.split_once("pid ")?.1.trim().parse().ok()?;
        Some(Node { http: address(line)?, pid: Pid::from_raw(pid)? })
    }

    /// Whether its process is there; one that has ended and is not yet buried is not.
    fn is_there(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid.as_raw_nonzero()));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    }
}

fn address(line: &str) -> Option<String> {
    line.split("http://").nth(1)?.split([',', ' ']).next().map(str::to_owned)
}

impl Demo {
    /// Starts a demo of three nodes on free ports and reads where everything is off the lines it prints.
    fn start() -> Demo {
        let mut child = demo("127.0.0.1:0").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = || {
            let mut line = String::new();
            stdout.read_line(&mut line).unwrap();
            line
        };
        let gateway = address(&line()).unwrap();
        let nodes: Vec<Node> = (0..3).map(|_| Node::read(&line()).unwrap()).collect();
        let files = line();
        let folder = files.strip_prefix("files    ").unwrap().split(':').next().unwrap().into();
        Demo { child, gateway, nodes, folder, _stdout: stdout }
    }

    fn get(&self, path: &str, key: &str) -> String {
        let mut stream = TcpStream::connect(&self.gateway).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: demo\r\nX-Api-Key: {key}\r\nConnection: close\r\n\r\n").unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    }

    fn terminate(&self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        // In order, so that it removes what it wrote; unless it does not end.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE && self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn demo(listen: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tallyring"));
    command.args(["demo", "--listen", listen]);
    command
}

#[test]
fn ten_requests_pass_and_the_next_is_told_when_to_come_back() {
    let demo = Demo::start();
    for n in 1..=10 {
        let response = demo.get("/", "alice");
        assert!(response.starts_with("HTTP/1.1 200 "), "request {n}: {response}");
        assert!(response.contains("ratelimit-policy: \"demo\";q=10;w=30\r\n"), "{response}");
    }
    let refused = demo.get("/", "alice");
    assert!(refused.starts_with("HTTP/1.1 429 "), "{refused}");
    // A unit is back within three seconds, and up to a fifth more is told so that not everybody comes at once.
    let retry_after = (1..=4).any(|seconds| refused.contains(&format!("retry-after: {seconds}\r\n")));
    assert!(retry_after, "{refused}");
    assert!(refused.contains("quota-exceeded"), "{refused}");
    assert!(demo.get("/", "bob").starts_with("HTTP/1.1 200 "));
    assert!(demo.get("/counts", "bob").contains("denied"));
}

/// A push is in force in every connected gateway within this time.
const IN_FORCE_MAX: Duration = Duration::from_secs(1);

#[test]
fn rules_that_are_pushed_to_any_node_are_in_force_within_a_second() {
    let demo = Demo::start();
    let dir = tempfile::tempdir().unwrap();
    let rules = dir.path().join("rules.toml");
    let run = |node: usize, args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_tallyring"))
            .args(args)
            .current_dir(dir.path())
            .env("TALLYRING_HTTP_ADDR", &demo.nodes[node].http)
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let in_force = |policy: &str| {
        let begun = Instant::now();
        while !demo.get("/", "alice").contains(policy) {
            assert!(begun.elapsed() < IN_FORCE_MAX, "{policy} is not in force after {:?}", begun.elapsed());
        }
    };
    in_force("ratelimit-policy: \"demo\";q=10;w=30\r\n");
    std::fs::write(&rules, run(1, &["rules", "pull"]).replace("burst = 10", "burst = 5")).unwrap();
    assert_eq!(run(2, &["rules", "push", "rules.toml"]), "version 2 is live\n");
    in_force("ratelimit-policy: \"demo\";q=5;w=15\r\n");
    assert_eq!(run(1, &["rules", "rollback", "1"]), "version 3 is live\n");
    in_force("ratelimit-policy: \"demo\";q=10;w=30\r\n");
}

/// How long anything may take before the test gives up.
const PATIENCE: Duration = Duration::from_secs(20);

fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "not so after {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_node_that_is_killed_is_missed_by_no_caller_and_the_demo_says_how_to_start_it_again() {
    let mut demo = Demo::start();
    kill_process(demo.nodes[2].pid, Signal::KILL).unwrap();
    for n in 0..30 {
        let response = demo.get("/", &format!("caller {n}"));
        assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
    }
    let told = BufReader::new(demo.child.stderr.take().unwrap()).lines().map(Result::unwrap);
    // The gateway warns that it decides without the store, before or after.
    let said = told.into_iter().find(|line| line.starts_with("node 3 ")).unwrap();
    assert!(said.starts_with("node 3 has ended (signal: 9 (SIGKILL)); to start it again: tallyring serve "), "{said}");
    let settings = said.rsplit(' ').next().unwrap();
    let mut again = Command::new(env!("CARGO_BIN_EXE_tallyring"));
    let mut again = again.args(["serve", "--config", settings]).stderr(Stdio::null()).spawn().unwrap();
    eventually("node 3 is back", || TcpStream::connect(&demo.nodes[2].http).is_ok());
    again.kill().unwrap();
    again.wait().unwrap();
}

#[test]
fn sigterm_ends_it_well_and_leaves_nothing_behind() {
    let mut demo = Demo::start();
    assert!(demo.folder.is_dir());
    demo.terminate();
    eventually("the demo has ended", || demo.child.try_wait().unwrap().is_some());
    assert_eq!(demo.child.wait().unwrap().code(), Some(0));
    assert!(demo.nodes.iter().all(|node| !node.is_there()));
    assert!(!demo.folder.exists());
}

#[test]
fn nodes_do_not_outlive_a_demo_that_is_killed() {
    let mut demo = Demo::start();
    demo.child.kill().unwrap();
    demo.child.wait().unwrap();
    eventually("the nodes have ended", || demo.nodes.iter().all(|node| !node.is_there()));
    std::fs::remove_dir_all(&demo.folder).unwrap();
}

#[test]
fn as_many_nodes_as_there_may_be_is_said() {
    for nodes in ["0", "10", "many"] {
        let output = demo("127.0.0.1:0").args(["--nodes", nodes]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("--nodes") && said.contains(nodes), "{said}");
    }
}

#[test]
fn a_taken_address_is_said_in_one_line() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = demo(&address).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with(&format!("tallyring: demo: {address}: ")) && said.contains("--listen"), "{said}");
}
