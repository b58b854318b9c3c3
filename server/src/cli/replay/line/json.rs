//! JSON lines, with the field names that gateways and proxies use.

use std::net::{IpAddr, SocketAddr};

use serde_json::{Map, Value};

use super::Line;
use crate::cli::replay::entry::{Entry, Named, path_of, request_line};
use crate::cli::replay::time;

type Fields = Map<String, Value>;

const TIMES: [&str; 12] = [
    "time",
    "timestamp",
    "@timestamp",
    "ts",
    "time_iso8601",
    "time_local",
    "msec",
    "start_time",
    "StartUTC",
    "date",
    "datetime",
    "t",
];
const ADDRESSES: [&str; 12] = [
    "ip",
    "client_ip",
    "remote_addr",
    "remote_ip",
    "clientip",
    "clientIp",
    "ClientHost",
    "remoteAddr",
    "remote_address",
    "downstream_remote_address",
    "addr",
    "peer",
];
const METHODS: [&str; 5] = ["method", "request_method", "http_method", "verb", "RequestMethod"];
const PATHS: [&str; 9] =
    ["path", "uri", "request_uri", "url", "target", "http_path", "request_path", "RequestPath", "uri_path"];
const CLIENTS: [&str; 7] = ["client", "client_id", "user", "user_id", "remote_user", "account", "consumer"];
const TENANTS: [&str; 4] = ["tenant", "tenant_id", "org", "organization"];
const TIERS: [&str; 2] = ["tier", "plan"];

pub(super) fn read(line: &str, with_headers: bool) -> Line {
    let Ok(fields) = serde_json::from_str::<Fields>(line) else { return Line::Unknown };
    read_known(&fields, with_headers).map_or(Line::Unknown, Line::Request)
}

fn read_known(fields: &Fields, with_headers: bool) -> Option<Entry> {
    // Some put all about the request in a table of its own, others its first line in a text.
    let inner = fields.get("request").and_then(Value::as_object);
    let text = |names: &[&str]| inner.and_then(|inner| text_of(inner, names)).or_else(|| text_of(fields, names));
    let line = fields.get("request").and_then(Value::as_str).map(request_line);
    let boxed = |names: &[&str]| text(names).filter(|text| !text.is_empty() && text != "-").map(Into::into);
    let tables = inner.into_iter().chain([fields]);
    Some(Entry {
        t_us: instant(fields)?,
        ip: text(&ADDRESSES).and_then(|text| address(&text)),
        method: text(&METHODS).map_or_else(|| line.map_or("", |line| line.0).into(), Into::into),
        path: text(&PATHS).map_or_else(|| line.map_or("/", |line| line.1).into(), |path| path_of(&path).into()),
        client: boxed(&CLIENTS),
        tenant: boxed(&TENANTS),
        tier: boxed(&TIERS),
        headers: if with_headers { tables.clone().flat_map(headers).collect() } else { Named::new() },
        attributes: tables.flat_map(|table| named(table, "attributes")).collect(),
    })
}

/// The first of these fields that is a text or a number.
fn text_of(fields: &Fields, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| scalar(fields.get(*name)?))
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(list) => list.first().and_then(scalar),
        _ => None,
    }
}

fn instant(fields: &Fields) -> Option<u64> {
    let texts = TIMES.iter().filter_map(|name| scalar(fields.get(*name)?));
    texts.into_iter().find_map(|text| time::epoch(&text).or_else(|| time::iso(&text)).or_else(|| time::common(&text)))
}

/// An address, with or without a port; of a list that proxies made, the first.
fn address(text: &str) -> Option<IpAddr> {
    let first = text.split(',').next().unwrap_or(text).trim();
    first.parse().ok().or_else(|| first.parse::<SocketAddr>().ok().map(|socket| socket.ip()))
}

fn named<'f>(table: &'f Fields, name: &str) -> impl Iterator<Item = (String, String)> + use<'f> {
    let inner = table.get(name).and_then(Value::as_object);
    inner.into_iter().flatten().filter_map(|(name, value)| Some((name.clone(), scalar(value)?)))
}

/// Headers as a table, and the two that are often fields of their own.
fn headers(table: &Fields) -> impl Iterator<Item = (String, String)> {
    let listed = named(table, "headers").map(|(name, value)| (name.to_ascii_lowercase(), value));
    let fields = [
        ("http_user_agent", "user-agent"),
        ("user_agent", "user-agent"),
        ("http_referer", "referer"),
        ("referer", "referer"),
    ];
    let fields = fields.into_iter().filter_map(|(field, header)| Some((header.to_owned(), scalar(table.get(field)?)?)));
    fields.chain(listed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `expect` is `time ip method path client tenant tier`.
    fn check(line: &str, expect: &str) {
        let Line::Request(entry) = read(line, false) else { panic!("{line}") };
        let ip = entry.ip.map_or("-".to_owned(), |ip| ip.to_string());
        let or_dash = |text: &Option<Box<str>>| text.as_deref().unwrap_or("-").to_owned();
        let found = format!(
            "{} {ip} {} {} {} {} {}",
            entry.t_us / 1_000,
            entry.method,
            entry.path,
            or_dash(&entry.client),
            or_dash(&entry.tenant),
            or_dash(&entry.tier)
        );
        assert_eq!(found, expect, "{line}");
    }

    #[test]
    fn the_names_of_many_programs_are_known() {
        check(
            r#"{"time":"2015-05-17T10:05:03Z","ip":"198.51.100.7","method":"GET","path":"/a","client":"c","tenant":"t","tier":"free"}"#,
            "1431857103000 198.51.100.7 GET /a c t free",
        );
        check(
            r#"{"msec":"1431857103.250","remote_addr":"198.51.100.7","request":"POST /a?b HTTP/1.1","remote_user":"-"}"#,
            "1431857103250 198.51.100.7 POST /a?b - - -",
        );
        check(
            r#"{"ts":1431857103.25,"request":{"remote_ip":"2001:db8::5","method":"PUT","uri":"/x"},"user_id":42}"#,
            "1431857103250 2001:db8::5 PUT /x 42 - -",
        );
        check(
            r#"{"@timestamp":1431857103250,"ClientHost":"198.51.100.7:5000","RequestMethod":"GET","RequestPath":"/x","plan":"pro"}"#,
            "1431857103250 198.51.100.7 GET /x - - pro",
        );
        check(
            r#"{"start_time":"2015-05-17T10:05:03.250Z","downstream_remote_address":"[2001:db8::5]:443","url":"https://h/y"}"#,
            "1431857103250 2001:db8::5  /y - - -",
        );
    }

    #[test]
    fn headers_and_attributes_are_tables() {
        let line = r#"{"t":1,"headers":{"X-Api-Key":["k1","k2"]},"attributes":{"model":"large"},"user_agent":"curl"}"#;
        let Line::Request(entry) = read(line, true) else { panic!("{line}") };
        assert_eq!((&*entry.headers["x-api-key"], &*entry.headers["user-agent"]), ("k1", "curl"));
        assert_eq!(entry.attributes["model"], "large");
        let Line::Request(entry) = read(line, false) else { panic!("{line}") };
        assert!(entry.headers.is_empty());
    }

    #[test]
    fn a_line_without_a_time_or_its_end_is_unknown() {
        for line in
            ["{}", r#"{"ip":"1.2.3.4"}"#, r#"{"time":"soon"}"#, r#"{"time":"2015-05-17T10:05:03Z","ip":"1.2"#, "{]"]
        {
            assert_eq!(read(line, false), Line::Unknown, "{line}");
        }
    }
}
