//! Leases in a world of wrong clocks: leaders, owners and voters on a virtual true time that no node knows.
//!
//! Machines crash, sleep in the middle of a turn, are cut off one way or both, drain and come back; messages are lost, late,
//! doubled and in any order. What is under test is `tallyring::cluster::lease`, unchanged; around it stands the
//! smallest consensus that can elect leaders and agree on who is down. An invariant is a function of `invariants.rs`.
//!
//! `cargo test -p tallyring --test lease`; `LEASE_SEED` and `LEASE_SEEDS` choose the seeds of the first test.

mod control;
mod dice;
mod fate;
mod invariants;
mod machine;
mod message;
mod shard;
mod world;

use crate::fate::{Fate, Fault, HEALED_US};
use crate::world::{Setup, World};

/// The longest that an election may take from the leader's last heartbeat on, of the product's own times.
const ELECTED_WITHIN_US: u64 = 360_000;

/// A mistake that somebody could make, and that the invariants must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    /// An owner counts its lease from the answer.
    Pushed,
    /// A new leader forgets that there was one before it.
    HastyLeader,
    /// A new leader grants by what was agreed on before it applied what its predecessor left.
    GrantsEarly,
    /// A leader grants for longer than its voters promised to follow nobody else.
    StubbornLeader,
    /// Answers leave without another look at the clock.
    LooksOnce,
    /// A new owner does not wait for the one before it.
    ImpatientHeir,
    /// Clocks' rates differ by more than they may.
    WildClocks,
}

impl Bug {
    const ALL: [Bug; 7] = [
        Bug::Pushed,
        Bug::HastyLeader,
        Bug::GrantsEarly,
        Bug::StubbornLeader,
        Bug::LooksOnce,
        Bug::ImpatientHeir,
        Bug::WildClocks,
    ];

    /// What must happen for the mistake to matter: anything, but for the rarest one.
    fn fate(self, seed: u64) -> Fate {
        if self == Bug::GrantsEarly { Fate::inheritance() } else { Fate::draw(seed) }
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Runs a world to its end, and a while longer until everybody serves again.
fn live(seed: u64, bug: Option<Bug>, fate: Fate) -> World {
    let mut world = World::new(Setup { seed, bug, fate });
    world.run_until(HEALED_US);
    world.run_until_healed();
    world
}

#[test]
fn one_node_decides_about_a_key_at_any_instant_and_everybody_serves_again() {
    let first = number("LEASE_SEED", 0);
    for seed in first..first + number("LEASE_SEEDS", 40) {
        let world = live(seed, None, Fate::draw(seed));
        assert_eq!(world.findings(), &[] as &[String], "LEASE_SEED={seed}");
        assert!(world.accepted() > 500, "LEASE_SEED={seed}: nobody was served");
    }
}

/// The seed that finds a mistake finds nothing without it.
fn check(bug: Bug, seed: u64) {
    assert!(finds(bug, seed), "{bug:?} is not found");
    assert_eq!(live(seed, None, bug.fate(seed)).findings(), &[] as &[String], "seed {seed}");
}

fn finds(bug: Bug, seed: u64) -> bool {
    let world = live(seed, Some(bug), bug.fate(seed));
    world.findings().iter().any(|finding| finding.starts_with("one owner"))
}

#[test]
fn each_mistake_is_found() {
    check(Bug::Pushed, 39);
    check(Bug::HastyLeader, 31);
    check(Bug::GrantsEarly, 4);
    check(Bug::StubbornLeader, 2);
    check(Bug::LooksOnce, 14);
    check(Bug::ImpatientHeir, 3);
    check(Bug::WildClocks, 22);
}

#[test]
fn killing_the_leader_costs_no_other_owner_its_lease() {
    let killed_us = 4_000_000;
    let mut in_time = 0;
    for seed in 0..20 {
        let fate = Fate::calm(vec![(killed_us, Fault::CrashLeader { for_us: 10_000_000 })]);
        let mut world = World::new(Setup { seed, bug: None, fate });
        world.run_until(killed_us + 3_000_000);
        assert_eq!(world.findings(), &[] as &[String], "seed {seed}");
        if world.elected_after(killed_us).is_some_and(|at_us| at_us - killed_us <= ELECTED_WITHIN_US) {
            in_time += 1;
            assert_eq!(world.refused_since(killed_us), 0, "seed {seed}: an owner had no lease");
        }
    }
    assert!(in_time >= 10, "only {in_time} of 20 elections were in time");
}

/// Looks for the seeds of `each_mistake_is_found`, when the world has changed.
#[test]
#[ignore = "a tool, not a test"]
fn seeds_that_find_mistakes() {
    for bug in Bug::ALL {
        let first = number("LEASE_SEED", 0);
        let found = (first..first + number("LEASE_SEEDS", 1_000)).find(|seed| finds(bug, *seed));
        println!("{bug:?}: {found:?}");
    }
}
