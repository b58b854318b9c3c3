//! A real node in its own process, and a native client that is as plain as can be.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of it")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tallyring_protocol::bounds::REPLY_BYTES_MAX;
use tallyring_protocol::{
    AlgorithmCode, Charge, Define, Hello, Key, PROTOCOL_VERSION, PeriodCode, Reply, Request, RulesVersion, Topology,
    Welcome, frame,
};

/// How long anything may take before the test gives up.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A `tallyring serve` on free ports; killed when dropped.
pub struct Serve {
    pub child: Child,
    pub native: SocketAddr,
    pub http: SocketAddr,
    pub resp: SocketAddr,
    pub peer: SocketAddr,
    log: BufReader<std::process::ChildStderr>,
}

impl Serve {
    pub fn start(args: &[&str]) -> Serve {
        let mut child = command()
            .args(["serve", "--log-format", "json"])
            .args(args)
            // Free ports, unless the arguments say others: a flag wins over the environment.
            .envs(["NATIVE", "HTTP", "RESP", "PEER"].map(|door| (format!("TALLYRING_{door}_ADDR"), "127.0.0.1:0")))
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let serving = loop {
            let mut line = String::new();
            log.read_line(&mut line).unwrap();
            let said: serde_json::Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line}"));
            if said["fields"]["message"] == "serving" {
                break said;
            }
        };
        let address = |field: &str| serving["fields"][field].as_str().unwrap().parse().unwrap();
        let [native, http, resp, peer] = ["native", "http", "resp", "peer"].map(address);
        Serve { child, native, http, resp, peer, log }
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for the process to end by itself.
    pub fn wait(&mut self) -> ExitStatus {
        let give_up = Instant::now() + PATIENCE;
        while Instant::now() < give_up {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("the node did not stop");
    }

    /// The rest of the log; only once the process has ended.
    pub fn log(&mut self) -> String {
        let mut rest = String::new();
        self.log.read_to_string(&mut rest).unwrap();
        rest
    }

    /// Resident memory, in KiB.
    pub fn resident_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Status code and body of an HTTP GET.
    pub fn get(&self, path: &str) -> (u16, String) {
        let response = self.ask("GET", path, &[], "");
        (response.code, response.body)
    }

    /// The response to any HTTP request.
    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
        self.try_ask(method, path, headers, body).unwrap()
    }

    /// The response to any HTTP request, or why there is none: the node may be dead.
    pub fn try_ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> std::io::Result<Response> {
        try_ask(self.http, method, path, headers, body)
    }

    /// Publishes rules over whatever is live.
    pub fn push(&self, rules: &str) -> Response {
        self.ask("PUT", "/v1/rules", &[("If-Match", "*")], rules)
    }
}

/// The response to any HTTP request to `http`, or why there is none.
pub fn try_ask(
    http: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> std::io::Result<Response> {
    let mut stream = TcpStream::connect(http)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
    if !headers.iter().any(|(name, _)| *name == "Host") {
        request += "Host: localhost\r\n";
    }
    headers.iter().for_each(|(name, value)| request += &format!("{name}: {value}\r\n"));
    stream.write_all(format!("{request}\r\n{body}").as_bytes())?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    Response::read(&response).ok_or(std::io::ErrorKind::UnexpectedEof.into())
}

impl Drop for Serve {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An HTTP response.
#[derive(Debug)]
pub struct Response {
    pub code: u16,
    pub head: String,
    pub body: String,
}

impl Response {
    fn read(response: &str) -> Option<Response> {
        let (head, body) = response.split_once("\r\n\r\n")?;
        let code = head.split(' ').nth(1)?.parse().ok()?;
        Some(Response { code, head: head.to_owned(), body: body.to_owned() })
    }

    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// The body as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("not JSON: {}", self.body))
    }

    /// The version that the body says is live.
    pub fn version(&self) -> u64 {
        self.json()["version"].as_u64().unwrap_or_else(|| panic!("no version: {}", self.body))
    }
}

/// Every listener of a node at a free port.
pub const ANY_PORTS: [&str; 8] = [
    "--native-addr",
    "127.0.0.1:0",
    "--http-addr",
    "127.0.0.1:0",
    "--resp-addr",
    "127.0.0.1:0",
    "--peer-addr",
    "127.0.0.1:0",
];

/// The binary, without settings from the environment of whoever runs the tests.
pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tallyring"));
    command.env_remove("TALLYRING_CONFIG").env("TALLYRING_LOG", "info");
    command
}

/// A native connection that blocks.
pub struct Native {
    pub stream: TcpStream,
    inbox: Vec<u8>,
    next_id: u32,
}

/// A reply that owns what it says.
#[derive(Debug, PartialEq)]
pub enum Got {
    Decision { allowed: bool, remaining: u64, retry_after_us: u64, at_us: u64 },
    Grant { granted: u64, remaining: u64 },
    Invalid { field: String, reason: String },
    Goodbye(String),
    Other(String),
    Closed,
}

impl Native {
    /// Connects and says nothing.
    pub fn silent(address: SocketAddr) -> Native {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Native { stream, inbox: Vec::new(), next_id: 1 }
    }

    /// Connects and says hello for a shard.
    pub fn connect(address: SocketAddr, shard: u16, token: &str) -> Native {
        let mut native = Native::silent(address);
        native.hello(PROTOCOL_VERSION, shard, token);
        native
    }

    pub fn hello(&mut self, version: u16, shard: u16, token: &str) {
        let mut bytes = Vec::new();
        let instance = u128::from(self.stream.local_addr().unwrap().port());
        Hello { version, shard, deadline_max_us: 5_000, instance, name: "test", token }.encode(&mut bytes);
        self.stream.write_all(&bytes).unwrap();
    }

    /// The welcome and the topology that follow an accepted hello.
    pub fn welcome(&mut self) -> (Welcome, Topology) {
        let welcome = self.frame(|reply| match reply {
            Reply::Welcome(welcome) => *welcome,
            other => panic!("not a welcome: {other:?}"),
        });
        let topology = self.frame(|reply| match reply {
            Reply::Topology(json) => Topology::from_json(json).unwrap(),
            other => panic!("not a topology: {other:?}"),
        });
        (welcome, topology)
    }

    pub fn send(&mut self, request: &Request<'_>) -> u32 {
        let mut bytes = Vec::new();
        request.encode(self.next_id, &mut bytes);
        self.stream.write_all(&bytes).unwrap();
        self.next_id += 1;
        self.next_id - 1
    }

    /// Defines a token bucket under handle 0.
    pub fn define_bucket(&mut self, limit: u64, period_us: u64, burst: u64) {
        self.define(AlgorithmCode::TokenBucket, limit, PeriodCode::Micros(period_us), burst);
    }

    /// Defines a limit under handle 0.
    pub fn define(&mut self, algorithm: AlgorithmCode, limit: u64, period: PeriodCode, burst: u64) {
        self.send(&Request::Define(Define {
            handle: 0,
            algorithm,
            limit,
            period,
            burst,
            shadow: false,
            sync: false,
            rule_version: 0,
            keys_max: 0,
            rule: "",
        }));
    }

    /// Checks a raw key under handle 0.
    pub fn check(&mut self, key: &str, cost: u64) -> u32 {
        let key = Key::raw(key.as_bytes()).unwrap();
        self.send(&Request::Check(Charge { handle: 0, cost, keep: 0, force: false, key: key.as_ref() }))
    }

    /// The next reply that is no push, and its id.
    pub fn reply(&mut self) -> (u32, Got) {
        loop {
            let Some(len) = self.fill() else { return (0, Got::Closed) };
            let (frame, _) = frame::split(&self.inbox[..len], REPLY_BYTES_MAX).unwrap().unwrap();
            let id = frame.id;
            let got = match Reply::decode(&frame).unwrap() {
                Reply::Topology(_) | Reply::RulesVersion(_) => None,
                Reply::Decision(d) => Some(Got::Decision {
                    allowed: d.allowed,
                    remaining: d.remaining,
                    retry_after_us: d.retry_after_us,
                    at_us: d.at_us,
                }),
                Reply::Grant(g) => Some(Got::Grant { granted: g.granted, remaining: g.remaining }),
                Reply::Invalid { field, reason } => {
                    Some(Got::Invalid { field: field.into_owned(), reason: reason.into_owned() })
                }
                Reply::Goodbye { code, .. } => Some(Got::Goodbye(format!("{code:?}"))),
                other => Some(Got::Other(format!("{other:?}"))),
            };
            self.inbox.drain(..len);
            if let Some(got) = got {
                return (id, got);
            }
        }
    }

    /// The version of the rules that the next push announces.
    pub fn announced(&mut self) -> RulesVersion {
        loop {
            let version = self.frame(|reply| match reply {
                Reply::RulesVersion(version) => Some(*version),
                Reply::Topology(_) => None,
                other => panic!("not a version of rules: {other:?}"),
            });
            if let Some(version) = version {
                return version;
            }
        }
    }

    /// The rules that are live: their version and their JSON.
    pub fn rules(&mut self) -> (RulesVersion, String) {
        self.send(&Request::GetRules);
        loop {
            let rules = self.frame(|reply| match reply {
                Reply::Rules(rules) => Some((rules.version, String::from_utf8(rules.json.to_vec()).unwrap())),
                Reply::Topology(_) | Reply::RulesVersion(_) => None,
                other => panic!("not rules: {other:?}"),
            });
            if let Some(rules) = rules {
                return rules;
            }
        }
    }

    fn frame<T>(&mut self, read: impl FnOnce(&Reply<'_>) -> T) -> T {
        let len = self.fill().expect("the server closed the connection");
        let (frame, _) = frame::split(&self.inbox[..len], REPLY_BYTES_MAX).unwrap().unwrap();
        let value = read(&Reply::decode(&frame).unwrap());
        self.inbox.drain(..len);
        value
    }

    /// Reads until a whole frame is there; its length, or `None` if the server closed.
    fn fill(&mut self) -> Option<usize> {
        loop {
            if let Some((_, len)) = frame::split(&self.inbox, REPLY_BYTES_MAX).unwrap() {
                return Some(len);
            }
            let mut chunk = [0; 4_096];
            match self.stream.read(&mut chunk) {
                Ok(0) => return None,
                Ok(len) => self.inbox.extend_from_slice(&chunk[..len]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("no reply: {error}"),
            }
        }
    }
}

/// A token as the token file has it.
pub fn hash_of(token: &str) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(token).iter().map(|byte| format!("{byte:02x}")).collect()
}
