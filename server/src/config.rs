//! What a node is told at its start, validated once: a [`Config`] that exists can be run.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;
use tallyring_protocol::bounds::SHARDS_MAX;
use tallyring_protocol::{IdentityKey, NodeId, PlacementSeed};

use crate::entrance::CrowdBounds;
use crate::entrance::tls::TlsFiles;
use crate::rules::text::Text;
use crate::sys::{random, spawn};
use crate::tokens::{Secret, Tokens};

/// Where the native protocol is spoken unless said otherwise.
pub const NATIVE_ADDR: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 4170);

/// Where HTTP is spoken unless said otherwise.
pub const HTTP_ADDR: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 4171);

/// Where RESP is spoken unless said otherwise.
pub const RESP_ADDR: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 4172);

/// Where other nodes call unless said otherwise.
pub const PEER_ADDR: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 4174);

/// Addresses to join at: as many members as a node could remember.
pub const JOIN_MAX: usize = 64;

/// Longest name of a host, in bytes (RFC 1035, section 2.3.4, as text).
const HOST_BYTES_MAX: usize = 253;

/// Longest address to join at, in bytes: the name of a host, a colon and a port.
const JOIN_BYTES_MAX: usize = HOST_BYTES_MAX + 6;

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

/// A number of shards, 1 ..= 1,024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shards(u16);

impl Shards {
    /// The number.
    pub fn get(self) -> u16 {
        self.0
    }
}

impl Default for Shards {
    /// One a core.
    fn default() -> Shards {
        Shards(u16::try_from(spawn::cores()).unwrap_or(SHARDS_MAX).min(SHARDS_MAX))
    }
}

impl TryFrom<u64> for Shards {
    type Error = String;

    fn try_from(number: u64) -> Result<Shards, String> {
        let small = u16::try_from(number).ok().filter(|n| (1..=SHARDS_MAX).contains(n));
        small.map(Shards).ok_or_else(|| format!("{number} is not in 1 ..= {SHARDS_MAX}"))
    }
}

/// How many there may be, or how long something may take in whole units: none, or not at all, would be no setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtLeastOne(u32);

impl AtLeastOne {
    /// The number.
    pub fn get(self) -> u32 {
        self.0
    }
}

impl TryFrom<u64> for AtLeastOne {
    type Error = String;

    fn try_from(number: u64) -> Result<AtLeastOne, String> {
        let small = u32::try_from(number).ok().filter(|n| *n > 0);
        small.map(AtLeastOne).ok_or_else(|| format!("{number} is not in 1 ..= {}", u32::MAX))
    }
}

/// Where to listen: an address and a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenAddr(SocketAddr);

impl ListenAddr {
    /// The address.
    pub fn get(self) -> SocketAddr {
        self.0
    }
}

impl FromStr for ListenAddr {
    type Err = String;

    /// A name is not looked up: it may stand for several addresses, or for another one tomorrow.
    fn from_str(text: &str) -> Result<ListenAddr, String> {
        let wanted = "is not IP:PORT, such as 127.0.0.1:4170 or [::1]:4170";
        text.parse().map(ListenAddr).map_err(|_| format!("{text:?} {wanted}: names are not looked up"))
    }
}

impl<'de> Deserialize<'de> for ListenAddr {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<ListenAddr, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A host that others are told to connect to: a name or an IP address, without scheme, port or blanks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host(String);

impl Host {
    /// The host as it stands before a colon and a port: an IPv6 address is in brackets.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Host {
    type Err = String;

    fn from_str(text: &str) -> Result<Host, String> {
        let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
        if let Ok(ip) = bare.unwrap_or(text).parse::<Ipv6Addr>() {
            return Ok(Host(format!("[{ip}]")));
        }
        let is_host = text.parse::<Ipv4Addr>().is_ok() || is_host_name(text);
        let wanted = "is no host: a name such as store.internal or an IP address is, without scheme, port or blanks";
        is_host.then(|| Host(text.to_owned())).ok_or_else(|| format!("{text:?} {wanted}"))
    }
}

impl<'de> Deserialize<'de> for Host {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Host, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Whether a text can be the name of a host (RFC 1123, section 2.1, and underscores, which some networks have).
fn is_host_name(text: &str) -> bool {
    let is_inside = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(is_inside)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= HOST_BYTES_MAX && text.strip_suffix('.').unwrap_or(text).split('.').all(is_label)
}

/// The number of a node, 1 ..= 2^53 - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeNumber(u64);

impl NodeNumber {
    /// The number as a node id.
    pub fn id(self) -> NodeId {
        NodeId(self.0)
    }
}

impl Default for NodeNumber {
    fn default() -> NodeNumber {
        NodeNumber(1)
    }
}

impl TryFrom<u64> for NodeNumber {
    type Error = String;

    fn try_from(number: u64) -> Result<NodeNumber, String> {
        let exact = (1..1 << 53).contains(&number); // so that every JSON reader can hold it
        if exact { Ok(NodeNumber(number)) } else { Err(format!("{number} is not in 1 ..= 2^53 - 1")) }
    }
}

/// Nodes to join at, each as `host:port`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Join(Vec<String>);

impl Join {
    /// The addresses, in the order in which they are asked.
    pub fn addresses(&self) -> &[String] {
        &self.0
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl TryFrom<Vec<String>> for Join {
    type Error = String;

    fn try_from(addresses: Vec<String>) -> Result<Join, String> {
        if addresses.len() > JOIN_MAX {
            return Err(format!("{} addresses, at most {JOIN_MAX} are asked", addresses.len()));
        }
        match addresses.iter().find(|address| !is_address(address)) {
            Some(address) => Err(format!("{address:?} is not HOST:PORT")),
            None => Ok(Join(addresses)),
        }
    }
}

/// Whether a text is `host:port`; whether there is such a host is for the resolver to say.
fn is_address(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let is_host = !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_graphic());
    is_host && text.len() <= JOIN_BYTES_MAX && port.parse::<u16>().is_ok_and(|port| port > 0)
}

impl FromStr for Join {
    type Err = String;

    fn from_str(text: &str) -> Result<Join, String> {
        Join::try_from(text.split(',').map(|address| address.trim().to_owned()).collect::<Vec<_>>())
    }
}

impl<'de> Deserialize<'de> for Join {
    /// One text with commas, or a list of addresses.
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Join, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Spelling {
            Text(String),
            List(Vec<String>),
        }
        let join = match Spelling::deserialize(from)? {
            Spelling::Text(text) => text.parse(),
            Spelling::List(addresses) => Join::try_from(addresses),
        };
        join.map_err(serde::de::Error::custom)
    }
}

/// A number of bytes, written as `1048576`, `512KiB`, `64MiB` or `2GiB`; at least 1 MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteSize(u64);

impl ByteSize {
    /// The number of bytes.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl Default for ByteSize {
    /// 1 GiB: some twenty million keys.
    fn default() -> ByteSize {
        ByteSize(1 << 30)
    }
}

impl TryFrom<u64> for ByteSize {
    type Error = String;

    fn try_from(bytes: u64) -> Result<ByteSize, String> {
        if (1 << 20..=1 << 50).contains(&bytes) {
            Ok(ByteSize(bytes))
        } else {
            Err(format!("{bytes} bytes is not in 1MiB ..= 1PiB"))
        }
    }
}

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<ByteSize, String> {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let shift = match &text[digits.len()..] {
            "" | "B" => 0,
            "KiB" => 10,
            "MiB" => 20,
            "GiB" => 30,
            "TiB" => 40,
            "PiB" => 50,
            unit => return Err(format!("{unit} is not one of B, KiB, MiB, GiB, TiB, PiB")),
        };
        let number: u64 = digits.parse().map_err(|_| format!("{text} is not a size such as 512MiB"))?;
        let bytes = number.checked_mul(1 << shift).ok_or_else(|| format!("{text} is too large"))?;
        ByteSize::try_from(bytes)
    }
}

/// Reads a number or its text, for command lines and for TOML alike.
macro_rules! read_from_number_or_text {
    ($($name:ident),*) => {$(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<$name, D::Error> {
                from.deserialize_any(NumberOrText($name::try_from, |text| text.parse()))
            }
        }
    )*};
}

read_from_number_or_text!(Shards, NodeNumber, AtLeastOne, ByteSize);

/// Parses the number that a flag or a variable spells.
macro_rules! parse_as_number {
    ($($name:ident),*) => {$(
        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<$name, String> {
                $name::try_from(text.parse::<u64>().map_err(|_| format!("{text} is not a whole number"))?)
            }
        }
    )*};
}

parse_as_number!(Shards, NodeNumber, AtLeastOne);

struct NumberOrText<T>(fn(u64) -> Result<T, String>, fn(&str) -> Result<T, String>);

impl<T> serde::de::Visitor<'_> for NumberOrText<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number")
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<T, E> {
        (self.0)(number).map_err(E::custom)
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<T, E> {
        let positive = u64::try_from(number).map_err(|_| E::custom(format!("{number} is negative")))?;
        self.visit_u64(positive)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        (self.1)(text).map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::TokenHash;

    fn check_size(text: &str, expect: Result<u64, &str>) {
        let parsed = text.parse::<ByteSize>().map(ByteSize::get);
        assert_eq!(parsed.as_ref().map_err(String::as_str), expect.as_ref().map_err(|e| *e), "{text}");
    }

    #[test]
    fn sizes_have_units() {
        check_size("1048576", Ok(1 << 20));
        check_size("64MiB", Ok(64 << 20));
        check_size("2GiB", Ok(2 << 30));
        check_size("2GB", Err("GB is not one of B, KiB, MiB, GiB, TiB, PiB"));
        check_size("MiB", Err("MiB is not a size such as 512MiB"));
        check_size("5", Err("5 bytes is not in 1MiB ..= 1PiB"));
        check_size("99999999TiB", Err("99999999TiB is too large"));
    }

    #[test]
    fn shards_are_one_to_a_thousand_and_twenty_four() {
        assert_eq!("4".parse::<Shards>(), Ok(Shards(4)));
        assert_eq!("0".parse::<Shards>(), Err("0 is not in 1 ..= 1024".into()));
        assert_eq!("x".parse::<Shards>(), Err("x is not a whole number".into()));
        assert!("1025".parse::<Shards>().is_err());
    }

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
    fn an_address_to_listen_at_is_no_name() {
        let check = |text: &str, expect: bool| assert_eq!(text.parse::<ListenAddr>().is_ok(), expect, "{text}");
        ["127.0.0.1:4170", "[::1]:0", "0.0.0.0:80"].iter().for_each(|text| check(text, true));
        ["localhost:4170", "127.0.0.1", ":4170", "::1:4170", "", "127.0.0.1:70000"]
            .iter()
            .for_each(|text| check(text, false));
        let error = "localhost:4170".parse::<ListenAddr>().unwrap_err();
        assert!(error.starts_with("\"localhost:4170\" is not IP:PORT, such as 127.0.0.1:4170"), "{error}");
    }

    #[test]
    fn a_host_to_be_called_by_is_a_host_and_nothing_else() {
        let check = |text: &str, expect: Option<&str>| {
            let host = text.parse::<Host>();
            assert_eq!(host.as_ref().ok().map(Host::as_str), expect, "{text:?}: {host:?}");
        };
        for host in ["store", "store-0.store.svc", "10.0.0.7", "a_b.c", "store."] {
            check(host, Some(host));
        }
        check("::1", Some("[::1]"));
        check("[2001:db8::7]", Some("[2001:db8::7]"));
        for other in ["", "http://store", "store:4170", "a b", " store", "a..b", "-a", "[store]", "1.2.3.4:5", "ä"] {
            check(other, None);
        }
        check(&"a".repeat(64), None);
        check(&"a.".repeat(127), None);
    }

    #[test]
    fn addresses_to_join_at_are_hosts_with_ports() {
        let check = |text: &str, expect: Result<&[&str], &str>| {
            let parsed = text.parse::<Join>();
            let found = parsed.as_ref().map(|join| join.addresses().iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(found.map_err(String::as_str), expect.map(<[&str]>::to_vec), "{text}");
        };
        check("a:4174", Ok(&["a:4174"]));
        check("a:4174, b.c:1,[::1]:9", Ok(&["a:4174", "b.c:1", "[::1]:9"]));
        check("a", Err("\"a\" is not HOST:PORT"));
        check("a:0", Err("\"a:0\" is not HOST:PORT"));
        check(":1", Err("\":1\" is not HOST:PORT"));
        check("a:4174,", Err("\"\" is not HOST:PORT"));
        assert!(vec!["a:1"; JOIN_MAX + 1].join(",").parse::<Join>().is_err());
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
