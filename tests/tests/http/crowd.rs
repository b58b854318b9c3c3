//! Many callers at once.

use std::collections::BTreeSet;

use tokio::task::JoinSet;

use crate::connection::Connection;
use crate::system::System;

const CONNECTIONS: usize = 64;
const REQUESTS: usize = 2_000;

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_says_what_is_left_and_no_two_say_the_same() {
    // http-head-04
    let rule = r#"{"id":"many","key":["client"],"algorithm":"fixed_window","limit":100000,"window":"60s"}"#;
    let system = System::start(&[rule]).await;
    let limiter = system.limiter();
    let gateway = system.serve(limiter.clone(), axum::Router::new().fallback(|| async { "ok" })).await;
    let mut callers = JoinSet::new();
    for caller in 0..CONNECTIONS {
        let requests = REQUESTS / CONNECTIONS + usize::from(caller < REQUESTS % CONNECTIONS);
        callers.spawn(async move {
            let mut connection = Connection::open(gateway).await;
            let mut remaining = Vec::new();
            for _ in 0..requests {
                let answer = connection.get().await;
                assert_eq!(answer.status(), 200);
                remaining.push(answer.header("ratelimit-remaining").unwrap().parse::<u64>().unwrap());
            }
            remaining
        });
    }
    let remaining: Vec<u64> = callers.join_all().await.into_iter().flatten().collect();
    assert_eq!(remaining.len(), REQUESTS);
    assert_eq!(remaining.into_iter().collect::<BTreeSet<u64>>(), (98_000..=99_999).collect());
    assert_eq!(limiter.counts().store_allowed, REQUESTS as u64);
}
