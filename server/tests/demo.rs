//! `tallyring demo` as a person runs it: the real binary, plain HTTP.

#![cfg(not(feature = "sim"))]
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test of a process may wait and panic")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

struct Demo {
    child: Child,
    gateway: String,
    http: String,
    _stdout: BufReader<ChildStdout>,
}

impl Demo {
    /// Starts a demo on a free port and reads the addresses off the first lines it prints.
    fn start() -> Demo {
        let mut child = demo("127.0.0.1:0").stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut address = || {
            let mut line = String::new();
            stdout.read_line(&mut line).unwrap();
            line.split("http://").nth(1).unwrap().split([',', ' ']).next().unwrap().to_owned()
        };
        let (gateway, http) = (address(), address());
        Demo { child, gateway, http, _stdout: stdout }
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
fn rules_that_are_pushed_are_in_force_within_a_second() {
    let demo = Demo::start();
    let dir = tempfile::tempdir().unwrap();
    let rules = dir.path().join("rules.toml");
    let run = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_tallyring"))
            .args(args)
            .current_dir(dir.path())
            .env("TALLYRING_HTTP_ADDR", &demo.http)
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
    std::fs::write(&rules, run(&["rules", "pull"]).replace("burst = 10", "burst = 5")).unwrap();
    assert_eq!(run(&["rules", "push", "rules.toml"]), "version 2 is live\n");
    in_force("ratelimit-policy: \"demo\";q=5;w=15\r\n");
    assert_eq!(run(&["rules", "rollback", "1"]), "version 3 is live\n");
    in_force("ratelimit-policy: \"demo\";q=10;w=30\r\n");
}

#[test]
fn sigterm_ends_it_well() {
    let mut demo = Demo::start();
    demo.terminate();
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(10) {
        if let Some(status) = demo.child.try_wait().unwrap() {
            assert_eq!(status.code(), Some(0));
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the demo does not end");
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
