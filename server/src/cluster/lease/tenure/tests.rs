use super::super::message::Grant;
use super::*;

/// What an owner may do at the end, after it asked at some instants and was answered so: which question, under which epoch.
struct Story {
    tenure: Tenure,
    asks: Vec<Ask>,
}

const ID: u64 = 7;

fn asked_at(instants_ms: &[u64]) -> Story {
    let mut tenure = Tenure::new(ID, Length::DEFAULT);
    let asks = instants_ms.iter().map(|at_ms| tenure.ask(at_ms * 1_000)).collect();
    Story { tenure, asks }
}

impl Story {
    fn answer(&mut self, question: usize, epoch: u64) -> Result<(), NoGrant> {
        let Ask { tenure, number, length } = self.asks[question];
        self.tenure.take(&Answer { tenure, number, outcome: Ok(Grant { epoch, length, settled: epoch }) })
    }
}

/// Asked at 0, 60 and 120 ms and answered so, an owner may decide under epochs 1, 2 and 3 until these milliseconds.
fn check(answers: &[(usize, u64)], expect_ms: [u64; 3]) {
    let mut story = asked_at(&[0, 60, 120]);
    for (question, epoch) in answers {
        story.answer(*question, *epoch).unwrap();
    }
    assert_eq!([1, 2, 3].map(|epoch| story.tenure.until_us(epoch) / 1_000), expect_ms, "{answers:?}");
}

#[test]
fn an_owner_without_an_answer_decides_nothing() {
    check(&[], [0, 0, 0]);
}

#[test]
fn an_older_answer_neither_shortens_nor_extends() {
    check(&[(0, 1)], [490, 490, 490]);
    check(&[(0, 1), (1, 1), (2, 1)], [610, 610, 610]);
    check(&[(2, 1), (0, 1)], [610, 610, 610]);
    check(&[(2, 1), (1, 1), (0, 1)], [610, 610, 610]);
    check(&[(1, 1)], [550, 550, 550]);
}

#[test]
fn a_lease_of_a_newer_epoch_is_none_under_an_older_topology() {
    check(&[(0, 3)], [0, 0, 490]);
    check(&[(0, 1), (1, 2), (2, 3)], [490, 550, 610]);
    check(&[(2, 3), (0, 1), (1, 2)], [490, 550, 610]);
}

#[test]
fn a_lease_of_an_older_epoch_that_ends_later_makes_the_other_one_useless() {
    check(&[(0, 3), (2, 1)], [610, 610, 610]);
    check(&[(2, 1), (0, 3)], [610, 610, 610]);
    check(&[(1, 2), (0, 3), (2, 1)], [610, 610, 610]);
}

#[test]
fn an_answer_counts_once_and_only_for_who_asked() {
    let mut story = asked_at(&[0, 60]);
    assert_eq!(story.answer(0, 1), Ok(()));
    assert_eq!(story.answer(0, 9), Err(NoGrant::Unasked), "a second time");
    story.asks[1].tenure = ID + 1;
    assert_eq!(story.answer(1, 1), Err(NoGrant::Unasked), "an earlier start of the node");
    story.asks[1] = Ask { tenure: ID, number: 2, ..story.asks[1] };
    assert_eq!(story.answer(1, 1), Err(NoGrant::Unasked), "never asked");
    assert_eq!(story.tenure.until_us(1), 490_000);
}

#[test]
fn a_refusal_leaves_what_is_held() {
    let mut story = asked_at(&[0, 60]);
    story.answer(0, 1).unwrap();
    let refused = Answer { tenure: ID, number: 1, outcome: Err(Refusal::Condemned) };
    assert_eq!(story.tenure.take(&refused), Err(NoGrant::Refused(Refusal::Condemned)));
    assert_eq!(story.tenure.until_us(1), 490_000);
}

#[test]
fn a_shorter_lease_is_held_for_as_long_as_it_is_and_a_longer_one_is_not_believed() {
    let short = Length::new(200_000).unwrap();
    let take = |knows, granted| {
        let mut tenure = Tenure::new(ID, knows);
        tenure.ask(1_000);
        let grant = Grant { epoch: 1, length: granted, settled: 1 };
        tenure.take(&Answer { tenure: ID, number: 0, outcome: Ok(grant) }).map(|()| tenure.until_us(1))
    };
    assert_eq!(take(Length::DEFAULT, short), Ok(197_000));
    assert_eq!(take(short, short), Ok(197_000));
    assert_eq!(take(short, Length::DEFAULT), Err(NoGrant::TooLong));
}

#[test]
fn questions_and_leases_are_bounded() {
    let mut story = asked_at(&(0..=ASKED_MAX as u64).map(|no| no * 60).collect::<Vec<_>>());
    assert_eq!(story.answer(0, 1), Err(NoGrant::Unasked), "given up for a newer one");
    for no in 1..=ASKED_MAX {
        story.answer(no, no as u64).unwrap();
    }
    assert_eq!(story.tenure.leases.len(), LEASES_MAX);
    assert_eq!(story.tenure.until_us(ASKED_MAX as u64), 490_000 + 60_000 * ASKED_MAX as u64);
}

#[test]
fn what_has_settled_never_unsettles() {
    let mut story = asked_at(&[0, 60]);
    story.answer(1, 5).unwrap();
    story.answer(0, 4).unwrap();
    assert_eq!(story.tenure.settled(), 5);
}
