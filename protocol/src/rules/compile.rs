//! From a document to rules that are known to make sense, or to the list of what does not.

mod conflict;
mod limit;
mod matching;
mod warning;

pub use self::conflict::NAMES_MAX;
pub(crate) use self::conflict::conflicts;
pub(crate) use self::warning::warnings;

use super::address::Network;
use super::conditions::Conditions;
use super::defaults::{Defaults, HeaderFamily};
use super::document::{DefaultsDoc, Document, RuleDoc};
use super::error::Faults;
use super::fraction::Fraction;
use super::key::{KeyPart, KeyRecipe, PARTS_OF_KEY_MAX};
use super::rule::{Action, Kept, Mode, Rule};
use crate::bounds::{RULE_ID_BYTES_MAX, RULES_MAX};

/// Longest name of a group or priority, in bytes.
pub const NAME_BYTES_MAX: usize = 64;
/// Proxies that a document may trust.
pub const TRUSTED_PROXIES_MAX: usize = 1_000;
/// Priorities that a rule may name.
pub const PRIORITIES_MAX: usize = 16;
/// The group of a rule that names none.
pub const DEFAULT_GROUP: &str = "default";

/// The rules of a document, each checked by itself; those that are wrong are noted and left out.
pub(crate) fn rules(document: &Document, defaults: &Defaults, faults: &mut Faults) -> Vec<Rule> {
    if document.rule.len() > RULES_MAX {
        faults.add("rule", format!("{} rules are too many: a document has at most {RULES_MAX}", document.rule.len()));
    }
    let docs = document.rule.iter().take(RULES_MAX).enumerate();
    docs.filter_map(|(order, doc)| Compiler { path: format!("rule[{order}]"), faults }.rule(doc, order, defaults))
        .collect()
}

pub(crate) fn defaults(doc: &DefaultsDoc, faults: &mut Faults) -> Defaults {
    let usual = Defaults::default();
    let mut compiler = Compiler { path: "defaults".to_owned(), faults };
    Defaults {
        headers: doc.headers.as_ref().map_or(usual.headers, |names| compiler.headers(names)),
        retry_jitter: compiler.fraction("retry_jitter", doc.retry_jitter.as_deref()).unwrap_or(usual.retry_jitter),
        enforce: doc.enforce.unwrap_or(usual.enforce),
        trusted_proxies: compiler.trusted_proxies(&doc.trusted_proxies),
        ipv6_prefix_bits: compiler.ipv6_prefix(doc.ipv6_prefix).unwrap_or(usual.ipv6_prefix_bits),
        fallback_gateways: compiler.gateways(doc.fallback_gateways),
    }
}

/// One table of the document, and where to note what is wrong with it.
struct Compiler<'f> {
    path: String,
    faults: &'f mut Faults,
}

impl Compiler<'_> {
    fn fault(&mut self, field: &str, reason: impl Into<String>) {
        self.faults.add(format!("{}.{field}", self.path), reason);
    }

    fn take<T>(&mut self, field: &str, result: Result<T, impl ToString>) -> Option<T> {
        result.map_err(|reason| self.fault(field, reason.to_string())).ok()
    }

    fn rule(mut self, doc: &RuleDoc, order: usize, defaults: &Defaults) -> Option<Rule> {
        let id = self.id(&doc.id);
        let group = self.name("group", doc.group.as_deref().unwrap_or(DEFAULT_GROUP));
        let conditions = self.conditions(&doc.matches);
        let parts = self.key(doc.key.as_deref().unwrap_or_default(), conditions.as_ref());
        let ip_for_missing = self.missing(doc.missing.as_deref());
        let action = self.action(doc);
        let (mode, sync) = self.mode(doc);
        let rule = Rule {
            id: id?.into(),
            group: group?.into(),
            order,
            conditions: conditions?,
            recipe: KeyRecipe::new(&doc.id, parts?, ip_for_missing),
            rank: doc.rank.unwrap_or(0),
            action: action?,
            mode,
            sync,
            soft: self.fraction("soft", doc.soft.as_deref()),
            priorities: self.priorities(doc),
            keys_max: self.at_least_one("keys_max", doc.keys_max),
            fallback_gateways: self.gateways(doc.fallback_gateways).or(defaults.fallback_gateways),
            grant: self.at_least_one("grant", doc.grant),
            prefilter: doc.prefilter.unwrap_or(false),
        };
        self.grant(&rule);
        Some(rule)
    }

    fn id<'d>(&mut self, id: &'d str) -> Option<&'d str> {
        let is_good = !id.is_empty() && id.len() <= RULE_ID_BYTES_MAX && id.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_good {
            self.fault("id", format!("{id:?}: a rule's id is 1 ..= {RULE_ID_BYTES_MAX} visible ASCII characters"));
        }
        is_good.then_some(id)
    }

    fn name<'d>(&mut self, field: &str, name: &'d str) -> Option<&'d str> {
        let is_good =
            !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_good {
            self.fault(field, format!("{name:?}: a name is 1 ..= {NAME_BYTES_MAX} visible ASCII characters"));
        }
        is_good.then_some(name)
    }

    fn key(&mut self, names: &[String], conditions: Option<&Conditions>) -> Option<Vec<KeyPart>> {
        if names.len() > PARTS_OF_KEY_MAX {
            self.fault("key", format!("{} parts are too many: a key has at most {PARTS_OF_KEY_MAX}", names.len()));
            return None;
        }
        let mut parts: Vec<KeyPart> = Vec::new();
        for (at, name) in names.iter().enumerate() {
            let part = self.take(&format!("key[{at}]"), matching::key_part(name, conditions))?;
            if parts.contains(&part) {
                self.fault(&format!("key[{at}]"), format!("{name:?} is in the key already"));
            }
            parts.push(part);
        }
        Some(parts)
    }

    fn missing(&mut self, part: Option<&str>) -> bool {
        match part {
            None => false,
            Some("ip") => true,
            Some(other) => {
                self.fault("missing", format!("{other:?} cannot stand in for a missing part: \"ip\" can"));
                false
            }
        }
    }

    /// What the rule does without a store, and whether a replica must have a decision before it is told.
    fn mode(&mut self, doc: &RuleDoc) -> (Mode, bool) {
        let sync = match doc.durability.as_deref() {
            None | Some("async") => false,
            Some("sync") => true,
            Some(other) => {
                self.fault("durability", format!("{other:?} is neither \"async\" nor \"sync\""));
                false
            }
        };
        match doc.mode.as_deref() {
            None | Some("protect") => (Mode::Protect, sync),
            Some("deny") => (Mode::Deny, sync),
            Some("shadow") => (Mode::Shadow, sync),
            Some("hard") => {
                if doc.durability.as_deref() == Some("async") {
                    self.fault(
                        "durability",
                        "mode \"hard\" is \"deny\" with durability \"sync\": leave it out, or say \"sync\"",
                    );
                }
                (Mode::Deny, true)
            }
            Some(other) => {
                self.fault("mode", format!("{other:?} is none of \"protect\", \"deny\", \"shadow\", \"hard\""));
                (Mode::Protect, sync)
            }
        }
    }

    fn priorities(&mut self, doc: &RuleDoc) -> Box<[(Box<str>, Kept)]> {
        if doc.priorities.len() > PRIORITIES_MAX {
            self.fault("priorities", format!("a rule names at most {PRIORITIES_MAX} priorities"));
        }
        let named = doc.priorities.iter().filter_map(|(name, kept)| {
            let field = format!("priorities.{name}");
            let kept = match kept.as_str() {
                "always" => Kept::Always,
                text => Kept::Fraction(self.fraction(&field, Some(text))?),
            };
            Some((self.name(&field, name)?.into(), kept))
        });
        named.collect()
    }

    fn grant(&mut self, rule: &Rule) {
        let Some(grant) = rule.grant else { return };
        if grant > rule.ceiling() {
            self.fault("grant", format!("{grant} is over what the rule ever has at once, {}", rule.ceiling()));
        } else if rule.sync {
            self.fault("grant", "a gateway that takes units ahead is not exact: leave it out, or durability \"sync\"");
        }
    }

    fn fraction(&mut self, field: &str, text: Option<&str>) -> Option<Fraction> {
        text.and_then(|text| self.take(field, text.parse()))
    }

    fn at_least_one(&mut self, field: &str, number: Option<u64>) -> Option<u64> {
        if number == Some(0) {
            self.fault(field, "0 is too small: at least 1, or leave it out");
        }
        number
    }

    fn gateways(&mut self, number: Option<u64>) -> Option<u32> {
        const FIELD: &str = "fallback_gateways";
        let number = self.at_least_one(FIELD, number)?;
        self.take(FIELD, u32::try_from(number).map_err(|_| format!("{number} gateways are too many")))
    }

    fn headers(&mut self, names: &[String]) -> Vec<HeaderFamily> {
        let families = names.iter().enumerate().filter_map(|(at, name)| {
            let known = HeaderFamily::ALL.map(HeaderFamily::name).join(", ");
            let family = HeaderFamily::from_name(name).ok_or_else(|| format!("{name:?} is none of {known}"));
            self.take(&format!("headers[{at}]"), family)
        });
        families.collect()
    }

    fn trusted_proxies(&mut self, ranges: &[String]) -> Vec<Network> {
        if ranges.len() > TRUSTED_PROXIES_MAX {
            self.fault("trusted_proxies", format!("at most {TRUSTED_PROXIES_MAX} ranges can be trusted"));
        }
        let ranges = ranges.iter().take(TRUSTED_PROXIES_MAX).enumerate();
        ranges.filter_map(|(at, text)| self.take(&format!("trusted_proxies[{at}]"), text.parse())).collect()
    }

    fn ipv6_prefix(&mut self, bits: Option<u64>) -> Option<u8> {
        let bits = bits?;
        let known = u8::try_from(bits).ok().filter(|bits| (1..=128).contains(bits));
        self.take("ipv6_prefix", known.ok_or_else(|| format!("{bits} is not in 1 ..= 128, bits of an address")))
    }

    fn action(&mut self, doc: &RuleDoc) -> Option<Action> {
        match doc.action.as_deref() {
            None | Some("limit") => self.numbers(doc).map(Action::Limit),
            Some("allow") => self.without_numbers(doc, Action::Allow),
            Some("block") => self.without_numbers(doc, Action::Block),
            Some(other) => {
                self.fault("action", format!("{other:?} is none of \"limit\", \"allow\", \"block\""));
                None
            }
        }
    }
}
