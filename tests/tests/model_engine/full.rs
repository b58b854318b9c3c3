//! Full is a designed reply: what is said when no holder or reservation more can be kept.

use tallyring::cli::trace::Trace;
use tallyring_tests::model::same;

const HOLDERS_MAX: u32 = 10_000;
const RESERVATIONS_MAX: u32 = 100_000;
const FULL: &str = r#"{"error":"full"}"#;

fn check(trace: &mut Trace, event: &str, expect: &str) {
    let found = trace.line(event).expect("an event has an answer");
    assert!(same(&found, expect), "{event}\n   found {found}\nexpected {expect}");
}

fn acquire(key: &str, holder: u32, limit: u64) -> String {
    format!(r#"{{"t_us":0,"op":"acquire","key":"{key}","holder":"h{holder}","limit":{limit},"ttl_us":1000}}"#)
}

fn acquired(limit: u64, in_use: u32) -> String {
    format!(r#"{{"allowed":true,"limit":{limit},"in_use":{in_use},"retry_after_us":0}}"#)
}

fn reserve(t_us: u32, id: u32) -> String {
    let limit = r#""algorithm":"fixed_window","limit":1000000000000,"period_us":3"#;
    format!(r#"{{"t_us":{t_us},"op":"reserve","key":"k","id":"r{id}",{limit},"ttl_us":3}}"#)
}

fn reserved(count: u32, reset_after_us: u32) -> String {
    let remaining = 1_000_000_000_000 - u64::from(count);
    let waits = format!(r#""retry_after_us":0,"reset_after_us":{reset_after_us}"#);
    format!(r#"{{"allowed":true,"limit":1000000000000,"remaining":{remaining},{waits}}}"#)
}

#[test]
fn a_key_takes_ten_thousand_holders() {
    let mut trace = Trace::new();
    for holder in 1..HOLDERS_MAX {
        trace.line(&acquire("k", holder, 1_000_000));
    }
    check(&mut trace, &acquire("k", HOLDERS_MAX, 1_000_000), &acquired(1_000_000, HOLDERS_MAX));
    check(&mut trace, &acquire("k", 0, 1_000_000), FULL);
    let rejected = r#"{"allowed":false,"limit":9,"in_use":10000,"retry_after_us":1000}"#;
    check(&mut trace, &acquire("k", 0, 9), rejected); // full only where the call would else be allowed
    check(&mut trace, &acquire("k", 7, 1_000_000), &acquired(1_000_000, HOLDERS_MAX)); // who holds can renew
    check(&mut trace, &acquire("other", 0, 1), &acquired(1, 1)); // the bound is a key's
    let release = r#"{"t_us":0,"op":"release","key":"k","holder":"h7"}"#;
    check(&mut trace, release, r#"{"released":true,"in_use":9999}"#);
    check(&mut trace, &acquire("k", 0, 1_000_000), &acquired(1_000_000, HOLDERS_MAX));
    check(&mut trace, &acquire("k", 7, 1_000_000), FULL);
    check(&mut trace, &acquire("k", 7, 1).replace(r#""t_us":0"#, r#""t_us":1000"#), &acquired(1, 1)); // all have ended
}

#[test]
fn a_store_takes_a_hundred_thousand_reservations() {
    let mut trace = Trace::new();
    for id in 1..RESERVATIONS_MAX {
        trace.line(&reserve(1, id));
    }
    check(&mut trace, &reserve(1, RESERVATIONS_MAX), &reserved(RESERVATIONS_MAX, 2));
    check(&mut trace, &reserve(1, 0), FULL);
    check(&mut trace, &reserve(1, 7), &reserved(7, 2)); // a retry charges nothing and repeats its first decision
    let settle = r#"{"t_us":1,"op":"settle","key":"k","id":"r7","actual":1}"#;
    check(&mut trace, settle, r#"{"settled":true,"remaining":999999900000,"reset_after_us":2}"#);
    check(&mut trace, &reserve(1, 0), &reserved(RESERVATIONS_MAX + 1, 2));
    check(&mut trace, &reserve(1, 7), FULL);
    check(&mut trace, &reserve(3, 7), FULL); // a new window, but the reservations have a microsecond to live
    check(&mut trace, &reserve(4, 7), &reserved(1, 2));
}
