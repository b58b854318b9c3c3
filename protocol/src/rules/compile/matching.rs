//! Whom a rule is for, and what it counts apart.

use std::collections::BTreeMap;

use super::Compiler;
use crate::rules::conditions::Conditions;
use crate::rules::document::MatchDoc;
use crate::rules::key::KeyPart;
use crate::rules::route::Route;

/// Longest text that a condition compares with, in bytes.
const VALUE_BYTES_MAX: usize = 1024;
/// Headers, and attributes, that one rule may ask for.
const NAMES_OF_RULE_MAX: usize = 16;
/// Longest name of a header or an attribute, in bytes.
const FIELD_NAME_BYTES_MAX: usize = 128;

impl Compiler<'_> {
    pub(super) fn conditions(&mut self, doc: &MatchDoc) -> Option<Conditions> {
        let client = self.value("match.client", doc.client.as_deref());
        let tenant = self.value("match.tenant", doc.tenant.as_deref());
        let tier = self.value("match.tier", doc.tier.as_deref());
        let route = doc.route.as_deref().map(|text| self.take("match.route", Route::parse(text)));
        let ip = doc.ip.as_deref().map(|text| self.take("match.ip", text.parse()));
        let headers = self.values("match.header", &doc.header, header_name);
        let attributes = self.values("match.attr", &doc.attr, attribute_name);
        Some(Conditions {
            client: client?,
            tenant: tenant?,
            tier: tier?,
            route: all_or_none(route)?,
            ip: all_or_none(ip)?,
            headers: headers?,
            attributes: attributes?,
        })
    }

    /// A text to compare with, if there is one; `None` if it is no good.
    fn value(&mut self, field: &str, text: Option<&str>) -> Option<Option<Box<str>>> {
        let Some(text) = text else { return Some(None) };
        let is_good = !text.is_empty() && text.len() <= VALUE_BYTES_MAX;
        if !is_good {
            let reason = "bytes are not in 1 ..= 1024; an empty value counts as none, which nothing equals";
            self.fault(field, format!("{} {reason}", text.len()));
        }
        is_good.then(|| Some(text.into()))
    }

    fn values(
        &mut self,
        field: &str,
        values: &BTreeMap<String, String>,
        read_name: fn(&str) -> Result<Box<str>, String>,
    ) -> Option<Vec<(Box<str>, Box<str>)>> {
        if values.len() > NAMES_OF_RULE_MAX {
            self.fault(field, format!("{} are too many: a rule asks for at most {NAMES_OF_RULE_MAX}", values.len()));
        }
        let mut pairs: Vec<(Box<str>, Box<str>)> = Vec::new();
        for (name, value) in values.iter().take(NAMES_OF_RULE_MAX) {
            let field = format!("{field}.{name}");
            let name = self.take(&field, read_name(name));
            let value = self.value(&field, Some(value)).flatten();
            let (name, value) = (name?, value?);
            if pairs.iter().any(|(known, _)| *known == name) {
                self.fault(&field, "names of headers do not differ by the case of letters: this one is there twice");
            }
            pairs.push((name, value));
        }
        Some(pairs)
    }
}

/// Nothing where nothing was asked for; but if it was, what came of it.
#[allow(clippy::option_option, reason = "the outer one says whether to go on")]
fn all_or_none<T>(read: Option<Option<T>>) -> Option<Option<T>> {
    match read {
        None => Some(None),
        Some(read) => read.map(Some),
    }
}

pub(super) fn key_part(name: &str, conditions: Option<&Conditions>) -> Result<KeyPart, String> {
    if let Some(name) = name.strip_prefix("header:") {
        return header_name(name).map(KeyPart::Header);
    }
    if let Some(name) = name.strip_prefix("attr:") {
        return attribute_name(name).map(KeyPart::Attribute);
    }
    match name {
        "client" => Ok(KeyPart::Client),
        "tenant" => Ok(KeyPart::Tenant),
        "tier" => Ok(KeyPart::Tier),
        "ip" => Ok(KeyPart::Ip),
        "path" => Ok(KeyPart::Path),
        "method" => Ok(KeyPart::Method),
        "route" => route_part(conditions),
        other => {
            Err(format!("{other:?} is none of client, tenant, tier, ip, route, path, method, header:NAME, attr:NAME"))
        }
    }
}

fn route_part(conditions: Option<&Conditions>) -> Result<KeyPart, String> {
    match conditions.map(|conditions| &conditions.route) {
        Some(Some(route)) => Ok(KeyPart::Route(route.as_str().into())),
        Some(None) => Err("\"route\" is the rule's pattern, and it has none: add match.route, or use path".to_owned()),
        None => Ok(KeyPart::Route("".into())), // the pattern is wrong, and that is noted
    }
}

/// The name of a header in lower case.
fn header_name(name: &str) -> Result<Box<str>, String> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let is_good = (1..=FIELD_NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(is_token);
    if is_good { Ok(name.to_ascii_lowercase().into()) } else { Err(format!("{name:?} is no name of a header")) }
}

fn attribute_name(name: &str) -> Result<Box<str>, String> {
    let is_good = (1..=FIELD_NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic());
    let reason = || format!("{name:?}: an attribute's name is 1 ..= {FIELD_NAME_BYTES_MAX} visible ASCII characters");
    if is_good { Ok(name.into()) } else { Err(reason()) }
}
