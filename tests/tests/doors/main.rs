//! One trace, every door: each recorded trace, asked of a node through each door, gets the recorded decisions.
//!
//! A door of a node that does not own the keys says the same, of a cluster of three.
//!
//! The node is whole: sockets, acceptor, shards, mailboxes. Only its clock is set by hand, to each event's instant. What a
//! door cannot say (a frame has no room for a cost of 1.5) is not asked there; how a door words an answer is its own.

#![cfg(not(feature = "sim"))]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::unwrap_used, reason = "a test of real threads")]

mod door;
mod http;
mod native;
mod play;
mod resp;
mod tag;

use play::vectors;

macro_rules! traces {
    ($($name:ident)*) => {
        const TRACES: &[&str] = &[$(stringify!($name)),*];
        mod over_native {
            $(#[tokio::test] async fn $name() { crate::native::check(stringify!($name)).await; })*
        }
        mod over_resp {
            $(#[tokio::test] async fn $name() { crate::resp::check(stringify!($name)).await; })*
        }
        mod over_http {
            $(#[tokio::test] async fn $name() { crate::http::check(stringify!($name)).await; })*
        }
        mod of_another_node_over_resp {
            $(#[tokio::test] async fn $name() { crate::resp::check_forwarded(stringify!($name)).await; })*
        }
        mod of_another_node_over_http {
            $(#[tokio::test] async fn $name() { crate::http::check_forwarded(stringify!($name)).await; })*
        }
    };
}

traces! {
    token_bucket gcra leaky_bucket fixed_window sliding_log sliding_counter concurrency reserve_settle check_all
    more_conc more_dense0 more_dense1 more_directed more_directed2 more_slow0 more_slow1 more_wide
}

#[test]
fn every_recorded_trace_has_a_test() {
    let files = std::fs::read_dir(vectors()).unwrap().count();
    assert_eq!(files, TRACES.len() * 2, "each trace is one file in and one out");
}
