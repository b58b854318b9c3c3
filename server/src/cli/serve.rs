//! `tallyring serve`: flags, environment and TOML become a [`Config`]; the node runs until it is told to stop.
//!
//! A flag wins over the environment, that over the file, that over the default.

use std::io::{self, IsTerminal as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde::Deserialize;
use tokio::signal::unix::{SignalKind, signal};
use tracing::info;
use tracing_subscriber::EnvFilter;

use super::{fail, rules_file};
use crate::config::{ByteSize, Config, NodeNumber, Shards};
use crate::node::Node;
use crate::tokens::{TOKENS_PER_ROLE_MAX, TokenHash, Tokens};

/// What `serve` takes.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// TOML file with any of these settings, by the same names with underscores
    #[arg(long, env = "TALLYRING_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    settings: Settings,
}

/// The settings that the command line, the environment and the file share.
#[derive(Clone, Debug, Default, Args, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    /// Where to speak the native protocol [default: 127.0.0.1:4170]
    #[arg(long, env = "TALLYRING_NATIVE_ADDR", value_name = "IP:PORT")]
    native_addr: Option<SocketAddr>,
    /// Where to answer HTTP: rules, health, metrics [default: 127.0.0.1:4171]
    #[arg(long, env = "TALLYRING_HTTP_ADDR", value_name = "IP:PORT")]
    http_addr: Option<SocketAddr>,
    /// Where to speak RESP, as Redis clients do [default: 127.0.0.1:4172]
    #[arg(long, env = "TALLYRING_RESP_ADDR", value_name = "IP:PORT")]
    resp_addr: Option<SocketAddr>,
    /// Host that clients are told to connect to [default: the native address]
    #[arg(long, env = "TALLYRING_ADVERTISE_HOST", value_name = "HOST")]
    advertise_host: Option<String>,
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
    /// Folder for what survives a restart: the rules and their history [default: nothing does]
    #[arg(long, env = "TALLYRING_DATA", value_name = "DIR")]
    data: Option<PathBuf>,
    /// Rules to publish at the start, unless they are live already: TOML or JSON
    #[arg(long, env = "TALLYRING_RULES", value_name = "FILE")]
    rules: Option<PathBuf>,
    /// TOML file with the SHA-256 of the tokens of each role: client = ["…"], admin = ["…"]
    #[arg(long, env = "TALLYRING_TOKEN_FILE", value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Listen beyond loopback although nothing is encrypted
    #[arg(long, env = "TALLYRING_INSECURE")]
    insecure: bool,
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

/// The token file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenFile {
    #[serde(default)]
    client: Vec<HexHash>,
    #[serde(default)]
    admin: Vec<HexHash>,
}

/// A token's hash as it stands in the file.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
struct HexHash(TokenHash);

impl TryFrom<String> for HexHash {
    type Error = &'static str;

    fn try_from(text: String) -> Result<HexHash, &'static str> {
        TokenHash::from_hex(&text).map(HexHash).ok_or("not the 64 hexadecimal digits of a SHA-256")
    }
}

/// Runs a node until SIGTERM or Ctrl-C.
pub fn run(args: ServeArgs) -> ExitCode {
    let (config, log_format) = match resolve(args) {
        Ok(resolved) => resolved,
        Err(error) => return fail(error),
    };
    start_log(log_format);
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
    let node = Node::start(config).await?;
    let name = tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
    };
    info!(signal = name, "stopping");
    node.drain().await;
    Ok(())
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
            advertise_host: self.advertise_host.or(other.advertise_host),
            shards: self.shards.or(other.shards),
            memory_max: self.memory_max.or(other.memory_max),
            node_id: self.node_id.or(other.node_id),
            zone: self.zone.or(other.zone),
            data: self.data.or(other.data),
            rules: self.rules.or(other.rules),
            token_file: self.token_file.or(other.token_file),
            insecure: self.insecure || other.insecure,
            log_format: self.log_format.or(other.log_format),
        }
    }

    fn into_config(self) -> Result<Config, String> {
        let default = Config::default();
        let config = Config {
            native_addr: self.native_addr.unwrap_or(default.native_addr),
            http_addr: self.http_addr.unwrap_or(default.http_addr),
            resp_addr: self.resp_addr.unwrap_or(default.resp_addr),
            advertise_host: self.advertise_host,
            shards: self.shards.unwrap_or_default(),
            memory_max: self.memory_max.unwrap_or_default(),
            node_id: self.node_id.unwrap_or_default(),
            zone: self.zone.unwrap_or_default(),
            data: self.data,
            rules: self.rules.map(rules_file::read).transpose()?,
            tokens: self.token_file.as_deref().map(read_tokens).transpose()?.unwrap_or_default(),
            insecure: self.insecure,
            ..default
        };
        config.validate().map_err(|error| error.to_string())?;
        Ok(config)
    }
}

fn read_tokens(path: &Path) -> Result<Tokens, String> {
    let file: TokenFile = read_toml(path)?;
    let tokens = Tokens {
        client: file.client.into_iter().map(|hash| hash.0).collect(),
        admin: file.admin.into_iter().map(|hash| hash.0).collect(),
    };
    for (role, hashes) in [("client", &tokens.client), ("admin", &tokens.admin)] {
        if hashes.len() > TOKENS_PER_ROLE_MAX {
            let at = path.display();
            return Err(format!(
                "{at}: {role}: {} tokens, at most {TOKENS_PER_ROLE_MAX} are valid at once",
                hashes.len()
            ));
        }
    }
    if tokens.open() {
        return Err(format!("{}: names no token, so nobody could connect", path.display()));
    }
    Ok(tokens)
}

/// Reads a TOML file; an error says file, line and column.
fn read_toml<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
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

fn start_log(format: LogFormat) {
    let filter = EnvFilter::try_from_env("TALLYRING_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let colours = io::stderr().is_terminal();
    let log = tracing_subscriber::fmt().with_writer(io::stderr).with_ansi(colours).with_env_filter(filter);
    match format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().init(),
    }
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
        check_toml("native_addr = \"nowhere\"", ":1:15: native_addr: invalid socket address syntax");
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
    fn a_token_file_with_three_tokens_of_a_role_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens.toml");
        let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        std::fs::write(&path, format!("client = [\"{hash}\", \"{hash}\", \"{hash}\"]")).unwrap();
        assert!(read_tokens(&path).unwrap_err().ends_with("client: 3 tokens, at most 2 are valid at once"));
        std::fs::write(&path, "").unwrap();
        assert!(read_tokens(&path).unwrap_err().contains("names no token"));
        std::fs::write(&path, "admin = [\"ba\"]").unwrap();
        assert!(read_tokens(&path).unwrap_err().contains("64 hexadecimal digits"));
    }
}
