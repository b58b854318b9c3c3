//! Random documents and requests out of few values, so that rules meet.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use tallyring_protocol::rules::{Document, MatchDoc, RuleDoc};

/// A request that owns what it is made of.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) client: Option<String>,
    pub(crate) tenant: Option<String>,
    pub(crate) tier: Option<String>,
    pub(crate) ip: Option<String>,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) attributes: BTreeMap<String, String>,
}

impl Request {
    pub(crate) fn subject(&self) -> tallyring_protocol::rules::Subject<'_> {
        tallyring_protocol::rules::Subject {
            client: self.client.as_deref(),
            tenant: self.tenant.as_deref(),
            tier: self.tier.as_deref(),
            ip: self.ip.as_deref().map(|ip| ip.parse().expect("an address")),
            method: &self.method,
            path: &self.path,
            headers: &self.headers,
            attributes: &self.attributes,
        }
    }
}

fn one_of(values: &'static [&'static str]) -> impl Strategy<Value = String> {
    select(values).prop_map(str::to_owned)
}

fn named(names: &'static [&'static str]) -> impl Strategy<Value = BTreeMap<String, String>> {
    btree_map(one_of(names), one_of(&["1", "2"]), 0..=2)
}

fn segment() -> impl Strategy<Value = String> {
    one_of(&["a", "b", "{x}", "{y}"])
}

fn route() -> impl Strategy<Value = String> {
    let path = (vec(segment(), 0..4), option::of(Just("*".to_owned())));
    let path =
        path.prop_map(|(segments, star)| format!("/{}", [segments, star.into_iter().collect()].concat().join("/")));
    (option::of(one_of(&["GET", "POST"])), path)
        .prop_map(|(method, path)| method.map_or(path.clone(), |method| format!("{method} {path}")))
}

fn matching() -> impl Strategy<Value = MatchDoc> {
    let identity = (
        option::weighted(0.2, one_of(&["c1", "c2"])),
        option::weighted(0.2, one_of(&["t1"])),
        option::weighted(0.3, one_of(&["free", "pro"])),
    );
    let network = one_of(&["10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", "2001:db8::/32", "2001:db8:1::/48"]);
    (
        identity,
        option::weighted(0.6, route()),
        option::weighted(0.3, network),
        named(&["h1", "H2"]),
        named(&["a1", "a2"]),
    )
        .prop_map(|((client, tenant, tier), route, ip, header, attr)| MatchDoc {
            client,
            tenant,
            tier,
            route,
            ip,
            header,
            attr,
        })
}

fn key() -> impl Strategy<Value = Vec<String>> {
    let parts = ["client", "tenant", "tier", "ip", "path", "method", "header:h1", "attr:a1"];
    proptest::sample::subsequence(parts.map(str::to_owned).to_vec(), 0..=3)
}

/// A rule that makes sense by itself; its rank is often the same as others'.
pub(crate) fn rule() -> impl Strategy<Value = RuleDoc> {
    let action = select(&["limit", "limit", "limit", "allow", "block"]);
    let mode = option::weighted(0.2, Just("shadow".to_owned()));
    (matching(), key(), action, mode, option::of(Just("ip".to_owned())), 0..3, one_of(&["default", "g1", "g2"]))
        .prop_map(|(matches, key, action, mode, missing, rank, group)| {
            let rule = RuleDoc {
                matches,
                mode,
                rank: Some(rank),
                group: Some(group),
                action: Some(action.into()),
                ..RuleDoc::default()
            };
            if action == "limit" { limit(rule, key, missing) } else { rule }
        })
}

fn limit(rule: RuleDoc, key: Vec<String>, missing: Option<String>) -> RuleDoc {
    let algorithm = Some("token_bucket".into());
    RuleDoc { key: Some(key), missing, algorithm, limit: Some(5), window: Some("1m".into()), ..rule }
}

/// Rules under names of their own, in any number; they may tie.
pub(crate) fn document(rules: std::ops::Range<usize>) -> impl Strategy<Value = Document> {
    (vec(rule(), rules), any::<bool>()).prop_map(|(mut rule, enforce)| {
        rule.iter_mut().enumerate().for_each(|(at, rule)| rule.id = format!("r{at}"));
        let mut document = Document { rule, ..Document::default() };
        document.defaults.enforce = Some(enforce);
        document
    })
}

pub(crate) fn request() -> impl Strategy<Value = Request> {
    let identity = (
        option::of(one_of(&["c1", "c2", ""])),
        option::of(one_of(&["t1", "t2"])),
        option::of(one_of(&["free", "pro"])),
    );
    let ip =
        one_of(&["10.1.2.3", "10.1.9.9", "10.9.9.9", "192.0.2.1", "2001:db8:1::1", "2001:db8:2::1", "::ffff:10.1.2.3"]);
    let path =
        vec(one_of(&["a", "b", "c", "%61", ".", ".."]), 0..4).prop_map(|segments| format!("/{}", segments.join("/")));
    (identity, option::of(ip), one_of(&["GET", "POST", "PUT"]), path, named(&["h1", "h2"]), named(&["a1", "a2"]))
        .prop_map(|((client, tenant, tier), ip, method, path, headers, attributes)| Request {
            client,
            tenant,
            tier,
            ip,
            method,
            path,
            headers,
            attributes,
        })
}
