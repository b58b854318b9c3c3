//! Whom a benchmark measures: a scheme that says what is spoken there, and an address.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::str::FromStr;

use tallyring_engine::Algorithm;

use super::dialect::redis;
use super::error::BenchError;

/// What is spoken to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Scheme {
    /// The native protocol, straight from the generator's buffers.
    Native,
    /// The same counter as a script of Redis' or Valkey's, by `EVALSHA`.
    Redis,
    /// The RESP door, by `CL.THROTTLE` or `TR.CHECK`.
    Resp,
    /// The HTTP door, by `POST /v1/limit`.
    Http,
    /// The native protocol through the client crate.
    Client,
    /// A limiter with rules in front of that client, as a gateway has it.
    Limiter,
    /// The native protocol to a server that decides nothing: what sockets and frames alone cost.
    Floor,
}

impl Scheme {
    const ALL: [Scheme; 7] =
        [Scheme::Native, Scheme::Redis, Scheme::Resp, Scheme::Http, Scheme::Client, Scheme::Limiter, Scheme::Floor];

    pub(super) fn name(self) -> &'static str {
        match self {
            Scheme::Native => "native",
            Scheme::Redis => "redis",
            Scheme::Resp => "resp",
            Scheme::Http => "http",
            Scheme::Client => "client",
            Scheme::Limiter => "limiter",
            Scheme::Floor => "floor",
        }
    }

    fn default_port(self) -> u16 {
        match self {
            Scheme::Native | Scheme::Client | Scheme::Limiter | Scheme::Floor => 4170,
            Scheme::Http => 4171,
            Scheme::Redis => 6379,
            Scheme::Resp => 4172,
        }
    }

    /// Whether what answers there is ours, so that a wrong count is our bug and the run fails.
    pub(super) fn must_be_exact(self) -> bool {
        !matches!(self, Scheme::Redis | Scheme::Floor)
    }

    /// Whether it can be asked under this algorithm. The floor decides nothing: it is measured once, under any.
    pub(super) fn speaks(self, algorithm: Algorithm) -> bool {
        self != Scheme::Redis || redis::script(algorithm).is_some()
    }
}

/// A target as it was written: `SCHEME://HOST[:PORT]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TargetUrl {
    pub(super) scheme: Scheme,
    /// Without the brackets of an IPv6 address.
    pub(super) host: String,
    pub(super) port: u16,
}

/// Text that is no target.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TargetError {
    #[error("a target is native://, redis://, resp://, http://, client://, limiter:// or floor://HOST[:PORT]")]
    Scheme,
    #[error("the host is missing")]
    Host,
    #[error("the port is 1 ..= 65535")]
    Port,
}

impl FromStr for TargetUrl {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<TargetUrl, TargetError> {
        let (scheme, rest) = text.split_once("://").ok_or(TargetError::Scheme)?;
        let scheme = Scheme::ALL.into_iter().find(|known| known.name() == scheme).ok_or(TargetError::Scheme)?;
        let (host, port) = split_port(rest.strip_suffix('/').unwrap_or(rest))?;
        if host.is_empty() || host.contains(['/', '@', '?', '#']) {
            return Err(TargetError::Host);
        }
        let port = match port {
            None => scheme.default_port(),
            Some(digits) => digits.parse().ok().filter(|port| *port != 0).ok_or(TargetError::Port)?,
        };
        Ok(TargetUrl { scheme, host: host.to_owned(), port })
    }
}

/// Takes `HOST[:PORT]` apart; an IPv6 address stands in brackets, since it has colons of its own.
fn split_port(authority: &str) -> Result<(&str, Option<&str>), TargetError> {
    if let Some(rest) = authority.strip_prefix('[') {
        let (host, rest) = rest.split_once(']').ok_or(TargetError::Host)?;
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if rest.is_empty() => Ok((host, None)),
            None => Err(TargetError::Port),
        };
    }
    match authority.split_once(':') {
        Some((_, port)) if port.contains(':') => Err(TargetError::Host),
        Some((host, port)) => Ok((host, Some(port))),
        None => Ok((authority, None)),
    }
}

impl fmt::Display for TargetUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (open, close) = if self.host.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "{}://{open}{}{close}:{}", self.scheme.name(), self.host, self.port)
    }
}

/// A target that can be connected to.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// What the table calls it.
    pub(super) label: String,
    pub(super) scheme: Scheme,
    pub(super) addr: SocketAddr,
    /// The server's process, where it can be seen: its processor time is read there.
    pub(super) pid: Option<u32>,
}

impl Target {
    /// Looks the host up, and the process behind its port if that is on this machine.
    ///
    /// Errors: [`BenchError::NotLoopback`] if the address leaves the machine and `remote_allowed` is false.
    pub(super) fn resolve(url: &TargetUrl, remote_allowed: bool) -> Result<Target, BenchError> {
        let unresolved = |source| BenchError::Unresolved { host: url.host.clone(), source };
        let mut addrs = (url.host.as_str(), url.port).to_socket_addrs().map_err(unresolved)?;
        let addr = addrs.next().ok_or_else(|| unresolved(std::io::ErrorKind::NotFound.into()))?;
        let local = addr.ip().is_loopback();
        if !local && !remote_allowed {
            return Err(BenchError::NotLoopback { url: url.to_string() });
        }
        let pid = local.then(|| super::process::listening_at(addr.port())).flatten();
        Ok(Target { label: url.to_string(), scheme: url.scheme, addr, pid })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Result<&str, TargetError>) {
        let parsed = text.parse::<TargetUrl>().map(|url| url.to_string());
        assert_eq!(parsed, expect.map(str::to_owned), "{text}");
    }

    #[test]
    fn a_target_is_a_scheme_a_host_and_a_port() {
        check("native://127.0.0.1:4170", Ok("native://127.0.0.1:4170"));
        check("redis://cache.internal:6380/", Ok("redis://cache.internal:6380"));
        check("client://[::1]:9", Ok("client://[::1]:9"));
    }

    #[test]
    fn the_port_has_a_default() {
        check("native://localhost", Ok("native://localhost:4170"));
        check("redis://localhost", Ok("redis://localhost:6379"));
        check("resp://localhost", Ok("resp://localhost:4172"));
        check("http://localhost", Ok("http://localhost:4171"));
        check("limiter://localhost", Ok("limiter://localhost:4170"));
        check("floor://[::1]", Ok("floor://[::1]:4170"));
    }

    #[test]
    fn what_is_no_target_is_refused_by_its_part() {
        check("127.0.0.1:4170", Err(TargetError::Scheme));
        check("https://localhost", Err(TargetError::Scheme));
        check("redis://", Err(TargetError::Host));
        check("redis://:6379", Err(TargetError::Host));
        check("redis://user@host:1", Err(TargetError::Host));
        check("redis://::1", Err(TargetError::Host));
        check("redis://[::1", Err(TargetError::Host));
        check("redis://[::1]9", Err(TargetError::Port));
        check("redis://localhost:0", Err(TargetError::Port));
        check("redis://localhost:65536", Err(TargetError::Port));
        check("redis://localhost:", Err(TargetError::Port));
    }

    #[test]
    fn redis_has_no_script_for_every_algorithm_and_ours_have_them_all() {
        assert!(Scheme::Redis.speaks(Algorithm::SlidingCounter) && !Scheme::Redis.speaks(Algorithm::SlidingLog));
        assert!(Scheme::Http.speaks(Algorithm::SlidingLog));
    }

    #[test]
    fn an_address_beyond_this_machine_needs_a_yes() {
        let url: TargetUrl = "redis://192.0.2.1".parse().unwrap();
        let refused = Target::resolve(&url, false).unwrap_err().to_string();
        assert!(refused.starts_with("redis://192.0.2.1:6379: not a loopback address"), "{refused}");
        assert_eq!(Target::resolve(&url, true).unwrap().pid, None);
    }
}
