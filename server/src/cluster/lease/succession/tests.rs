use super::*;
use crate::cluster::control::member::Status;

/// What node 1 learns of a range.
#[derive(Clone, Copy, Debug)]
enum News {
    /// There is the next epoch, in which this node owns the range and those are down.
    Next {
        owner: u64,
        down: &'static [u64],
    },
    /// The next epoch but one.
    Skipped {
        owner: u64,
    },
    MovedOn(u64, u64),
    Settled(u64),
}

use News::{MovedOn, Next, Settled, Skipped};

fn roll(epoch: u64, down: &[u64]) -> Roll {
    let status = |id| if down.contains(&id) { Status::Down } else { Status::Up };
    Roll { epoch, members: (1..=20).map(|id| (NodeId(id), status(id))).collect() }
}

/// Node 1 knows under epoch 5 that node 2 owns the range, and that this has settled. Then it hears the news.
fn check(news: &[News], expect: bool) {
    let mut range = Succession::new(NodeId(1), 5, NodeId(2));
    range.settled(5);
    for piece in news {
        match *piece {
            Next { owner, down } => range.follow(&roll(range.epoch + 1, down), NodeId(owner)),
            Skipped { owner } => range.follow(&roll(range.epoch + 2, &[]), NodeId(owner)),
            MovedOn(node, epoch) => range.moved_on(NodeId(node), epoch),
            Settled(epoch) => range.settled(epoch),
        }
    }
    assert_eq!(range.is_sole(), expect, "{news:?}");
}

const MINE: News = Next { owner: 1, down: &[] };
const NEVER: bool = false;
const AT_ONCE: bool = true;

#[test]
fn what_somebody_else_owns_is_not_mine() {
    check(&[], false);
    check(&[MovedOn(2, 6), Settled(6)], false);
    check(&[MINE, Settled(6), Next { owner: 2, down: &[] }], false);
}

#[test]
fn a_new_owner_waits_for_the_one_before_it() {
    check(&[MINE], NEVER);
    check(&[MINE, MovedOn(2, 6)], AT_ONCE);
    check(&[MINE, MovedOn(2, 5)], NEVER);
    check(&[MINE, MovedOn(3, 6)], NEVER);
    check(&[MINE, Settled(5)], NEVER);
    check(&[MINE, Settled(6)], AT_ONCE);
    check(&[MINE, MINE, MovedOn(2, 6)], AT_ONCE);
}

#[test]
fn whoever_is_out_is_not_waited_for() {
    check(&[Next { owner: 1, down: &[2] }], AT_ONCE);
    check(&[Next { owner: 1, down: &[3] }], NEVER);
    check(&[MINE, Next { owner: 1, down: &[2] }], AT_ONCE);
}

#[test]
fn a_new_owner_waits_for_all_before_it() {
    let by_three = Next { owner: 3, down: &[] };
    check(&[by_three, Next { owner: 1, down: &[3] }], NEVER);
    check(&[by_three, Next { owner: 1, down: &[3] }, MovedOn(2, 6)], AT_ONCE);
    check(&[by_three, MINE, MovedOn(3, 7)], NEVER);
    check(&[by_three, MINE, MovedOn(3, 7), Settled(6)], AT_ONCE);
    check(&[by_three, MINE, Settled(6)], NEVER);
    check(&[by_three, Next { owner: 2, down: &[] }, MINE, MovedOn(3, 7), MovedOn(2, 6)], NEVER);
    check(&[by_three, Next { owner: 2, down: &[] }, MINE, MovedOn(3, 7), MovedOn(2, 8)], AT_ONCE);
}

#[test]
fn what_was_not_seen_may_have_been_anybodys() {
    check(&[Skipped { owner: 1 }], NEVER);
    check(&[Skipped { owner: 1 }, MovedOn(2, 7)], NEVER);
    check(&[Skipped { owner: 1 }, Settled(6)], NEVER);
    check(&[Skipped { owner: 1 }, Settled(7)], AT_ONCE);
    let mut started = Succession::new(NodeId(1), 5, NodeId(1));
    assert!(!started.is_sole());
    started.settled(5);
    assert!(started.is_sole());
}

#[test]
fn an_older_epoch_changes_nothing() {
    let mut range = Succession::new(NodeId(1), 5, NodeId(1));
    range.settled(5);
    range.follow(&roll(5, &[]), NodeId(2));
    assert!(range.is_sole());
}

#[test]
fn too_many_former_owners_are_waited_for_as_one() {
    let mut range = Succession::new(NodeId(1), 5, NodeId(2));
    for epoch in 6..=6 + FORMER_MAX as u64 {
        range.follow(&roll(epoch, &[]), NodeId(epoch - 3));
        assert!(range.former.len() <= FORMER_MAX);
    }
    let epoch = range.epoch + 1;
    range.follow(&roll(epoch, &[]), NodeId(1));
    range.settled(epoch - 1);
    assert!(!range.is_sole());
    range.settled(epoch);
    assert!(range.is_sole());
}
