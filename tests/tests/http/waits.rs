//! What `Retry-After` says: what is left of the wait, of the counter that refused.

use crate::connection::{Answer, get};
use crate::system::System;

const SECOND_US: u64 = 1_000_000;

/// Sends a request at so many microseconds after the hour, through a gateway that remembers nothing.
async fn get_at(system: &System, us: u64) -> Answer {
    system.set(us);
    get(system.gateway().await).await
}

fn status_and_wait(answer: &Answer) -> (u16, Option<&str>) {
    (answer.status(), answer.header("retry-after"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_is_what_is_left_of_the_window() {
    // http-retry-04
    let rule = r#"{"id":"minute","key":["client"],"algorithm":"fixed_window","limit":60,"window":"60s"}"#;
    let system = System::start(&[rule]).await;
    system.set(10 * SECOND_US);
    let gateway = system.gateway().await;
    for _ in 0..60 {
        assert_eq!(get(gateway).await.status(), 200);
    }
    assert_eq!(status_and_wait(&get_at(&system, 45_200_000).await), (429, Some("15")));
    assert_eq!(status_and_wait(&get_at(&system, 59_999_999).await), (429, Some("1")));
    assert_eq!(status_and_wait(&get_at(&system, 60_000_000).await), (200, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_windows_that_are_used_up_the_later_one_is_waited_for() {
    // http-retry-07: of an hour that has 1724 s to go
    let rule = |id: &str, limit: u64, window: &str| {
        format!(
            r#"{{"id":"{id}","group":"{id}","key":["client"],"algorithm":"fixed_window","limit":{limit},"window":"{window}"}}"#
        )
    };
    let rules = [rule("minute", 5, "60s"), rule("hour", 5, "1h"), rule("day", 12, "1d")];
    let system = System::start(&[&rules[0], &rules[1], &rules[2]]).await;
    system.set((3_600 - 1_724) * SECOND_US);
    let gateway = system.gateway().await;
    for _ in 0..5 {
        assert_eq!(get(gateway).await.status(), 200);
    }
    let answer = get(gateway).await;
    assert_eq!(status_and_wait(&answer), (429, Some("1724")));
    let problem: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(problem["violated-policies"], serde_json::json!(["minute", "hour"]));
    // It is 13:31:16.
    let left = r#""minute";r=0;t=44, "hour";r=0;t=1724, "day";r=7;t=37724"#;
    assert_eq!(answer.header("ratelimit"), Some(left));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_is_read_from_the_counter_that_refused() {
    // http-retry-08: whatever stands before the key
    let rule = r#"{"id":"svcA:p","key":["client"],"algorithm":"token_bucket","limit":1,"window":"10s","burst":1}"#;
    let system = System::start(&[rule]).await;
    let gateway = system.gateway().await;
    assert_eq!(status_and_wait(&get(gateway).await), (200, None));
    assert_eq!(status_and_wait(&get(gateway).await), (429, Some("10")));
}
