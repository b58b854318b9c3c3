//! Which counter of a rule is somebody's, for people who know who it is and not every request that they made.

use super::RuleSet;
use super::conditions::Conditions;
use super::facts::Facts;
use super::key::KeyPart;
use super::path::PathBuffer;
use super::rule::Rule;
use super::subject::Subject;
use crate::key::Key;

/// What a rule counts somebody under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Counter<'r> {
    /// Under this key.
    Known(Key),
    /// Its key has a part that nobody said, and others that somebody did.
    Partial(&'r KeyPart),
    /// Its key has this part, and nobody said any.
    Unknown(&'r KeyPart),
    /// It counts nobody like this, or nothing at all.
    None,
}

impl RuleSet {
    /// The counter of `rule`, one of these, that requests like `subject` are counted under.
    ///
    /// What is not said of the subject may be anything: an empty method, an empty path, an attribute that is not there. So
    /// a client's counter is found without the routes it has called. Whether another rule would win for some of those
    /// requests is not asked: then this one has counted nothing.
    ///
    /// ```
    /// use tallyring_protocol::rules::{Counter, RuleSet, Subject};
    /// let json = br#"{"rule":[{"id":"a","match":{"route":"POST /x"},"key":["client"],"algorithm":"gcra","limit":1,"window":"1s"}]}"#;
    /// let rules = RuleSet::from_json(json).unwrap();
    /// let rule = &rules.rules()[0];
    /// let said = |client, path| Subject { client, ..Subject::new("", path) };
    /// let asked = rules.resolve(&Subject { client: Some("acme"), ..Subject::new("POST", "/x") });
    /// assert_eq!(rules.counter(rule, &said(Some("acme"), "")), Counter::Known(asked.enforced[0].key.clone()));
    /// assert_eq!(rules.counter(rule, &said(Some("acme"), "/y")), Counter::None);
    /// ```
    pub fn counter<'r>(&self, rule: &'r Rule, subject: &Subject<'_>) -> Counter<'r> {
        let mut path = PathBuffer::new();
        let facts = Facts::new(subject, self.defaults().ipv6_prefix_bits, &mut path);
        let said = Said { facts, method: !subject.method.is_empty(), path: !subject.path.is_empty() };
        if rule.numbers().is_none() || said.contradicts(&rule.conditions) {
            return Counter::None;
        }
        let parts = rule.key_parts();
        let lacking = parts.iter().find(|part| !said.has(part) && !rule.recipe.stands_in(part, &said.facts));
        match lacking {
            None => Counter::Known(rule.recipe.key(&said.facts)),
            Some(part) if parts.iter().any(|part| part.tells_apart() && said.has(part)) => Counter::Partial(part),
            Some(part) => Counter::Unknown(part),
        }
    }
}

impl Rule {
    /// Whether its counters are of many at once: neither its key nor its conditions say whose each is.
    pub fn counts_together(&self) -> bool {
        let is_somebodys = self.conditions.client.is_some() || self.conditions.tenant.is_some();
        !is_somebodys && !self.key_parts().iter().any(KeyPart::tells_apart)
    }
}

impl KeyPart {
    /// Whether it tells one caller from another.
    fn tells_apart(&self) -> bool {
        match self {
            KeyPart::Client | KeyPart::Tenant | KeyPart::Ip | KeyPart::Header(_) | KeyPart::Attribute(_) => true,
            KeyPart::Tier | KeyPart::Route(_) | KeyPart::Path | KeyPart::Method => false,
        }
    }
}

/// What somebody said.
struct Said<'f> {
    facts: Facts<'f>,
    method: bool,
    path: bool,
}

impl Said<'_> {
    /// Whether conditions are known not to hold.
    fn contradicts(&self, conditions: &Conditions) -> bool {
        let Conditions { client, tenant, tier, route, ip, headers, attributes } = conditions;
        let facts = &self.facts;
        let differs = |wanted: Option<&str>, said: Option<&str>| wanted.zip(said).is_some_and(|(a, b)| a != b);
        let route = route.as_ref().is_some_and(|route| {
            let method = differs(route.method(), self.method.then_some(facts.method));
            method || (self.path && !route.matches(route.method().unwrap_or(""), facts.path))
        });
        route
            || differs(client.as_deref(), facts.client)
            || differs(tenant.as_deref(), facts.tenant)
            || differs(tier.as_deref(), facts.tier)
            || ip.is_some_and(|network| facts.address.is_some_and(|address| !network.contains(address)))
            || headers.iter().any(|(name, value)| differs(Some(value), facts.header(name)))
            || attributes.iter().any(|(name, value)| differs(Some(value), facts.attribute(name)))
    }

    /// Whether somebody said this part of a key.
    fn has(&self, part: &KeyPart) -> bool {
        match part {
            KeyPart::Method => self.method,
            KeyPart::Path => self.path,
            part => part.is_there(&self.facts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERS: &str = "\"algorithm\":\"gcra\",\"limit\":1,\"window\":\"1s\"";

    /// `expect` is the key as people read it, `needs PART`, `lacks PART` (and others are there), or `none`.
    fn check(rule: &str, subject: &Subject<'_>, expect: &str) {
        let json = format!("{{\"rule\":[{{\"id\":\"r\",{rule}{NUMBERS}}}]}}");
        let rules = RuleSet::from_json(json.as_bytes()).unwrap();
        let found = match rules.counter(&rules.rules()[0], subject) {
            Counter::Known(key) => crate::rules::DescribedKey::read(key.as_ref().rest()).unwrap().to_string(),
            Counter::Partial(part) => format!("lacks {part:?}"),
            Counter::Unknown(part) => format!("needs {part:?}"),
            Counter::None => "none".to_owned(),
        };
        assert_eq!(found, expect, "{rule}: {subject:?}");
    }

    fn acme() -> Subject<'static> {
        Subject { client: Some("acme"), ..Subject::new("", "") }
    }

    #[test]
    fn what_is_not_said_may_be_anything() {
        let by_client =
            "\"match\":{\"tier\":\"free\",\"route\":\"POST /v1/{x}\",\"attr.a\":\"1\"},\"key\":[\"client\"],";
        check(by_client, &acme(), "acme");
        check(by_client, &Subject { tier: Some("free"), method: "POST", path: "/v1/y", ..acme() }, "acme");
        check(by_client, &Subject { path: "/v1/y/", ..acme() }, "acme");
        for said in [
            Subject { tier: Some("pro"), ..acme() },
            Subject { method: "GET", ..acme() },
            Subject { path: "/v2/y", ..acme() },
            Subject { attributes: &[("a", "2")], ..acme() },
        ] {
            check(by_client, &said, "none");
        }
        check("\"match\":{\"client\":\"acme\"},", &acme(), "(all)");
        check("\"match\":{\"client\":\"other\"},", &acme(), "none");
        check("\"match\":{\"ip\":\"10.0.0.0/8\"},\"key\":[\"client\"],", &acme(), "acme");
    }

    #[test]
    fn a_key_needs_all_its_parts() {
        let ip = Some("203.0.113.9".parse().unwrap());
        check("\"key\":[\"ip\"],", &acme(), "needs Ip");
        check("\"key\":[\"ip\"],", &Subject { ip, ..acme() }, "203.0.113.9");
        check("\"key\":[\"client\",\"path\"],", &acme(), "lacks Path");
        check("\"key\":[\"client\",\"path\"],", &Subject { path: "/a/", ..acme() }, "client=acme path=/a");
        check("\"key\":[\"method\",\"tenant\"],", &acme(), "needs Method");
        check("\"key\":[\"tenant\"],\"missing\":\"ip\",", &Subject { ip, ..acme() }, "203.0.113.9");
        check("\"key\":[\"tenant\",\"method\"],\"missing\":\"ip\",", &Subject { ip, ..acme() }, "needs Method");
    }

    #[test]
    fn a_counter_is_somebodys_or_of_many() {
        let together = |rule: &str| {
            let json = format!("{{\"rule\":[{{\"id\":\"r\",{rule}{NUMBERS}}}]}}");
            RuleSet::from_json(json.as_bytes()).unwrap().rules()[0].counts_together()
        };
        assert!(together("") && together("\"key\":[\"tier\"],") && together("\"key\":[\"path\",\"method\"],"));
        assert!(!together("\"key\":[\"tier\",\"client\"],") && !together("\"key\":[\"header:x-api-key\"],"));
        assert!(!together("\"match\":{\"client\":\"acme\"},") && together("\"match\":{\"tier\":\"free\"},"));
    }
}
