use super::*;

fn check(json: &str, path: &str) {
    let charged = Question::parse(json.as_bytes()).and_then(|question| question.charge().map(drop));
    let bad = charged.unwrap_err();
    assert_eq!(bad.path, path, "{json}: {bad}");
}

fn accept(json: &str) -> Question<'_> {
    Question::parse(json.as_bytes()).unwrap_or_else(|bad| panic!("{json}: {bad}"))
}

#[test]
fn a_bad_field_is_named_by_its_path() {
    check(r#"{"cost":-1}"#, "cost");
    check(r#"{"cost":1.0}"#, "cost");
    check(r#"{"cost":null}"#, "cost");
    check(r#"{"cost":"1"}"#, "cost");
    check(r#"{"cost":1000000000001}"#, "cost");
    check(r#"{"cost":18446744073709551616}"#, "cost");
    check(r#"{"client":7}"#, "client");
    check(r#"{"ip":"203.0.113.9:80"}"#, "ip");
    check(r#"{"path":null}"#, "path");
    check(r#"{"path":"v1/charges"}"#, "path");
    check(r#"{"path":"http://x/v1/charges"}"#, "path");
    check(r#"{"method":"post"}"#, "method");
    check(r#"{"headers":[]}"#, "headers");
    check(r#"{"headers":{"a":"x","b":2}}"#, "headers.b");
    check(r#"{"attributes":{"plan":null}}"#, "attributes.plan");
    check(r#"{"reserve":{"id":"","ttl_ms":5}}"#, "reserve.id");
    check(r#"{"reserve":{"id":"x","ttl_ms":0}}"#, "reserve.ttl_ms");
    check(r#"{"reserve":{"id":"x","ttl_ms":86400001}}"#, "reserve.ttl_ms");
    check(r#"{"reserve":{"id":"x","ttl_ms":5},"cost":0}"#, "cost");
    check(r#"{"id":"x"}"#, "id");
    check(r#"{"actual":1}"#, "actual");
}

#[test]
fn a_field_that_is_said_twice_is_named_by_its_path() {
    check(r#"{"cost":1,"cost":2}"#, "cost");
    check(r#"{"reserve":{"id":"x","ttl_ms":5,"id":"y"}}"#, "reserve.id");
}

#[test]
fn what_was_allowed_is_said_in_the_readers_words() {
    let said = |json: &str, expect: &str| {
        let bad = Question::parse(json.as_bytes()).unwrap_err().to_string();
        assert!(bad.contains(expect), "{json}: {bad}");
    };
    said(r#"{"cost":"1"}"#, "expected a whole number in 0 ..= 1000000000000");
    said(r#"{"cost":1.5}"#, "expected a whole number in 0 ..= 1000000000000");
    said(r#"{"cost":-1}"#, "-1 is not in 0 ..= 1000000000000");
    said(r#"{"reserve":{"id":"x","ttl_ms":0}}"#, "0 is not in 1 ..= 86400000");
    said(r#"{"reserve":7}"#, "expected an object with id and ttl_ms");
    said(r#"{"ip":"localhost"}"#, "expected an IP address without a port, such as \"203.0.113.9\"");
    said(r#"{"cost":1,"cost":2}"#, "cost: it is said twice");
}

#[test]
fn a_field_that_nobody_knows_is_named_by_its_path() {
    check(r#"{"teir":"free"}"#, "teir");
    check(r#"{"":1}"#, "body");
    check(r#"{"reserve":{"id":"x","ttl_ms":5,"ttl":6}}"#, "reserve.ttl");
}

#[test]
fn what_is_no_object_is_a_bad_body() {
    for json in ["", "[]", "null", "7", "{", "{}x", "{\"client\":\"a\",}", "[\"a\",\"b\"]", "\u{feff}{}"] {
        check(json, "body");
    }
}

#[test]
fn a_missing_part_of_a_reservation_is_named() {
    check(r#"{"reserve":{"id":"x"}}"#, "reserve");
    check(r#"{"reserve":{"ttl_ms":1}}"#, "reserve");
    check(r#"{"reserve":null,"cost":-1}"#, "cost");
}

#[test]
fn more_names_than_a_request_has_are_refused() {
    let names: Vec<String> = (0..129).map(|no| format!(r#""h{no}":"x""#)).collect();
    check(&format!(r#"{{"headers":{{{}}}}}"#, names.join(",")), "headers");
}

#[test]
fn what_is_not_said_is_not_known() {
    for json in ["{}", r#" {"client":null,"tenant":null,"tier":null,"ip":null,"priority":null,"reserve":null}"#] {
        let question = accept(json);
        let subject = question.subject();
        assert_eq!((subject.client, subject.ip, subject.method, subject.path), (None, None, "", ""));
        assert_eq!(question.charge().unwrap(), Charge { cost: 1, priority: None, manner: Manner::Check });
    }
}

#[test]
fn headers_are_found_whatever_their_case_and_attributes_are_not() {
    let question = accept(r#"{"headers":{"X-Plan":"a","x-plan":"b"},"attributes":{"Plan":"c"}}"#);
    let subject = question.subject();
    assert_eq!(subject.headers.get("x-plan"), Some("a"));
    assert_eq!((subject.attributes.get("plan"), subject.attributes.get("Plan")), (None, Some("c")));
}

#[test]
fn a_settle_says_which_and_how_much() {
    let path = |json| accept(json).correction().unwrap_err().path;
    assert_eq!(path(r#"{"client":"a","actual":3}"#), "id");
    assert_eq!(path(r#"{"client":"a","id":"x"}"#), "actual");
    let question = accept(r#"{"client":"a","cost":9,"reserve":{"id":"x","ttl_ms":5},"id":"x","actual":0}"#);
    let Correction { id, actual } = question.correction().unwrap();
    assert_eq!((id, actual), (&b"x"[..], 0));
}
