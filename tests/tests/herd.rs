//! A hundred thousand callers that were refused in the same instant must not come back in one.

use std::time::Duration;

use tallyring_tests::herd::{CALLERS, Manners, Returns, Server, WINDOW_S, plot, run};

const SEEDS: std::ops::Range<u64> = 0..5;

/// Runs a herd for several seeds.
fn check(manners: Manners, server: Server, expect: impl Fn(&Returns)) {
    for seed in SEEDS {
        let returns = run(manners, server, seed);
        println!("{manners:?} {server:?} {seed}: peak {}, {:?}", returns.peak(), returns.span);
        expect(&returns);
    }
}

#[test]
fn callers_that_add_to_what_they_were_told_come_back_evenly_and_are_all_allowed() {
    for server in [Server::Exact, Server::Jittered] {
        check(Manners::ToldAndMore, server, |returns| {
            assert!(returns.peak_to_even_tenths() <= 15, "{} tenths", returns.peak_to_even_tenths());
            assert_eq!(returns.allowed, CALLERS);
        });
    }
}

#[test]
fn nobody_comes_back_before_the_wait_is_over_or_after_twice_of_it() {
    check(Manners::ToldAndMore, Server::Exact, |returns| {
        assert!(returns.span.0 >= Duration::from_secs(WINDOW_S), "{:?}", returns.span);
        assert!(returns.span.1 <= Duration::from_secs(2 * WINDOW_S), "{:?}", returns.span);
    });
}

#[test]
fn callers_that_do_as_they_were_told_come_back_in_one_instant() {
    check(Manners::AsTold, Server::Exact, |returns| assert_eq!(returns.peak(), CALLERS));
}

#[test]
fn a_server_that_jitters_spreads_even_those() {
    check(Manners::AsTold, Server::Jittered, |returns| {
        assert!(returns.peak() < CALLERS / 10, "{}", returns.peak());
        assert_eq!(returns.allowed, CALLERS);
    });
}

#[test]
fn full_jitter_from_zero_is_refused_again() {
    check(Manners::FullJitter, Server::Exact, |returns| assert!(returns.allowed < 10, "{}", returns.allowed));
}

#[test]
fn the_same_seed_gives_the_same_herd() {
    let herd = |seed| run(Manners::ToldAndMore, Server::Jittered, seed);
    assert_eq!(herd(7), herd(7));
    assert_ne!(herd(7), herd(8));
}

#[test]
fn the_plot_in_the_docs_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/herd.svg");
    let committed = std::fs::read_to_string(path).unwrap();
    assert!(committed == plot(), "cargo run -p tallyring-tests --bin herd > docs/herd.svg");
}
