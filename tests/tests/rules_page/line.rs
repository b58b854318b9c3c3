//! A line of a `decisions` block.

use std::collections::BTreeMap;

/// A call and what the page says about it.
pub(crate) struct Line {
    pub(crate) t_us: u64,
    /// The method, or `settle`.
    pub(crate) method: String,
    /// The path, or what is settled.
    pub(crate) path: String,
    fields: BTreeMap<String, String>,
    /// How often it is made.
    pub(crate) times: u64,
    pub(crate) expect: String,
    headers: BTreeMap<String, String>,
    attributes: BTreeMap<String, String>,
}

impl Line {
    pub(crate) fn read(text: &str) -> Line {
        let (call, expect) = text.split_once(" : ").unwrap_or_else(|| panic!("no outcome: {text}"));
        let mut words = call.split_whitespace();
        let mut next = || words.next().unwrap_or_else(|| panic!("too few words: {text}")).to_owned();
        let (time, method, path) = (next(), next(), next());
        let mut line = Line {
            t_us: micros(&time),
            method,
            path,
            fields: BTreeMap::new(),
            times: 1,
            expect: expect.trim().to_owned(),
            headers: BTreeMap::new(),
            attributes: BTreeMap::new(),
        };
        words.for_each(|word| line.add(word));
        line
    }

    fn add(&mut self, word: &str) {
        let Some((name, value)) = word.split_once('=') else {
            self.times =
                word.strip_prefix('x').and_then(|times| times.parse().ok()).unwrap_or_else(|| panic!("{word}"));
            return;
        };
        match name.split_once(':') {
            Some(("header", name)) => self.headers.insert(name.to_owned(), value.to_owned()),
            Some(("attr", name)) => self.attributes.insert(name.to_owned(), value.to_owned()),
            _ => self.fields.insert(name.to_owned(), value.to_owned()),
        };
    }

    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(String::as_str)
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.field(name).map(|value| value.parse().expect("a number"))
    }

    pub(crate) fn subject(&self) -> tallyring_protocol::rules::Subject<'_> {
        tallyring_protocol::rules::Subject {
            client: self.field("client"),
            tenant: self.field("tenant"),
            tier: self.field("tier"),
            ip: self.field("ip").map(|ip| ip.parse().expect("an address")),
            method: &self.method,
            path: &self.path,
            headers: &self.headers,
            attributes: &self.attributes,
        }
    }
}

/// Seconds from the beginning of a day, as `59s`.
fn micros(text: &str) -> u64 {
    /// A Wednesday at midnight.
    const START_US: u64 = 1_700_006_400_000_000;
    let seconds: u64 = text.strip_suffix('s').and_then(|digits| digits.parse().ok()).expect("seconds, as 59s");
    START_US + seconds * 1_000_000
}
