use super::super::length::{LEASE_US, LEASE_US_MIN};
use super::*;
use crate::cluster::control::member::Status;

const MS: u64 = 1_000;

/// When the leader of these tests was elected, and when what former ones granted is surely over.
const ELECTED: u64 = 10_000 * MS;
const WAITED: u64 = ELECTED + 510_001;

fn roll(epoch: u64, members: &[(u64, Status)]) -> Roll {
    Roll { epoch, members: members.iter().map(|(id, status)| (NodeId(*id), *status)).collect() }
}

const UP: [(u64, Status); 3] = [(1, Status::Up), (2, Status::Up), (3, Status::Up)];
const TWO_DOWN: [(u64, Status); 3] = [(1, Status::Up), (2, Status::Down), (3, Status::Up)];

fn leader() -> Grants {
    Grants::new(Length::DEFAULT, ELECTED, roll(5, &UP))
}

fn at(now_us: u64) -> Standing {
    Standing { now_us, quorum_until_us: now_us }
}

/// What node 2 is answered by a leader that it asks.
fn ask(grants: &mut Grants, now_us: u64, tenure: u64) -> Result<Grant, Refusal> {
    let ask = Ask { tenure, number: now_us, length: Length::DEFAULT };
    let answer = grants.answer(at(now_us), NodeId(2), &ask);
    assert_eq!((answer.tenure, answer.number), (tenure, now_us));
    answer.outcome
}

fn granted(epoch: u64, settled: u64) -> Result<Grant, Refusal> {
    Ok(Grant { epoch, length: Length::DEFAULT, settled })
}

fn held(until_us: u64, now_us: u64) -> Result<(), Kept> {
    Err(Kept::Held { until_us, now_us })
}

#[test]
fn a_new_leader_gives_nothing_away_before_its_predecessors_leases_are_over() {
    let mut grants = leader();
    assert_eq!(grants.condemn(at(ELECTED), NodeId(2)), held(WAITED, ELECTED));
    assert_eq!(grants.condemn(at(WAITED), NodeId(2)), held(WAITED, WAITED));
    assert_eq!(grants.silent(at(WAITED)).count(), 0);
    assert_eq!(grants.silent(at(WAITED + 1)).collect::<Vec<_>>(), [1, 2, 3].map(NodeId));
    assert_eq!(grants.condemn(at(WAITED + 1), NodeId(2)), Ok(()));
}

#[test]
fn a_new_leader_grants_at_once() {
    assert_eq!(ask(&mut leader(), ELECTED, 1), granted(5, 0));
}

#[test]
fn what_was_granted_is_waited_for_from_the_answer_on() {
    let mut grants = leader();
    let answered = WAITED + 100 * MS;
    ask(&mut grants, answered, 1).unwrap();
    let over = answered + 510_001;
    assert_eq!(grants.condemn(at(over), NodeId(2)), held(over, over));
    assert_eq!(grants.silent(at(over)).collect::<Vec<_>>(), [1, 3].map(NodeId));
    assert_eq!(grants.condemn(at(over + 1), NodeId(2)), Ok(()));
}

#[test]
fn whoever_is_being_given_up_is_granted_nothing() {
    let mut grants = leader();
    grants.condemn(at(WAITED + 1), NodeId(2)).unwrap();
    assert_eq!(ask(&mut grants, WAITED + 2, 1), Err(Refusal::Condemned));
    grants.follow(WAITED + 3, roll(6, &UP));
    assert_eq!(ask(&mut grants, WAITED + 4, 1), Err(Refusal::Condemned), "another change says nothing");
    grants.follow(WAITED + 5, roll(7, &TWO_DOWN));
    assert_eq!(ask(&mut grants, WAITED + 6, 1), granted(7, 7), "under the epoch in which it owns nothing");
}

#[test]
fn whoever_is_pardoned_is_granted_again() {
    let mut grants = leader();
    grants.condemn(at(WAITED + 1), NodeId(2)).unwrap();
    grants.pardon(NodeId(2));
    assert_eq!(ask(&mut grants, WAITED + 2, 1), granted(5, 5));
}

#[test]
fn a_leader_that_may_have_been_succeeded_neither_grants_nor_gives_away() {
    let mut grants = leader();
    let unheard = Standing { now_us: WAITED + 1, quorum_until_us: WAITED };
    let ask = Ask { tenure: 1, number: 0, length: Length::DEFAULT };
    assert_eq!(grants.answer(unheard, NodeId(2), &ask).outcome, Err(Refusal::NoQuorum));
    assert_eq!(grants.condemn(unheard, NodeId(2)), Err(Kept::NoQuorum));
    assert!(!grants.may_return(unheard, NodeId(2)));
}

#[test]
fn only_members_are_granted_leases() {
    let mut grants = Grants::new(Length::DEFAULT, ELECTED, roll(5, &UP[..1]));
    assert_eq!(ask(&mut grants, ELECTED, 1), Err(Refusal::NotAMember), "joining is not committed");
    grants.follow(ELECTED, roll(6, &UP));
    assert_eq!(ask(&mut grants, ELECTED, 1), granted(6, 5));
    grants.follow(ELECTED, roll(7, &UP[..1]));
    assert_eq!(ask(&mut grants, ELECTED, 1), Err(Refusal::NotAMember), "it has left");
}

#[test]
fn a_new_member_has_time_to_ask() {
    let mut grants = Grants::new(Length::DEFAULT, ELECTED, roll(5, &UP[..1]));
    let joined = WAITED + 1_000 * MS;
    grants.follow(joined, roll(6, &UP[..2]));
    assert!(!grants.silent(at(joined + 510_001)).any(|node| node == NodeId(2)));
    assert!(grants.silent(at(joined + 510_002)).any(|node| node == NodeId(2)));
}

#[test]
fn what_is_given_back_is_over_at_once() {
    let mut grants = leader();
    let now = WAITED + 1;
    ask(&mut grants, now, 1).unwrap();
    grants.take_back(NodeId(2), &GiveBack { tenure: 1 });
    assert_eq!(ask(&mut grants, now, 1), Err(Refusal::Predecessor), "a question that was overtaken");
    assert_eq!(grants.condemn(at(now), NodeId(2)), Ok(()));
}

#[test]
fn what_another_tenure_gives_back_is_not_this_ones() {
    let mut grants = leader();
    ask(&mut grants, WAITED, 1).unwrap();
    grants.take_back(NodeId(2), &GiveBack { tenure: 9 });
    assert_eq!(grants.held_until_us(NodeId(2)), WAITED + 510_001);
}

#[test]
fn a_lease_of_a_former_leader_cannot_be_given_back_to_this_one() {
    let mut grants = leader();
    ask(&mut grants, ELECTED, 1).unwrap();
    grants.take_back(NodeId(2), &GiveBack { tenure: 1 });
    assert_eq!(grants.condemn(at(WAITED), NodeId(2)), held(WAITED, WAITED));
}

#[test]
fn a_node_that_starts_anew_is_marked_down_before_it_is_granted_anything() {
    let mut grants = leader();
    let now = WAITED + 1;
    ask(&mut grants, now, 1).unwrap();
    assert_eq!(ask(&mut grants, now + 1, 2), Err(Refusal::Predecessor));
    let over = now + 510_002;
    assert_eq!(ask(&mut grants, over, 2), Err(Refusal::Predecessor), "it has forgotten what it counted");
    grants.condemn(at(over), NodeId(2)).unwrap();
    grants.follow(over, roll(6, &TWO_DOWN));
    assert_eq!(ask(&mut grants, over, 2), granted(6, 6));
    assert_eq!(ask(&mut grants, over, 1), Err(Refusal::Predecessor), "a question of the earlier start");
}

#[test]
fn an_epoch_settles_when_no_lease_of_an_older_one_lasts() {
    let mut grants = leader();
    let now = WAITED + 1;
    assert_eq!(ask(&mut grants, now, 1), granted(5, 5));
    grants.follow(now, roll(6, &UP));
    assert_eq!(ask(&mut grants, now, 1), granted(6, 5));
    assert_eq!(ask(&mut grants, now + 510_001, 1), granted(6, 5));
    assert_eq!(ask(&mut grants, now + 510_002, 1), granted(6, 6));
}

#[test]
fn whoever_is_out_keeps_no_epoch_from_settling() {
    let mut grants = leader();
    let now = WAITED + 1;
    let other = Ask { tenure: 1, number: 0, length: Length::DEFAULT };
    grants.condemn(at(now), NodeId(2)).unwrap();
    grants.follow(now, roll(6, &TWO_DOWN));
    ask(&mut grants, now, 1).unwrap();
    grants.follow(now, roll(7, &TWO_DOWN));
    let settled = grants.answer(at(now), NodeId(1), &other).outcome.unwrap().settled;
    assert_eq!(settled, 7, "node 2 decides nothing, though it was granted a lease of epoch 6");
}

#[test]
fn a_cluster_of_one_waits_for_nobody() {
    let mut grants = Grants::new(Length::DEFAULT, ELECTED, roll(5, &UP[1..2]));
    assert_eq!(ask(&mut grants, ELECTED, 1), granted(5, 5));
    assert_eq!(grants.silent(at(ELECTED)).count(), 0);
}

#[test]
fn of_two_versions_the_shorter_lease_is_granted_and_the_longest_waited_for() {
    let short = Length::new(LEASE_US_MIN).unwrap();
    let check = |leads: Length, asks: Length, expect: Length| {
        let mut grants = Grants::new(leads, ELECTED, roll(5, &UP));
        let ask = Ask { tenure: 1, number: 0, length: asks };
        let now = WAITED + LEASE_US;
        assert_eq!(grants.answer(at(now), NodeId(2), &ask).outcome.map(|grant| grant.length), Ok(expect));
        assert_eq!(grants.held_until_us(NodeId(2)), now + expect.leader_us());
        assert_eq!(grants.held_until_us(NodeId(1)), WAITED, "as long as any version may have granted");
    };
    check(Length::DEFAULT, Length::DEFAULT, Length::DEFAULT);
    check(Length::DEFAULT, short, short);
    check(short, Length::DEFAULT, short);
}

#[test]
fn a_shorter_lease_does_not_end_a_longer_one() {
    let mut grants = leader();
    ask(&mut grants, WAITED, 1).unwrap();
    let short = Ask { tenure: 1, number: 0, length: Length::new(LEASE_US_MIN).unwrap() };
    grants.answer(at(WAITED + 1), NodeId(2), &short).outcome.unwrap();
    assert_eq!(grants.held_until_us(NodeId(2)), WAITED + 510_001);
}

#[test]
fn a_node_that_is_down_returns_after_it_has_asked_for_a_while() {
    let mut grants = leader();
    grants.condemn(at(WAITED + 1), NodeId(2)).unwrap();
    let down = WAITED + 2;
    grants.follow(down, roll(6, &TWO_DOWN));
    let returns = |grants: &mut Grants, now_us| {
        ask(grants, now_us, 1).unwrap();
        grants.may_return(at(now_us), NodeId(2))
    };
    let first = (down..).step_by(60_000).find(|now_us| returns(&mut grants, *now_us)).unwrap();
    assert_eq!(first, down + RETURN_US_MIN.next_multiple_of(60_000));
    assert!(!grants.may_return(at(first), NodeId(1)), "it is not down");
    assert!(!grants.may_return(at(first + 2 * SILENCE_US_MAX), NodeId(2)), "nobody hears of it");
}
