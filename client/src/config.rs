//! What a store's client is told when it is opened.

use std::time::Duration;

/// The longest deadline, a minute: a limiter that waits longer has become the outage.
pub const DEADLINE_MAX: Duration = Duration::from_secs(60);

/// The most requests that may be under way on one connection.
pub const IN_FLIGHT_MAX: usize = 32_768;

/// How to reach a store, and how long to wait for it.
///
/// ```
/// use tallyring_client::StoreConfig;
/// let config = StoreConfig { seeds: vec!["10.0.0.7:4170".into()], name: "edge-1".into(), ..StoreConfig::default() };
/// assert_eq!(config.deadline.as_micros(), 5_000);
/// ```
#[derive(Clone)]
pub struct StoreConfig {
    /// `host:port` of some nodes' native listeners; the rest of the cluster is learned from whichever answers first. A name
    /// may have several addresses, and others tomorrow: it is resolved whenever no connection is up.
    pub seeds: Vec<String>,
    /// The secret that the store asks for; empty if it asks for none.
    pub token: String,
    /// What this gateway is called in the store's logs; at most 128 bytes are sent.
    pub name: String,
    /// How long a call may take, retries included; at most [`DEADLINE_MAX`].
    pub deadline: Duration,
    /// Requests under way on one connection, `1 ..=` [`IN_FLIGHT_MAX`]; one more is refused at once.
    pub in_flight_max: usize,
    /// Seeds the instance id and every jitter, so that a run can be repeated; `None` = the operating system's entropy.
    pub random_seed: Option<u64>,
    /// How to encrypt; `None` = not at all, which a store that others can reach does not accept.
    #[cfg(feature = "tls")]
    pub tls: Option<crate::tls::Tls>,
}

impl Default for StoreConfig {
    /// The store of a `tallyring serve` on this machine.
    fn default() -> StoreConfig {
        StoreConfig {
            seeds: vec!["127.0.0.1:4170".to_owned()],
            token: String::new(),
            name: String::new(),
            deadline: Duration::from_millis(5),
            in_flight_max: 1_024,
            random_seed: None,
            #[cfg(feature = "tls")]
            tls: None,
        }
    }
}

impl std::fmt::Debug for StoreConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let StoreConfig { seeds, token: _, name, deadline, in_flight_max, random_seed, .. } = self;
        f.debug_struct("StoreConfig")
            .field("seeds", seeds)
            .field("name", name)
            .field("deadline", deadline)
            .field("in_flight_max", in_flight_max)
            .field("random_seed", random_seed)
            .finish_non_exhaustive() // a token must not reach a log
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_not_shown() {
        let config = StoreConfig { token: "s3cret".to_owned(), ..StoreConfig::default() };
        assert!(!format!("{config:?}").contains("s3cret"));
    }
}
