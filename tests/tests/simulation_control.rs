//! The control planes of a cluster, simulated. `SIM_SEED` and `SIM_SEEDS` choose the seeds; `docs/simulation.md` says more.
#![cfg(feature = "sim")]
#![allow(clippy::unwrap_used, reason = "a broken fixture must panic")]

use std::process::Command;
use std::time::Duration;

use tallyring_tests::sim::history::History;
use tallyring_tests::sim::plan::Plan;
use tallyring_tests::sim::{broken, run, run_plan};

/// The seeds to run: `SIM_SEEDS` of them, from `SIM_SEED` on.
fn seeds() -> std::ops::Range<u64> {
    let number = |name, default| std::env::var(name).map_or(default, |text| text.parse().expect("a whole number"));
    let first = number("SIM_SEED", 0);
    first..first + number("SIM_SEEDS", 6)
}

/// Every invariant, over every seed; and that there was something to hold them against.
#[test]
fn whatever_fails_the_nodes_agree() {
    let histories: Vec<History> = seeds().map(checked).collect();
    let total = |count: fn(&History) -> usize| histories.iter().map(count).sum::<usize>();
    assert!(total(|history| history.acked.len()) > 20 * histories.len(), "rules are pushed");
    assert!(total(|history| history.crashes) >= histories.len(), "nodes crash");
    assert!(total(|history| history.terms.len()) > 2 * histories.len(), "and others lead then");
    if histories.len() >= 6 {
        assert!(total(|history| history.failed) > 0, "some pushes fail");
        assert!(total(|history| history.returns) > 0, "some nodes leave and come back as others");
    }
}

fn checked(seed: u64) -> History {
    let history = run(seed);
    if let Some(broken) = broken(&history) {
        panic!("seed {seed}: {broken}\n{history}");
    }
    history
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let trace = |seed| run(seed).to_string();
    let first = trace(0);
    assert_eq!(first, trace(0));
    assert_ne!(first, trace(1), "the seed decides nothing");
}

/// A bug is found with this seed, by this invariant; without the bug all is well.
///
/// In a process of its own, as whoever repeats a seed runs it: simulations that ran before in a process can show in a trace.
fn check_found(bug: &str, seed: u64, expect: &str) {
    let found = simulate(&["--seed", &seed.to_string(), "--bug", bug]);
    assert!(found.starts_with(&format!("seed {seed}: {expect}")), "{bug}: {found}");
    assert_eq!(simulate(&["--seed", &seed.to_string()]), format!("seed {seed}: every invariant held"), "without {bug}");
}

/// The last line that the program prints.
fn simulate(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_simulate")).args(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().last().unwrap_or_default().to_owned()
}

#[test]
fn a_node_that_votes_in_place_of_the_one_it_was_is_found() {
    check_found("votes-in-place-of-another", 0, "no node ends by itself");
}

#[test]
fn a_disk_that_lies_about_its_syncs_is_found() {
    check_found("unsynced-writes", 1, "no node ends by itself");
}

#[test]
fn changes_that_are_applied_twice_are_found() {
    check_found("applies-twice", 65, "a change that was proposed twice happens once");
}

/// The others took a node that came back for its former self, which led, and sent it to itself.
#[test]
fn a_node_that_comes_back_is_not_sent_to_itself() {
    assert_eq!(broken(&run(9)), None);
}

/// Node 4 listens. It takes the place of a voter that is lost, so that another one may be lost after that.
#[test]
fn one_voter_after_the_other_may_be_lost() {
    let seconds = Duration::from_secs;
    let history = run_plan(0, Plan::of_deaths(&[(seconds(12), 2), (seconds(20), 1)], seconds(24)));
    assert_eq!(history.gave_up, None);
    assert!(history.voters.contains(&4) && !history.voters.contains(&2), "{:?} vote\n{history}", history.voters);
    assert!(history.acked.iter().any(|ack| ack.at > seconds(21)), "two of three agree\n{history}");
}
