//! Export, import, go on: the same decisions as if nothing had moved.

use proptest::prelude::*;
use tallyring_engine::*;

use crate::call::{Call, KEYS, call};
use crate::world::{World, at, export_all};

#[derive(Clone, Debug)]
enum Step {
    Call(Call),
    MoveAtOnce { key: u64, records_max: usize },
    MoveLive { key: u64, meanwhile: Vec<Call>, turn: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let live = (0..KEYS, prop::collection::vec(call(), 0..12), 0..50_usize);
    prop_oneof![
        12 => call().prop_map(Step::Call),
        1 => (0..KEYS, 1..9_usize).prop_map(|(key, records_max)| Step::MoveAtOnce { key, records_max }),
        1 => live.prop_map(|(key, meanwhile, turn)| Step::MoveLive { key, meanwhile, turn }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, max_shrink_time: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn keys_that_move_are_decided_as_if_they_had_stayed(steps in prop::collection::vec(step(), 1..150)) {
        let mut world = World::new();
        for step in &steps {
            match step {
                Step::Call(call) => world.decide(call),
                Step::MoveAtOnce { key, records_max } => world.move_at_once(*key, *records_max),
                Step::MoveLive { key, meanwhile, turn } => world.move_live(*key, meanwhile, *turn),
            }
        }
        world.end();
    }

    #[test]
    fn what_was_taken_in_comes_out_as_it_went_in(calls in prop::collection::vec(call(), 1..100)) {
        let (mut here, mut there) = (Engine::new(Bounds::default()), Engine::new(Bounds::default()));
        let mut now_us = 0;
        for call in &calls {
            now_us += if let Call::Pass { us } = call { *us } else { 0 };
            call.answer(&mut here, at(now_us));
        }
        let out = |engine: &mut Engine| export_all(engine, at(now_us), &Placements::all(), BATCH_RECORDS_MAX);
        let went_in = out(&mut here);
        for batch in &went_in {
            there.import(at(now_us), &mut Intake::in_order(), batch).unwrap();
        }
        prop_assert_eq!(told(&out(&mut there)), told(&went_in));
    }
}

/// What batches say, whatever order and places they say it in.
fn told(batches: &[Batch]) -> Vec<String> {
    let mut told: Vec<String> = batches.iter().flat_map(tell).collect();
    told.sort();
    told
}

fn tell(batch: &Batch) -> impl Iterator<Item = String> {
    let rule_limit = |place: u32| &batch.limits[place as usize];
    batch.records.iter().map(move |record| match record {
        Record::Counter { identity, counter } => {
            let counter = counter.as_ref().map(|counter| (rule_limit(counter.limit), &counter.state));
            format!("{identity:?} {counter:?}")
        }
        Record::Reservation { name, reservation } => {
            let limit = reservation.as_ref().map(|reservation| rule_limit(reservation.limit));
            let reservation = reservation.clone().map(|reservation| ReservationState { limit: 0, ..*reservation });
            format!("{name:?} {limit:?} {reservation:?}")
        }
    })
}
