//! A rules document as people write it: the shape, and nothing that the shape does not say.

use std::collections::BTreeMap;

use serde::de::{Deserialize, Deserializer, Error as _};

use super::error::Faults;
use super::fields::Fields;
use super::value::Value;
use crate::bounds::RULES_MAX;

/// A rules document. [`RuleSet::compile`](super::RuleSet::compile) says whether it makes sense.
///
/// The same shape in TOML and in JSON; a field that is not known is an error, wherever it stands.
///
/// ```
/// use tallyring_protocol::rules::{Document, RuleDoc};
/// let document = Document {
///     rule: vec![RuleDoc {
///         id: "per-ip".into(),
///         key: Some(vec!["ip".into()]),
///         algorithm: Some("token_bucket".into()),
///         limit: Some(300),
///         window: Some("60s".into()),
///         ..RuleDoc::default()
///     }],
///     ..Document::default()
/// };
/// let json = serde_json::to_string(&document).unwrap();
/// assert_eq!(json, r#"{"rule":[{"id":"per-ip","key":["ip"],"algorithm":"token_bucket","limit":300,"window":"60s"}]}"#);
/// assert_eq!(serde_json::from_str::<Document>(&json).unwrap(), document);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Document {
    /// What holds for all rules.
    #[serde(skip_serializing_if = "is_default")]
    pub defaults: DefaultsDoc,
    /// The rules, in the order that ties in answers are broken by.
    #[serde(skip_serializing_if = "is_default")]
    pub rule: Vec<RuleDoc>,
}

/// What holds for all rules; everything may be left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct DefaultsDoc {
    /// Families of headers to send: `ratelimit`, `x-ratelimit`, `structured`.
    #[serde(skip_serializing_if = "is_default")]
    pub headers: Option<Vec<String>>,
    /// A fraction: `Retry-After` is the wait and up to this part of it more.
    #[serde(skip_serializing_if = "is_default")]
    pub retry_jitter: Option<String>,
    /// `false`: every rule decides and counts, none rejects.
    #[serde(skip_serializing_if = "is_default")]
    pub enforce: Option<bool>,
    /// Ranges of proxies whose `X-Forwarded-For` is believed.
    #[serde(skip_serializing_if = "is_default")]
    pub trusted_proxies: Vec<String>,
    /// Bits of an IPv6 address that are one client.
    #[serde(skip_serializing_if = "is_default")]
    pub ipv6_prefix: Option<u64>,
    /// Gateways that a limit is divided by while the store has never been reached.
    #[serde(skip_serializing_if = "is_default")]
    pub fallback_gateways: Option<u64>,
}

/// One rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct RuleDoc {
    /// Its name, unique, part of its keys.
    pub id: String,
    /// The group in which it competes; none is `default`.
    #[serde(skip_serializing_if = "is_default")]
    pub group: Option<String>,
    /// Which requests it is for; none is for all.
    #[serde(rename = "match", skip_serializing_if = "is_default")]
    pub matches: MatchDoc,
    /// What is counted apart; an empty list is one counter for all, and so is none, with a warning.
    #[serde(skip_serializing_if = "is_default")]
    pub key: Option<Vec<String>>,
    /// What stands in for a part of the key that a request lacks: `ip`.
    #[serde(skip_serializing_if = "is_default")]
    pub missing: Option<String>,
    /// Which of two rules that tie is the more specific one: the higher.
    #[serde(skip_serializing_if = "is_default")]
    pub rank: Option<i32>,
    /// `limit`, `allow` or `block`; none is `limit`.
    #[serde(skip_serializing_if = "is_default")]
    pub action: Option<String>,
    /// How units are counted.
    #[serde(skip_serializing_if = "is_default")]
    pub algorithm: Option<String>,
    /// Units a window.
    #[serde(skip_serializing_if = "is_default")]
    pub limit: Option<u64>,
    /// The window: `60s`, `1h`.
    #[serde(skip_serializing_if = "is_default")]
    pub window: Option<String>,
    /// The window of the calendar: `day`, `week`, `month`.
    #[serde(skip_serializing_if = "is_default")]
    pub calendar: Option<String>,
    /// The size of a bucket.
    #[serde(skip_serializing_if = "is_default")]
    pub burst: Option<u64>,
    /// What happens while the store is gone: `protect`, `deny`, `hard`; or `shadow`.
    #[serde(skip_serializing_if = "is_default")]
    pub mode: Option<String>,
    /// `async` or `sync`.
    #[serde(skip_serializing_if = "is_default")]
    pub durability: Option<String>,
    /// A fraction of the budget from which on a decision is `soft`.
    #[serde(skip_serializing_if = "is_default")]
    pub soft: Option<String>,
    /// By name: `always`, or the fraction that is kept for the others.
    #[serde(skip_serializing_if = "is_default")]
    pub priorities: BTreeMap<String, String>,
    /// Keys that it may hold in one node.
    #[serde(skip_serializing_if = "is_default")]
    pub keys_max: Option<u64>,
    /// Gateways that its limit is divided by while the store has never been reached.
    #[serde(skip_serializing_if = "is_default")]
    pub fallback_gateways: Option<u64>,
    /// Units that a gateway may take ahead at once.
    #[serde(skip_serializing_if = "is_default")]
    pub grant: Option<u64>,
    /// Whether a gateway rejects by itself what alone is over the limit.
    #[serde(skip_serializing_if = "is_default")]
    pub prefilter: Option<bool>,
}

/// Which requests a rule is for: those of which all of this is true.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct MatchDoc {
    /// The client's name.
    #[serde(skip_serializing_if = "is_default")]
    pub client: Option<String>,
    /// The tenant's name.
    #[serde(skip_serializing_if = "is_default")]
    pub tenant: Option<String>,
    /// The tier's name.
    #[serde(skip_serializing_if = "is_default")]
    pub tier: Option<String>,
    /// A pattern of method and path.
    #[serde(skip_serializing_if = "is_default")]
    pub route: Option<String>,
    /// A range of addresses.
    #[serde(skip_serializing_if = "is_default")]
    pub ip: Option<String>,
    /// Values of headers, by name.
    #[serde(skip_serializing_if = "is_default")]
    pub header: BTreeMap<String, String>,
    /// Values of attributes, by name.
    #[serde(skip_serializing_if = "is_default")]
    pub attr: BTreeMap<String, String>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Document {
    /// The document as JSON, the shortest that says the same.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("texts, numbers and maps of texts are JSON")
    }

    /// Reads a tree as a document; what it does not understand is noted and left out.
    pub(crate) fn read(value: Value, faults: &mut Faults) -> Document {
        let mut fields = Fields::new("", value, faults);
        let defaults = fields.table("defaults").map(DefaultsDoc::read).unwrap_or_default();
        let rules = fields.list("rule").unwrap_or_default();
        fields.end();
        if rules.len() > RULES_MAX {
            faults.add("rule", format!("{} rules are too many: a document has at most {RULES_MAX}", rules.len()));
        }
        let rules = rules.into_iter().take(RULES_MAX).enumerate();
        let rule = rules.map(|(at, rule)| RuleDoc::read(Fields::new(format!("rule[{at}]"), rule, faults))).collect();
        Document { defaults, rule }
    }
}

impl DefaultsDoc {
    fn read(mut fields: Fields<'_>) -> DefaultsDoc {
        let defaults = DefaultsDoc {
            headers: fields.texts("headers"),
            retry_jitter: fields.decimal("retry_jitter"),
            enforce: fields.flag("enforce"),
            trusted_proxies: fields.texts("trusted_proxies").unwrap_or_default(),
            ipv6_prefix: fields.whole("ipv6_prefix"),
            fallback_gateways: fields.whole("fallback_gateways"),
        };
        fields.end();
        defaults
    }
}

impl RuleDoc {
    fn read(mut fields: Fields<'_>) -> RuleDoc {
        let rule = RuleDoc {
            id: fields.text("id").unwrap_or_default(),
            group: fields.text("group"),
            matches: fields.table("match").map(MatchDoc::read).unwrap_or_default(),
            key: fields.texts("key"),
            missing: fields.text("missing"),
            rank: fields.rank("rank"),
            action: fields.text("action"),
            algorithm: fields.text("algorithm"),
            limit: fields.whole("limit"),
            window: fields.text("window"),
            calendar: fields.text("calendar"),
            burst: fields.whole("burst"),
            mode: fields.text("mode"),
            durability: fields.text("durability"),
            soft: fields.decimal("soft"),
            priorities: fields.decimals_by_name("priorities"),
            keys_max: fields.whole("keys_max"),
            fallback_gateways: fields.whole("fallback_gateways"),
            grant: fields.whole("grant"),
            prefilter: fields.flag("prefilter"),
        };
        fields.end();
        rule
    }
}

impl MatchDoc {
    fn read(mut fields: Fields<'_>) -> MatchDoc {
        let matches = MatchDoc {
            client: fields.text("client"),
            tenant: fields.text("tenant"),
            tier: fields.text("tier"),
            route: fields.text("route"),
            ip: fields.text("ip"),
            header: fields.texts_by_name("header"),
            attr: fields.texts_by_name("attr"),
        };
        fields.end();
        matches
    }
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Document, D::Error> {
        let mut faults = Faults::default();
        let document = Document::read(Value::deserialize(deserializer)?, &mut faults);
        faults.into_result().map_err(|faults| D::Error::custom(&faults[0]))?;
        Ok(document)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, expect: &str) {
        let error = serde_json::from_str::<Document>(json).map(|document| document.to_json()).unwrap_err();
        assert!(error.to_string().starts_with(expect), "{json}: {error}");
    }

    /// The kind of rules-typo-01.
    #[test]
    fn a_field_that_nobody_knows_is_an_error_wherever_it_stands() {
        check(r#"{"rules":[]}"#, "rules: unknown field; known are defaults, rule");
        check(
            r#"{"rule":[{"id":"a","unlimied":true}]}"#,
            "rule[0].unlimied: unknown field; known are id, group, match",
        );
        check(r#"{"rule":[{"match":{"teir":"free"}}]}"#, "rule[0].match.teir: unknown field; known are client, tenant");
        check(r#"{"defaults":{"enforced":true}}"#, "defaults.enforced: unknown field");
    }

    #[test]
    fn a_value_of_another_kind_is_an_error_that_says_what_is_allowed() {
        check("[]", "document: a list is not a table");
        check(r#"{"rule":{}}"#, "rule: a table is not a list");
        check(r#"{"rule":[7]}"#, "rule[0]: 7 is not a table");
        check(r#"{"rule":[{"limit":"5"}]}"#, "rule[0].limit: a text is not a whole number from 0 on");
        check(r#"{"rule":[{"limit":-5}]}"#, "rule[0].limit: -5 is not a whole number from 0 on");
        check(r#"{"rule":[{"limit":5.0}]}"#, "rule[0].limit: 5.0 is a decimal number, not a whole number from 0 on");
        check(r#"{"rule":[{"limit":0.5}]}"#, "rule[0].limit: 0.5 is a decimal number, not a whole number from 0 on");
        check(r#"{"rule":[{"limit":1e3}]}"#, "rule[0].limit: 1000.0 is a decimal number, not a whole number from 0 on");
        check(r#"{"rule":[{"limit":18446744073709551616}]}"#, "rule[0].limit: a number that is far too large is not a");
        check(r#"{"rule":[{"limit":-9223372036854775809}]}"#, "rule[0].limit: a number that is far too large is not a");
        check(r#"{"rule":[{"limit":1e300}]}"#, "rule[0].limit: a number that is far too large is not a whole number");
        check(r#"{"rule":[{"limit":null}]}"#, "rule[0].limit: null is not a whole number");
        check(r#"{"rule":[{"key":["ip",3]}]}"#, "rule[0].key[1]: 3 is not a text");
        check(r#"{"rule":[{"rank":4294967296}]}"#, "rule[0].rank: 4294967296 is not a whole number of at most 32 bits");
        check(r#"{"rule":[{"priorities":{"low":true}}]}"#, "rule[0].priorities.low: true or false is not a decimal");
    }

    #[test]
    fn a_field_that_is_there_twice_is_an_error() {
        check(r#"{"rule":[{"limit":5,"limit":6}]}"#, "the field \"limit\" is there twice");
    }

    #[test]
    fn names_of_headers_and_attributes_may_follow_a_point() {
        let document: Document = serde_json::from_str(
            r#"{"rule":[{"id":"a","match":{"header.X-Plan":"pro","attr":{"plan":"x"},"attr.zone":"eu"}}]}"#,
        )
        .unwrap();
        let nested = r#"{"rule":[{"id":"a","match":{"header":{"X-Plan":"pro"},"attr":{"plan":"x","zone":"eu"}}}]}"#;
        assert_eq!(document.to_json(), nested);
        check(r#"{"rule":[{"match":{"attr":{"x":"1"},"attr.x":"2"}}]}"#, "rule[0].match.attr.x: unknown field");
    }

    #[test]
    fn a_number_stands_for_a_fraction_by_its_text() {
        let json = r#"{"defaults":{"retry_jitter":0.2},"rule":[{"soft":1,"priorities":{"a":0.5}}]}"#;
        let document: Document = serde_json::from_str(json).unwrap();
        assert_eq!(document.defaults.retry_jitter.as_deref(), Some("0.2"));
        assert_eq!(document.rule[0].soft.as_deref(), Some("1"));
        assert_eq!(document.rule[0].priorities["a"], "0.5");
    }
}
