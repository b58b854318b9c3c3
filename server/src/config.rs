//! What a node is told at its start, validated once: a [`Config`] that exists can be run.

mod host;
mod join;
mod listen;
mod numbers;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use tallyring_protocol::{IdentityKey, PlacementSeed};

pub use self::host::Host;
pub use self::join::{JOIN_MAX, Join};
pub use self::listen::ListenAddr;
pub use self::numbers::{AtLeastOne, ByteSize, NodeNumber, Shards};
use crate::entrance::CrowdBounds;
use crate::entrance::tls::TlsFiles;
use crate::rules::text::Text;
use crate::sys::random;
use crate::tokens::{Secret, Tokens};

/// Where the native protocol is spoken unless said otherwise.
pub const NATIVE_ADDR: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 4170);

/// Where HTTP is spoken unless said otherwise.
pub const HTTP_ADDR: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 4171);

/// Where RESP is spoken unless said otherwise.
pub const RESP_ADDR: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 4172);

/// Where other nodes call unless said otherwise.
pub const PEER_ADDR: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 4174);

/// Memory that a shard needs at least, in bytes: less would be taken by its index before it holds a key.
pub const SHARD_BYTES_MIN: u64 = 4 << 20;

/// Connections of one door of a node, those included that have not said who they are.
pub const CONNECTIONS_MAX: usize = 16 * 1_024;

/// Connections of one address: the others keep a quarter of them all.
pub const CONNECTIONS_PER_ADDRESS_MAX: usize = CONNECTIONS_MAX / 4 * 3;

/// How long a connection may ask for nothing. Gateways ask every second whether the node is there.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(300);

/// Everything a node needs to know.
#[derive(Clone, Debug)]
pub struct Config {
    /// Native listener.
    pub native_addr: SocketAddr,
    /// HTTP listener.
    pub http_addr: SocketAddr,
    /// RESP listener.
    pub resp_addr: SocketAddr,
    /// Where other nodes call.
    pub peer_addr: SocketAddr,
    /// Nodes of the cluster to come into; empty = found one. A node that is in a cluster stays there.
    pub join: Join,
    /// What this node says to be let in by others; `None` = nothing.
    pub peer_token: Option<Secret>,
    /// The host that clients and other nodes are told to connect to; `None` = the listeners' addresses.
    pub advertise_host: Option<Host>,
    /// Threads that own keys.
    pub shards: Shards,
    /// Bytes that keys may take, over all shards.
    pub memory_max: ByteSize,
    /// The node's number in its cluster.
    pub node_id: NodeNumber,
    /// Where the node stands.
    pub zone: String,
    /// The folder for what survives a restart; `None` = nothing does.
    pub data: Option<PathBuf>,
    /// Rules to publish at the start, unless they are live already.
    pub rules: Option<RulesFile>,
    /// Who may do what.
    pub tokens: Tokens,
    /// Where the tokens stand, to be read again when they change.
    pub token_file: Option<PathBuf>,
    /// The certificate of every door; `None` = nothing is encrypted.
    pub tls: Option<TlsFiles>,
    /// Whether to listen beyond loopback although something is missing that protects the node.
    pub insecure: bool,
    /// How many may be connected to one door.
    pub crowd: CrowdBounds,
    /// How long a connection may ask for nothing.
    pub idle_timeout: Duration,
    /// Places keys.
    pub placement_seed: PlacementSeed,
    /// Tells keys apart.
    pub identity_key: IdentityKey,
}

impl Default for Config {
    /// A cluster of one on loopback, in memory, one shard a core, with seeds of its own.
    fn default() -> Config {
        Config {
            native_addr: NATIVE_ADDR,
            http_addr: HTTP_ADDR,
            resp_addr: RESP_ADDR,
            peer_addr: PEER_ADDR,
            join: Join::default(),
            peer_token: None,
            advertise_host: None,
            shards: Shards::default(),
            memory_max: ByteSize::default(),
            node_id: NodeNumber::default(),
            zone: String::new(),
            data: None,
            rules: None,
            tokens: Tokens::default(),
            token_file: None,
            tls: None,
            insecure: false,
            crowd: CrowdBounds { total_max: CONNECTIONS_MAX, per_address_max: CONNECTIONS_PER_ADDRESS_MAX },
            idle_timeout: IDLE_TIMEOUT,
            placement_seed: PlacementSeed(random::seed()),
            identity_key: IdentityKey(random::seed()),
        }
    }
}

impl Config {
    /// Looks at what only makes sense together.
    ///
    /// # Errors
    /// [`ConfigError`] names the field.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let share = self.memory_max.get() / u64::from(self.shards.get());
        if share < SHARD_BYTES_MIN {
            let reason = format!("{share} bytes for each of {} shards, at least 4MiB are needed", self.shards.get());
            return Err(ConfigError { field: "memory-max", reason });
        }
        if self.data.is_none() && !self.join.is_empty() {
            let reason =
                "give --data with it: a node that forgot at a restart what it voted for could break the cluster";
            return Err(ConfigError { field: "join", reason: reason.to_owned() });
        }
        if !self.tokens.peer.is_empty() && self.peer_token.is_none() {
            let reason = "the tokens name some of peers: say which one this node shows to the others";
            return Err(ConfigError { field: "peer-token-from", reason: reason.to_owned() });
        }
        if self.peer_addr.ip().is_unspecified() && self.advertise_host.is_none() {
            let reason = format!(
                "--peer-addr {} is no address for others to call: say under which host they do",
                self.peer_addr
            );
            return Err(ConfigError { field: "advertise-host", reason });
        }
        let listeners = [
            ("native-addr", self.native_addr),
            ("http-addr", self.http_addr),
            ("resp-addr", self.resp_addr),
            ("peer-addr", self.peer_addr),
        ];
        let exposed = listeners.into_iter().find(|(_, address)| !address.ip().is_loopback());
        match (exposed, self.unprotected()) {
            (Some((field, address)), Some(lack)) if !self.insecure => {
                Err(ConfigError { field, reason: format!("{address} can be reached from other machines and {lack}") })
            }
            _ => Ok(()),
        }
    }

    /// What a node that others can reach lacks, and what to do about it.
    fn unprotected(&self) -> Option<&'static str> {
        match (self.tls.is_some(), self.tokens.open()) {
            (true, false) => None,
            (false, true) => Some(
                "nothing is encrypted and everybody may do everything: give --tls-cert, --tls-key and --token-file, \
                 listen on loopback, or say --insecure on a network that you trust",
            ),
            (false, false) => Some(
                "nothing is encrypted, tokens neither: give --tls-cert and --tls-key, \
                 listen on loopback, or say --insecure on a network that you trust",
            ),
            (true, true) => Some(
                "everybody may do everything: give --token-file, \
                 listen on loopback, or say --insecure on a network that you trust",
            ),
        }
    }
}

/// A file of rules, read.
#[derive(Clone, Debug)]
pub struct RulesFile {
    /// Where it was read from, for messages.
    pub path: PathBuf,
    /// What stands in it.
    pub text: Text,
}

/// A field that a node cannot start with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct ConfigError {
    /// The flag, without its dashes.
    pub field: &'static str,
    /// What is wrong with it and what is allowed.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::TokenHash;

    #[test]
    fn a_shard_without_memory_is_refused() {
        let poor = |size: &str, shards: &str| {
            let (memory_max, shards) = (size.parse().unwrap(), shards.parse().unwrap());
            Config { memory_max, shards, ..Config::default() }.validate()
        };
        assert_eq!(poor("4MiB", "1"), Ok(()));
        assert_eq!(poor("4MiB", "2").unwrap_err().field, "memory-max");
    }

    #[test]
    fn a_node_that_remembers_nothing_joins_nobody() {
        let joining = Config { join: "a:4174".parse().unwrap(), ..Config::default() };
        assert_eq!(joining.validate().unwrap_err().field, "join");
        assert_eq!(Config { data: Some("d".into()), ..joining }.validate(), Ok(()));
    }

    #[test]
    fn who_asks_peers_for_a_token_shows_one() {
        let tokens = || Tokens { peer: vec![TokenHash::of("p")], ..Tokens::default() };
        let mute = Config { tokens: tokens(), ..Config::default() };
        assert_eq!(mute.validate().unwrap_err().field, "peer-token-from");
        assert_eq!(Config { peer_token: Some(Secret::from("p")), ..mute }.validate(), Ok(()));
    }

    #[test]
    fn a_node_does_not_listen_to_the_world_by_accident() {
        let exposed = || Config { native_addr: "0.0.0.0:4170".parse().unwrap(), ..Config::default() };
        let tls = || Some(TlsFiles { cert: "c".into(), key: "k".into(), ca: None });
        let tokens = || Tokens { client: vec![TokenHash::of("t")], ..Tokens::default() };
        let lack = |config: Config| config.validate().map_err(|error| error.to_string());
        let (bare, with_tokens) = (lack(exposed()), lack(Config { tokens: tokens(), ..exposed() }));
        assert!(
            bare.unwrap_err().starts_with("native-addr: 0.0.0.0:4170 can be reached from other machines and nothing")
        );
        assert!(with_tokens.unwrap_err().contains("tokens neither: give --tls-cert and --tls-key,"));
        let with_tls = lack(Config { tls: tls(), ..exposed() });
        assert!(with_tls.unwrap_err().contains("everybody may do everything: give --token-file,"));
        assert_eq!(lack(Config { tls: tls(), tokens: tokens(), ..exposed() }), Ok(()));
        assert_eq!(lack(Config { insecure: true, ..exposed() }), Ok(()));
        let peer = |at: &str| Config { peer_addr: at.parse().unwrap(), ..Config::default() };
        let exposed = lack(peer("10.0.0.1:4174")).unwrap_err();
        assert!(exposed.starts_with("peer-addr: 10.0.0.1:4174 can be reached from other machines"), "{exposed}");
        let nowhere = lack(peer("0.0.0.0:4174")).unwrap_err();
        assert!(nowhere.starts_with("advertise-host: --peer-addr 0.0.0.0:4174 is no address for others"), "{nowhere}");
        assert_eq!(lack(Config::default()), Ok(()));
    }
}
