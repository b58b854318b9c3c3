//! Random calls on real engines, flushes at any time, connections that break, fills in the middle: a replica that is whole
//! says and decides what its owner said at the flush that the replica stands at.

mod bound;
#[path = "../../../engine/tests/export/call.rs"]
mod call;
mod link;
mod refused;
mod world;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use self::world::{Run, run};

/// Real bugs, put back to see that they are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bug {
    /// An old owner's flush is taken after another one took over.
    Unfenced,
    /// A flush is taken although one before it is missing.
    Gaps,
}

/// Runs of a fixed seed in which a bug must show.
const RUNS_MAX: usize = 400;

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_shrink_time: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn a_replica_decides_as_its_owner_did_at_what_it_acknowledged(run_of in world::any_run()) {
        prop_assert_eq!(run(&run_of, None), Ok(()));
    }
}

fn check_found(bug: Bug) {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut draw = || -> Run { world::any_run().new_tree(&mut runner).expect("nothing is filtered").current() };
    let found = (0..RUNS_MAX).map(|_| draw()).position(|run_of| run(&run_of, Some(bug)).is_err());
    assert!(found.is_some(), "{bug:?} did not show in {RUNS_MAX} runs");
}

#[test]
fn an_old_owner_that_is_not_fenced_off_is_found() {
    check_found(Bug::Unfenced);
}

#[test]
fn a_lost_flush_that_nobody_misses_is_found() {
    check_found(Bug::Gaps);
}
