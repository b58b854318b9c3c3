//! Golden placements: where keys live and how they are known there. A change here would move counters, or forget them.

use tallyring_protocol::{AlgorithmCode, IdentityHasher, IdentityKey, Key, NodeId, PlacementSeed, Ring, shard_of};

use crate::section::{Section, hex, sections};

/// Nodes of the rings that the `owner` lines speak of.
const NODES: [u64; 3] = [1, 3, 9];
/// Shards of the nodes that the `shard` lines speak of.
const SHARDS: [u16; 3] = [1, 2, 7];
/// Keys that the file holds at least.
const KEYS_MIN: usize = 40;

/// Everything that hashes a key.
struct Places {
    seed: PlacementSeed,
    identities: IdentityHasher,
    rings: [Ring; 3],
}

impl Places {
    fn new(seeds: &Section) -> Places {
        let sixteen = |word| hex(find(seeds, word).expect(word)).try_into().expect("sixteen bytes");
        let seed = PlacementSeed(sixteen("placement_seed"));
        let rings = NODES.map(|nodes| Ring::new(&seed, (1..=nodes).map(|id| (NodeId(id), 1))));
        Places { seed, identities: IdentityHasher::new(IdentityKey(sixteen("identity_key"))), rings }
    }

    /// The lines that the file must have for this key.
    fn lines(&self, key: &Key) -> [(&'static str, String); 4] {
        let placement = self.seed.place(key.as_ref());
        let identities = AlgorithmCode::ALL.map(|a| format!("{:016x}", self.identities.identity(key.as_ref(), a)));
        let owners = self.rings.each_ref().map(|ring| ring.owner(placement).expect("a ring of nodes").0.to_string());
        let shards = SHARDS.map(|shards| shard_of(placement, shards).to_string());
        [
            ("placement", format!("{:016x}", placement.0)),
            ("identity", identities.join(" ")),
            ("owner", owners.join(" ")),
            ("shard", shards.join(" ")),
        ]
    }
}

/// What follows this word at the beginning of a line.
fn find(section: &Section, word: &str) -> Option<&'static str> {
    section.lines.iter().find_map(|line| line.strip_prefix(word)?.strip_prefix(' '))
}

/// The key of a section, by its tag and rest, and by its raw form if it has one.
fn key(section: &Section) -> Key {
    let raw = find(section, "raw").map(hex);
    let tag = hex(find(section, "tag").expect("tag"));
    let rest = find(section, "rest").map(hex).or(raw.clone()).expect("a rest, or a raw key");
    let key = Key::new(&tag, &rest).expect("a key within its bounds");
    if let Some(raw) = raw {
        assert_eq!(Key::raw(&raw), Ok(key.clone()), "{}", section.name);
    }
    key
}

#[test]
fn every_key_lives_where_it_always_lived() {
    let sections = sections(include_str!("../../testdata/placements.txt"));
    let (seeds, keys) = sections.split_first().expect("the seeds come first");
    assert!(keys.len() >= KEYS_MIN, "{} keys", keys.len());
    let places = Places::new(seeds);
    for section in keys {
        for (word, expect) in places.lines(&key(section)) {
            assert_eq!(find(section, word), Some(&*expect), "{}: {word}", section.name);
        }
    }
}
