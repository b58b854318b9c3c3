//! `tallyring serve`: flags, environment and TOML become a [`Config`]; the node runs until it is told to stop.
//!
//! A flag wins over the environment, that over the file, that over the default.

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Deserialize;
use tokio::signal::unix::{SignalKind, signal};
use tracing::info;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use super::{environment, fail, rules_file};
use crate::config::{AtLeastOne, ByteSize, Config, Host, Join, ListenAddr, NodeNumber, Shards};
use crate::entrance::CrowdBounds;
use crate::entrance::tls::TlsFiles;
use crate::node::Node;
use crate::sys::file;
use crate::tokens::{self, Secret};

/// Bytes of a file of settings.
const CONFIG_BYTES_MAX: usize = 1 << 20;

/// Bytes of a file with a token, what stands around it included.
const TOKEN_FILE_BYTES_MAX: usize = 4 * 1_024;

/// The variable that this node's token may stand in.
const PEER_TOKEN: &str = "TALLYRING_PEER_TOKEN";

/// What `serve` takes.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// TOML file with any of these settings, by the same names with underscores
    #[arg(long, env = "TALLYRING_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    settings: Settings,
    /// End when the thread that started this process does: `demo` leaves no node behind
    #[arg(long, hide = true)]
    ends_with_parent: bool,
}

/// The settings that the command line, the environment and the file share.
#[derive(Clone, Debug, Default, Args, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    /// Where to speak the native protocol [default: 127.0.0.1:4170]
    #[arg(long, env = "TALLYRING_NATIVE_ADDR", value_name = "IP:PORT")]
    native_addr: Option<ListenAddr>,
    /// Where to answer HTTP: rules, health, metrics [default: 127.0.0.1:4171]
    #[arg(long, env = "TALLYRING_HTTP_ADDR", value_name = "IP:PORT")]
    http_addr: Option<ListenAddr>,
    /// Where to speak RESP, as Redis clients do [default: 127.0.0.1:4172]
    #[arg(long, env = "TALLYRING_RESP_ADDR", value_name = "IP:PORT")]
    resp_addr: Option<ListenAddr>,
    /// Where other nodes of the cluster call [default: 127.0.0.1:4174]
    #[arg(long, env = "TALLYRING_PEER_ADDR", value_name = "IP:PORT")]
    peer_addr: Option<ListenAddr>,
    /// Nodes of the cluster to come into, by their peer addresses; needs --data [default: found a cluster]
    #[arg(long, env = "TALLYRING_JOIN", value_name = "HOST:PORT[,…]")]
    join: Option<Join>,
    /// File with the token that this node shows to the others; without it, the variable TALLYRING_PEER_TOKEN
    #[arg(long, env = "TALLYRING_PEER_TOKEN_FROM", value_name = "FILE")]
    peer_token_from: Option<PathBuf>,
    /// Host that clients and other nodes are told to connect to [default: each listener's address]
    #[arg(long, env = "TALLYRING_ADVERTISE_HOST", value_name = "HOST")]
    advertise_host: Option<Host>,
    /// Threads that own keys, 1 to 1024 [default: one a core]
    #[arg(long, env = "TALLYRING_SHARDS", value_name = "N")]
    shards: Option<Shards>,
    /// Memory for keys, such as 512MiB or 4GiB; at the cap new keys get `full` [default: 1GiB]
    #[arg(long, env = "TALLYRING_MEMORY_MAX", value_name = "SIZE")]
    memory_max: Option<ByteSize>,
    /// Number of this node in its cluster [default: 1]
    #[arg(long, env = "TALLYRING_NODE_ID", value_name = "N")]
    node_id: Option<NodeNumber>,
    /// Where this node stands, so that replicas can stand elsewhere
    #[arg(long, env = "TALLYRING_ZONE", value_name = "NAME")]
    zone: Option<String>,
    /// Folder for what survives a restart: members, rules, seeds [default: nothing does]
    #[arg(long, env = "TALLYRING_DATA", value_name = "DIR")]
    data: Option<PathBuf>,
    /// Rules to publish at the start, unless they are live already: TOML or JSON
    #[arg(long, env = "TALLYRING_RULES", value_name = "FILE")]
    rules: Option<PathBuf>,
    /// TOML file with the SHA-256 of the tokens of each role: client, peer, admin = ["…"]; read again when it changes
    #[arg(long, env = "TALLYRING_TOKEN_FILE", value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Certificate of the node and those above it, PEM: every door speaks TLS; read again when it changes
    #[arg(long, env = "TALLYRING_TLS_CERT", value_name = "FILE")]
    tls_cert: Option<PathBuf>,
    /// Key of the certificate, PEM
    #[arg(long, env = "TALLYRING_TLS_KEY", value_name = "FILE")]
    tls_key: Option<PathBuf>,
    /// Roots that gateways' certificates have to come from, PEM [default: gateways need none]
    #[arg(long, env = "TALLYRING_TLS_CA", value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// Listen beyond loopback although TLS or tokens are missing
    #[arg(long, env = "TALLYRING_INSECURE")]
    insecure: bool,
    /// Connections of one door [default: 16384]
    #[arg(long, env = "TALLYRING_CONNECTIONS_MAX", value_name = "N")]
    connections_max: Option<AtLeastOne>,
    /// Connections of one address, or of one IPv6 /64, to one door [default: 12288]
    #[arg(long, env = "TALLYRING_CONNECTIONS_PER_ADDRESS_MAX", value_name = "N")]
    connections_per_address_max: Option<AtLeastOne>,
    /// Seconds after which a connection ends that asks for nothing [default: 300]
    #[arg(long, env = "TALLYRING_IDLE_TIMEOUT", value_name = "SECONDS")]
    idle_timeout: Option<AtLeastOne>,
    /// How to write the log to stderr [default: text]
    #[arg(long, env = "TALLYRING_LOG_FORMAT", value_name = "FORMAT")]
    log_format: Option<LogFormat>,
}

/// How the log is written.
#[derive(Clone, Copy, Debug, Default, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For programs: a JSON object a line.
    Json,
}

/// Runs a node until SIGTERM or Ctrl-C.
pub fn run(args: ServeArgs) -> ExitCode {
    if args.ends_with_parent {
        end_with_parent();
    }
    let (config, log_format) = match resolve(args) {
        Ok(resolved) => resolved,
        Err(error) => return fail(error),
    };
    start_log(log_format);
    environment::mistakes().iter().for_each(|mistake| tracing::warn!("{mistake}"));
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(error),
    };
    match runtime.block_on(serve(config)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(error),
    }
}

async fn serve(config: Config) -> Result<(), Box<dyn std::error::Error>> {
    // Listen for signals first: one that comes while the node starts must not kill it half-way.
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let mut hangup = signal(SignalKind::hangup())?;
    raise_descriptors();
    let node = Node::start(config).await?;
    let name = loop {
        tokio::select! {
            _ = terminate.recv() => break "SIGTERM",
            _ = interrupt.recv() => break "SIGINT",
            _ = hangup.recv() => node.reload(),
        }
    };
    info!(signal = name, "stopping");
    node.drain().await;
    Ok(())
}

/// Has the system send SIGTERM once whoever started this process is gone, where it can.
fn end_with_parent() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM));
}

/// Allows as many descriptors as the system does: every connection takes one, and the usual limit is a thousand.
fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::warn!(%error, descriptors = ?limit.current, "cannot allow more connections");
    }
}

fn resolve(args: ServeArgs) -> Result<(Config, LogFormat), String> {
    let file = match &args.config {
        Some(path) => read_toml(path)?,
        None => Settings::default(),
    };
    let settings = args.settings.over(file);
    let log_format = settings.log_format.unwrap_or_default();
    settings.into_config().map(|config| (config, log_format))
}

impl Settings {
    /// These settings, and those of `other` where these say nothing.
    fn over(self, other: Settings) -> Settings {
        Settings {
            native_addr: self.native_addr.or(other.native_addr),
            http_addr: self.http_addr.or(other.http_addr),
            resp_addr: self.resp_addr.or(other.resp_addr),
            peer_addr: self.peer_addr.or(other.peer_addr),
            join: self.join.or(other.join),
            peer_token_from: self.peer_token_from.or(other.peer_token_from),
            advertise_host: self.advertise_host.or(other.advertise_host),
            shards: self.shards.or(other.shards),
            memory_max: self.memory_max.or(other.memory_max),
            node_id: self.node_id.or(other.node_id),
            zone: self.zone.or(other.zone),
            data: self.data.or(other.data),
            rules: self.rules.or(other.rules),
            token_file: self.token_file.or(other.token_file),
            tls_cert: self.tls_cert.or(other.tls_cert),
            tls_key: self.tls_key.or(other.tls_key),
            tls_ca: self.tls_ca.or(other.tls_ca),
            insecure: self.insecure || other.insecure,
            connections_max: self.connections_max.or(other.connections_max),
            connections_per_address_max: self.connections_per_address_max.or(other.connections_per_address_max),
            idle_timeout: self.idle_timeout.or(other.idle_timeout),
            log_format: self.log_format.or(other.log_format),
        }
    }

    fn into_config(self) -> Result<Config, String> {
        let default = Config::default();
        let (tls, crowd) = (self.tls_files()?, self.crowd(default.crowd));
        let peer_token = peer_token(self.peer_token_from.as_deref())?;
        let rules = self.rules.map(rules_file::read).transpose();
        let tokens = self.token_file.as_deref().map(tokens::file::read).transpose();
        let config = Config {
            native_addr: self.native_addr.map_or(default.native_addr, ListenAddr::get),
            http_addr: self.http_addr.map_or(default.http_addr, ListenAddr::get),
            resp_addr: self.resp_addr.map_or(default.resp_addr, ListenAddr::get),
            peer_addr: self.peer_addr.map_or(default.peer_addr, ListenAddr::get),
            join: self.join.unwrap_or_default(),
            peer_token,
            advertise_host: self.advertise_host,
            shards: self.shards.unwrap_or_default(),
            memory_max: self.memory_max.unwrap_or_default(),
            node_id: self.node_id.unwrap_or_default(),
            zone: self.zone.unwrap_or_default(),
            data: self.data,
            rules: rules.map_err(|error| error.of_flag("rules"))?,
            tokens: tokens.map_err(|error| format!("token-file: {error}"))?.unwrap_or_default(),
            token_file: self.token_file,
            tls,
            insecure: self.insecure,
            crowd,
            idle_timeout: self.idle_timeout.map_or(default.idle_timeout, |s| Duration::from_secs(s.get().into())),
            ..default
        };
        config.validate().map_err(|error| error.to_string())?;
        Ok(config)
    }

    fn tls_files(&self) -> Result<Option<TlsFiles>, String> {
        match (self.tls_cert.clone(), self.tls_key.clone(), self.tls_ca.clone()) {
            (Some(cert), Some(key), ca) => Ok(Some(TlsFiles { cert, key, ca })),
            (None, None, None) => Ok(None),
            (Some(_), None, _) => Err("tls-cert: there is no --tls-key with it".to_owned()),
            (None, Some(_), _) => Err("tls-key: there is no --tls-cert with it".to_owned()),
            (None, None, Some(_)) => Err("tls-ca: there are no --tls-cert and --tls-key with it".to_owned()),
        }
    }

    /// The number of one address follows that of all, if only that was said.
    fn crowd(&self, default: CrowdBounds) -> CrowdBounds {
        let count = |number: AtLeastOne| number.get() as usize;
        let total_max = self.connections_max.map_or(default.total_max, count);
        let share_max = default.per_address_max.min((total_max / 4 * 3).max(1));
        CrowdBounds { total_max, per_address_max: self.connections_per_address_max.map_or(share_max, count) }
    }
}

/// What this node shows to others: from a file, else from the environment. Never from the command line, where every process
/// can read it.
fn peer_token(path: Option<&Path>) -> Result<Option<Secret>, String> {
    let (place, bytes) = match path {
        Some(path) => {
            let bytes = file::read(path, TOKEN_FILE_BYTES_MAX);
            let place = format!("peer-token-from: {}", path.display());
            let bytes = bytes.map_err(|error| format!("{place}: {error}"))?;
            (place, bytes)
        }
        None => match std::env::var(PEER_TOKEN) {
            Ok(token) if !token.is_empty() => (PEER_TOKEN.to_owned(), token.into_bytes()),
            _ => return Ok(None),
        },
    };
    Secret::read(&bytes).map(Some).map_err(|error| format!("{place}: {error}"))
}

/// Reads a TOML file; an error says file, line and column.
fn read_toml<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, String> {
    let refused = |reason: String| format!("config: {}: {reason}", path.display());
    let bytes = file::read(path, CONFIG_BYTES_MAX).map_err(|error| refused(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| refused("is not UTF-8".to_owned()))?;
    toml::from_str(&text).map_err(|error| {
        let (line, column) = position(&text, error.span().map_or(0, |span| span.start));
        let message = error.message().lines().collect::<Vec<_>>().join(" ");
        match field_at(&text, line) {
            Some(field) if !message.contains(field) => {
                format!("{}:{line}:{column}: {field}: {message}", path.display())
            }
            _ => format!("{}:{line}:{column}: {message}", path.display()),
        }
    })
}

/// Line and column, from 1, of a byte offset.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
    (line, column)
}

/// The key that a line of TOML gives a value to.
fn field_at(text: &str, line: usize) -> Option<&str> {
    let (key, _) = text.lines().nth(line - 1)?.split_once('=')?;
    Some(key.trim()).filter(|key| !key.is_empty())
}

/// What says what is logged.
const LOG: &str = "TALLYRING_LOG";

/// What is logged: what TALLYRING_LOG says, and what is wrong with that. Openraft warns of every call to a node that is down,
/// a hundred lines a second, which is for whoever names it there; what operators need of it is told by us.
fn log_filter(said: Option<&str>) -> (EnvFilter, Option<String>) {
    let mistake = said.and_then(log_mistake);
    let mut said = said.filter(|_| mistake.is_none()).unwrap_or("info").to_owned();
    if !said.contains("openraft") {
        said.push_str(",openraft=off");
    }
    (EnvFilter::new(said), mistake)
}

/// What is wrong with a filter. A bare word that is no level would be taken for a module, all others be silent, and nobody
/// would know why the log is empty.
fn log_mistake(said: &str) -> Option<String> {
    let is_level = |text: &str| text.parse::<LevelFilter>().is_ok();
    let is_known = |part: &&str| is_level(part.trim()) || part.contains(['=', '[']);
    let unknown = said.split(',').find(|part| !is_known(part));
    let reason = match (unknown, EnvFilter::try_new(said)) {
        (None, Ok(_)) => return None,
        (Some(part), _) => format!("{:?} is no level", part.trim()),
        (None, Err(error)) => error.to_string(),
    };
    let allowed = "off, error, warn, info, debug or trace, and MODULE=LEVEL behind a comma";
    Some(format!("{LOG}: {reason}: allowed are {allowed}; info is logged"))
}

fn start_log(format: LogFormat) {
    let said = std::env::var(LOG).ok().filter(|said| !said.is_empty());
    let (filter, mistake) = log_filter(said.as_deref());
    let colours = io::stderr().is_terminal();
    let log = tracing_subscriber::fmt().with_writer(io::stderr).with_ansi(colours).with_env_filter(filter);
    match format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().init(),
    }
    mistake.iter().for_each(|mistake| tracing::warn!("{mistake}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_toml(text: &str, expect: &str) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.toml");
        std::fs::write(&path, text).unwrap();
        let error = read_toml::<Settings>(&path).unwrap_err();
        let (_, after_path) = error.split_once("t.toml").unwrap();
        assert_eq!(after_path, expect);
    }

    #[test]
    fn a_bad_field_is_named_with_its_place() {
        check_toml("shards = 2\nshards = 0", ":2:1: shards: duplicate key");
        check_toml("zone = \"a\"\nshards = 0", ":2:10: shards: 0 is not in 1 ..= 1024");
        check_toml("shards = -1", ":1:10: shards: -1 is negative");
        check_toml("memory_max = \"5GB\"", ":1:14: memory_max: GB is not one of B, KiB, MiB, GiB, TiB, PiB");
        check_toml(
            "native_addr = \"nowhere\"",
            ":1:15: native_addr: \"nowhere\" is not IP:PORT, such as 127.0.0.1:4170 or [::1]:4170: names are not looked up",
        );
        check_toml("idle_timeout = 0", ":1:16: idle_timeout: 0 is not in 1 ..= 4294967295");
    }

    #[test]
    fn a_filter_that_makes_no_sense_is_told_and_not_obeyed() {
        for good in ["info", "debug,openraft=off", "tallyring::door=trace", " WARN ", "off", "tallyring[span]=debug"] {
            assert_eq!(log_mistake(good), None, "{good}");
        }
        for bad in ["garbage", "info,garbage", "tallyring=loud"] {
            let (filter, mistake) = log_filter(Some(bad));
            let said = mistake.unwrap_or_default();
            assert!(said.starts_with("TALLYRING_LOG: ") && said.ends_with("info is logged"), "{bad}: {said}");
            assert!(filter.to_string().contains("info"), "{bad}: {filter}");
        }
    }

    #[test]
    fn an_unknown_field_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.toml");
        std::fs::write(&path, "shard = 2").unwrap();
        let error = read_toml::<Settings>(&path).unwrap_err();
        assert!(error.contains("unknown field `shard`"), "{error}");
    }

    #[test]
    fn a_flag_wins_over_the_file_and_the_file_over_the_default() {
        let flag = Settings { shards: Some("3".parse().unwrap()), ..Settings::default() };
        let file: Settings = toml::from_str("shards = 2\nnode_id = 9").unwrap();
        let config = flag.over(file).into_config().unwrap();
        assert_eq!((config.shards.get(), config.node_id.id().0), (3, 9));
        assert_eq!(config.http_addr, crate::config::HTTP_ADDR);
    }

    #[test]
    fn a_certificate_comes_with_its_key() {
        let tls = |text: &str| toml::from_str::<Settings>(text).unwrap().tls_files().map(|files| files.is_some());
        assert_eq!(tls(""), Ok(false));
        assert_eq!(tls("tls_cert = \"c\"\ntls_key = \"k\"\ntls_ca = \"a\""), Ok(true));
        assert_eq!(tls("tls_cert = \"c\""), Err("tls-cert: there is no --tls-key with it".into()));
        assert_eq!(tls("tls_key = \"k\""), Err("tls-key: there is no --tls-cert with it".into()));
        assert!(tls("tls_ca = \"a\"").unwrap_err().starts_with("tls-ca: "));
    }

    #[test]
    fn of_few_connections_one_address_may_have_three_quarters() {
        let crowd = |text: &str| toml::from_str::<Settings>(text).unwrap().crowd(Config::default().crowd);
        let bounds = |total_max, per_address_max| CrowdBounds { total_max, per_address_max };
        assert_eq!(crowd(""), bounds(16_384, 12_288));
        assert_eq!(crowd("connections_max = 100"), bounds(100, 75));
        assert_eq!(crowd("connections_max = 1"), bounds(1, 1));
        assert_eq!(crowd("connections_max = 10\nconnections_per_address_max = 10"), bounds(10, 10));
    }
}
