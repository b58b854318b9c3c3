//! Golden keys: a change here would forget counters. `tests/python/test_rule_keys.py` builds them a second time.

use std::collections::BTreeMap;

use tallyring_protocol::rules::{Document, MatchDoc, RuleDoc, RuleSet, Subject};

const FILE: &str = include_str!("../../testdata/rule_keys.txt");
/// Keys that the file holds at least.
const KEYS_MIN: usize = 20;

/// A section of the file.
#[derive(Default)]
struct Golden {
    name: &'static str,
    rule: String,
    parts: BTreeMap<&'static str, String>,
    names: Vec<&'static str>,
    tag: &'static str,
    rest: &'static str,
}

fn sections() -> Vec<Golden> {
    let mut sections: Vec<Golden> = Vec::new();
    for line in FILE.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        if line.starts_with('[') {
            sections.push(Golden { name: line, ..Golden::default() });
            continue;
        }
        let section = sections.last_mut().expect("a name comes first");
        let words: Vec<&'static str> = line.split(';').next().expect("a first part").split(' ').collect();
        match words[0] {
            "rule" => section.rule = text(words[1]),
            "part" => {
                section.names.push(words[1]);
                section.parts.insert(words[1], text(words[2]));
            }
            "tag" => section.tag = words[1],
            "rest" => section.rest = words[1],
            word => panic!("{word:?} in {line}"),
        }
    }
    sections
}

/// The text that digits spell, two a byte; `61*512` is one byte many times.
fn text(digits: &str) -> String {
    let (digits, times) = digits.split_once('*').unwrap_or((digits, "1"));
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect("digits");
    let bytes: Vec<u8> = (0..digits.len()).step_by(2).map(byte).collect();
    String::from_utf8(bytes).expect("UTF-8").repeat(times.parse().expect("a number of times"))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Golden {
    fn part(&self, name: &str) -> Option<&str> {
        self.parts.get(name).map(String::as_str)
    }

    /// A document of one rule with this key.
    fn rules(&self) -> RuleSet {
        let rule = RuleDoc {
            id: self.rule.clone(),
            key: Some(self.names.iter().map(|name| (*name).to_owned()).collect()),
            matches: MatchDoc { route: self.part("route").map(str::to_owned), ..MatchDoc::default() },
            algorithm: Some("gcra".into()),
            limit: Some(1),
            window: Some("1s".into()),
            ..RuleDoc::default()
        };
        RuleSet::compile(Document { rule: vec![rule], ..Document::default() }).expect(self.name)
    }

    fn named(&self, prefix: &str) -> BTreeMap<String, String> {
        let named = self.parts.iter().filter_map(|(name, value)| Some((name.strip_prefix(prefix)?, value)));
        named.map(|(name, value)| (name.to_owned(), value.clone())).collect()
    }
}

#[test]
fn every_rule_counts_what_it_always_counted() {
    let sections = sections();
    assert!(sections.len() >= KEYS_MIN, "{} keys", sections.len());
    for golden in sections {
        let (rules, headers, attributes) = (golden.rules(), golden.named("header:"), golden.named("attr:"));
        let (method, path) = match golden.part("route") {
            Some(_) => ("POST", "/v1/charges/7"),
            None => (golden.part("method").unwrap_or("GET"), golden.part("path").unwrap_or("/")),
        };
        // A prefix is what its first address counts under.
        let ip = golden.part("ip").map(|ip| ip.split('/').next().expect("an address").parse().expect("an address"));
        let subject = Subject {
            client: golden.part("client"),
            tenant: golden.part("tenant"),
            tier: golden.part("tier"),
            ip,
            headers: &headers,
            attributes: &attributes,
            ..Subject::new(method, path)
        };
        let key = &rules.resolve(&subject).enforced[0].key;
        assert_eq!(hex(key.as_ref().tag()), golden.tag, "{}", golden.name);
        assert_eq!(hex(key.as_ref().rest()), golden.rest, "{}", golden.name);
    }
}
