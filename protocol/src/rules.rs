//! Rules: what an operator writes, what a gateway enforces.
//!
//! The path of a document is `document` (the shape, from TOML or JSON) → `compile` (does each rule make sense?) →
//! [`RuleSet`]; the path of a request is [`Subject`] → `facts` (one spelling for each path and address) → `resolve`
//! (which rules win?) → `key` (whom do they count?).
//!
//! A set is immutable and shared; a new document is a new set. Everything is checked before there is one, so that nothing
//! behind it needs to ask again.
//!
//! Not here: what a rule decides (`tallyring-engine`), where documents are kept (`tallyring`).

mod address;
mod compile;
mod conditions;
mod counter;
mod defaults;
mod document;
mod error;
mod facts;
mod fields;
mod fraction;
mod index;
mod key;
mod numbers;
#[cfg(feature = "parse")]
mod parse;
mod path;
mod resolve;
mod route;
mod rule;
mod speaker;
mod subject;
mod value;
mod version;

pub use self::address::{ClientAddress, HOPS_MAX, IPV6_PREFIX_BITS, Network, NetworkError, client_address};
pub use self::compile::{DEFAULT_GROUP, NAME_BYTES_MAX, NAMES_MAX, PRIORITIES_MAX, TRUSTED_PROXIES_MAX};
pub use self::counter::Counter;
pub use self::defaults::{Defaults, HeaderFamily};
pub use self::document::{DefaultsDoc, Document, MatchDoc, RuleDoc};
pub use self::error::RuleError;
pub use self::fraction::{Fraction, FractionError};
pub use self::key::{DescribedKey, DescribedValue, KeyPart, PART_BYTES_MAX, PARTS_OF_KEY_MAX};
pub use self::numbers::{LOG_UNITS_MAX, Numbers, UNITS_MAX, WINDOW_US_MAX, algorithm_from_name, algorithm_name};
#[cfg(feature = "parse")]
pub use self::parse::{Fault, Parsed, Syntax, parse};
pub use self::path::normalised_path;
pub use self::resolve::{Resolution, WINNERS_MAX, Winner};
pub use self::route::{Route, SEGMENTS_MAX};
pub use self::rule::{Action, Mode, Priority, Rule};
pub use self::speaker::{Say, speaker};
pub use self::subject::{Lookup, Subject};
pub use self::version::RulesVersion;
use crate::bounds::RULES_BYTES_MAX;
use error::Faults;
use index::Index;
use value::Value;

/// A document that makes sense, ready to be asked.
///
/// ```
/// use tallyring_protocol::rules::{RuleSet, Subject};
/// let json = br#"{"rule":[{"id":"per-ip","key":["ip"],"algorithm":"token_bucket","limit":300,"window":"60s"}]}"#;
/// let rules = RuleSet::from_json(json).unwrap();
/// let subject = Subject { ip: Some("203.0.113.9".parse().unwrap()), ..Subject::new("GET", "/") };
/// let resolution = rules.resolve(&subject);
/// assert_eq!(resolution.enforced[0].rule.id(), "per-ip");
/// assert_eq!(resolution.enforced[0].key.as_ref().tag(), b"203.0.113.9");
/// ```
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    document: Document,
    defaults: Defaults,
    rules: Vec<Rule>,
    index: Index,
}

impl RuleSet {
    /// No rules: everything passes.
    pub fn empty() -> RuleSet {
        RuleSet::default()
    }

    /// The rules of a document in JSON.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn from_json(json: &[u8]) -> Result<RuleSet, RuleError> {
        let mut faults = Faults::default();
        let document = Document::read(read_json(json)?, &mut faults);
        RuleSet::compile_read(document, faults).map(|(rules, _)| rules).map_err(first)
    }

    /// The rules of a document.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn compile(document: Document) -> Result<RuleSet, RuleError> {
        RuleSet::compile_all(document).map(|(rules, _)| rules).map_err(first)
    }

    /// The rules of a document, and what is doubtful about them.
    ///
    /// # Errors
    /// Everything that is wrong with it, at least one thing.
    pub fn compile_all(document: Document) -> Result<(RuleSet, Vec<RuleError>), Vec<RuleError>> {
        RuleSet::compile_read(document, Faults::default())
    }

    fn compile_read(document: Document, mut faults: Faults) -> Result<(RuleSet, Vec<RuleError>), Vec<RuleError>> {
        let defaults = compile::defaults(&document.defaults, &mut faults);
        let rules = compile::rules(&document, &defaults, &mut faults);
        compile::conflicts(&rules, &mut faults);
        faults.into_result()?;
        let warnings = compile::warnings(&document, &defaults, &rules);
        let index = Index::new(&rules);
        Ok((RuleSet { document, defaults, rules, index }, warnings))
    }

    /// The document that this is made of.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// What holds for all rules.
    pub fn defaults(&self) -> &Defaults {
        &self.defaults
    }

    /// The rules, in the order of the document.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The document as JSON: what gateways are sent.
    pub fn to_json(&self) -> String {
        self.document.to_json()
    }
}

/// Parses JSON within its bounds.
fn read_json(json: &[u8]) -> Result<Value, RuleError> {
    if json.len() > RULES_BYTES_MAX {
        let reason = format!("{} bytes are too many: a document has at most {RULES_BYTES_MAX}", json.len());
        return Err(RuleError::new("document", reason));
    }
    serde_json::from_slice(json).map_err(|error| RuleError::new("document", error.to_string()))
}

fn first(faults: Vec<RuleError>) -> RuleError {
    faults.into_iter().next().expect("whoever reports faults has one")
}
