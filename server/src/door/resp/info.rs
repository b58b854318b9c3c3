//! `INFO`: the little that clients look for in it, and where to find the rest.

use std::fmt::Write as _;

/// The Redis whose commands and answers are imitated, for clients that ask before they use something.
const REDIS_VERSION: &str = "7.2.0";

/// What the shard of a connection knows.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// The shard.
    pub shard: u16,
    /// Shards of the node.
    pub shards: u16,
    /// Connections of this shard.
    pub connections: usize,
    /// Keys of this shard.
    pub keys: usize,
    /// Bytes that they take.
    pub bytes: usize,
}

/// The sections that were asked for, or all; of a shard, whose connections and keys are a part of the node's.
pub fn text(facts: &Facts, asked: &[&[u8]]) -> String {
    let Facts { shard, shards, connections, keys, bytes } = *facts;
    let version = env!("CARGO_PKG_VERSION");
    let sections = [
        (
            "Server",
            format!(
                "redis_version:{REDIS_VERSION}\r\nserver_name:tallyring\r\ntallyring_version:{version}\r\nredis_mode:standalone\r\n"
            ),
        ),
        ("Clients", format!("connected_clients:{connections}\r\n")),
        ("Memory", format!("used_memory:{bytes}\r\n")),
        ("Persistence", "loading:0\r\n".to_owned()),
        ("Replication", "role:master\r\nconnected_slaves:0\r\n".to_owned()),
        ("Cluster", "cluster_enabled:0\r\n".to_owned()),
        ("Keyspace", format!("db0:keys={keys},expires={keys},avg_ttl=0\r\n")),
        ("Tallyring", format!("shard:{shard}\r\nshards:{shards}\r\nmetrics:/metrics of the HTTP door\r\n")),
    ];
    let mut text = String::new();
    for (name, lines) in sections.iter().filter(|(name, _)| is_asked(name, asked)) {
        write!(text, "{}# {name}\r\n{lines}", if text.is_empty() { "" } else { "\r\n" }).expect("memory does not fail");
    }
    text
}

fn is_asked(section: &str, asked: &[&[u8]]) -> bool {
    let names = [section, "all", "everything", "default"];
    asked.is_empty() || asked.iter().any(|asked| names.iter().any(|name| asked.eq_ignore_ascii_case(name.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: Facts = Facts { shard: 1, shards: 2, connections: 3, keys: 4, bytes: 5 };

    #[test]
    fn a_section_can_be_asked_for_alone() {
        assert_eq!(text(&FACTS, &[b"KEYSPACE"]), "# Keyspace\r\ndb0:keys=4,expires=4,avg_ttl=0\r\n");
        assert_eq!(text(&FACTS, &[b"nothing"]), "");
    }

    #[test]
    fn everything_has_what_clients_wait_for() {
        let all = text(&FACTS, &[]);
        for line in ["redis_version:7.2.0\r\n", "loading:0\r\n", "role:master\r\n", "cluster_enabled:0\r\n"] {
            assert!(all.contains(line), "{line}");
        }
        assert_eq!(all, text(&FACTS, &[b"all"]));
    }
}
