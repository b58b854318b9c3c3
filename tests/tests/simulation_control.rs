//! Three control planes on one thread, on a virtual clock, over a network that fails: nodes crash and lose what was not
//! synced, links are cut in one direction or both, and everything follows from a seed.
//!
//! The same code as in production: only `sys` differs. Run it with
//! `cargo test -p tallyring-tests --features sim --test simulation_control`; `SIM_SEED` and `SIM_SEEDS` choose the seeds.
#![cfg(feature = "sim")]
#![allow(clippy::unwrap_used, reason = "a broken fixture must panic")]

mod disk;
mod fate;
mod history;
mod invariants;
mod world;

use history::History;

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
    assert!(total(|history| history.failed) > 0, "and some pushes fail");
    assert!(total(|history| history.crashes) >= histories.len(), "nodes crash");
    assert!(total(|history| history.terms.len()) > 2 * histories.len(), "and others lead then");
}

fn checked(seed: u64) -> History {
    let history = world::run(seed);
    for (name, check) in invariants::ALL {
        if let Err(broken) = check(&history) {
            panic!("seed {seed}: {name}: {broken}\n{history}");
        }
    }
    history
}
