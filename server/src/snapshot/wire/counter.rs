//! A counter's state in plain numbers.

use bincode::{Decode, Encode};
use tallyring_engine::{Admitted, CounterState, Hold, State};

#[derive(Encode, Decode)]
pub(super) struct WireCounter {
    limit: u32,
    state: WireState,
}

#[derive(Encode, Decode)]
enum WireState {
    Bucket { level: i128 },
    FixedWindow { end_us: u64, count: u64 },
    SlidingLog { admitted: Vec<WireAdmitted> },
    SlidingCounter { start_us: u64, current: u64, previous: u64 },
    Concurrency { holds: Vec<WireHold> },
}

/// Microseconds since the entry before, the first one's since the epoch; and units.
#[derive(Encode, Decode)]
struct WireAdmitted(u64, u64);

/// Holder, units, end in microseconds since the epoch.
#[derive(Encode, Decode)]
struct WireHold([u8; 8], u64, u64);

impl WireCounter {
    pub(super) fn new(counter: &CounterState) -> WireCounter {
        let state = match &counter.state {
            &State::Bucket { level } => WireState::Bucket { level },
            &State::FixedWindow { end_us, count } => WireState::FixedWindow { end_us, count },
            State::SlidingLog { admitted } => WireState::SlidingLog { admitted: distances(admitted) },
            &State::SlidingCounter { start_us, current, previous } => {
                WireState::SlidingCounter { start_us, current, previous }
            }
            State::Concurrency { holds } => WireState::Concurrency { holds: holds.iter().map(WireHold::new).collect() },
        };
        WireCounter { limit: counter.limit, state }
    }

    pub(super) fn into_counter(self) -> CounterState {
        let state = match self.state {
            WireState::Bucket { level } => State::Bucket { level },
            WireState::FixedWindow { end_us, count } => State::FixedWindow { end_us, count },
            WireState::SlidingLog { admitted } => State::SlidingLog { admitted: instants(&admitted) },
            WireState::SlidingCounter { start_us, current, previous } => {
                State::SlidingCounter { start_us, current, previous }
            }
            WireState::Concurrency { holds } => {
                State::Concurrency { holds: holds.iter().map(WireHold::to_hold).collect() }
            }
        };
        CounterState { limit: self.limit, state }
    }
}

impl WireHold {
    fn new(hold: &Hold) -> WireHold {
        WireHold(hold.holder.to_le_bytes(), hold.units, hold.until_us)
    }

    fn to_hold(&self) -> Hold {
        let WireHold(holder, units, until_us) = *self;
        Hold { holder: u64::from_le_bytes(holder), units, until_us }
    }
}

/// Wraps around, and back in [`instants`]: whether a log's instants ascend is the engine's to judge.
fn distances(admitted: &[Admitted]) -> Vec<WireAdmitted> {
    let mut before_us: u64 = 0;
    let distance = |entry: &Admitted| {
        let distance_us = entry.at_us.wrapping_sub(before_us);
        before_us = entry.at_us;
        WireAdmitted(distance_us, entry.units)
    };
    admitted.iter().map(distance).collect()
}

fn instants(distances: &[WireAdmitted]) -> Vec<Admitted> {
    let mut at_us: u64 = 0;
    let instant = |&WireAdmitted(distance_us, units): &WireAdmitted| {
        at_us = at_us.wrapping_add(distance_us);
        Admitted { at_us, units }
    };
    distances.iter().map(instant).collect()
}
