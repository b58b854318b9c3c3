//! The control planes of a cluster on one thread, on a virtual clock, over a network that fails: nodes crash and lose what
//! was not synced, leave and come back as others, links are cut in one direction or both or become slow, clocks run wrong
//! and are set, and everything follows from a seed.
//!
//! The same code as in production: only `sys` differs. `docs/simulation.md` says how to repeat a seed.

pub mod bug;
mod disk;
mod fate;
pub mod history;
pub mod invariants;
pub mod plan;
mod world;

use self::bug::Bug;
use self::history::History;
use self::plan::Plan;

/// One simulation, of what is drawn from the seed.
pub fn run(seed: u64) -> History {
    run_with(seed, None)
}

/// The same, of a program with a bug.
pub fn run_with(seed: u64, bug: Option<Bug>) -> History {
    world::run(seed, bug, Plan::draw)
}

/// One simulation of what is planned.
pub fn run_plan(seed: u64, plan: Plan) -> History {
    world::run(seed, None, || plan)
}

/// What is broken, and how; `None` = nothing is.
pub fn broken(history: &History) -> Option<String> {
    let broken = |(name, check): &(&str, invariants::Check)| check(history).err().map(|how| format!("{name}: {how}"));
    invariants::ALL.iter().find_map(broken)
}
