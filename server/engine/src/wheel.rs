//! A timing wheel: which entries may be whole again by now, without a look at those that cannot.
//!
//! Five rings of 256 slots; a slot of a ring is as long as the whole ring below it. An entry is put once, into the slot
//! where it is to be looked at, and stands in a list through its own links: arming, disarming and firing are O(1). A key
//! that is merely used again writes nothing here: when its slot comes, its state is asked again, and it is put where that
//! says. So an entry may be looked at early, and never late, as long as whoever moves its instant *forward* arms it
//! anew.
//!
//! A slot with millions of entries is worked off a bounded share at a time, while time goes on.
//!
//! Source: Varghese and Lauck, Hashed and Hierarchical Timing Wheels, 1987, scheme 7.

use crate::table::arena::Arena;
use crate::table::{EntryNo, Links};

/// A slot of the lowest ring is 2^17 µs, 131 ms. An entry is looked at within one of them after its instant.
const TICK_BITS: u32 = 17;
const RING_BITS: u32 = 8;
const RING_SLOTS: usize = 1 << RING_BITS;
/// 2^17 µs × 256^5 is 2^57 µs, beyond the end of time at 2^53.
const RINGS: usize = 5;
const TICK_MAX: u64 = (1 << (RING_BITS * RINGS as u32)) - 1;
/// The list that is being worked off, after the slots.
const DUE: u32 = (RINGS * RING_SLOTS) as u32;
const LISTS: usize = DUE as usize + 1;

/// An entry's number, or none.
const NONE: u32 = u32::MAX;
/// In `before` of a list's first entry: the list, so that the entry can be taken out without a search.
const LIST: u32 = 1 << 31;

/// Entries by the time at which they are to be looked at.
#[derive(Debug)]
pub(crate) struct Wheel {
    /// Each list's first entry.
    first: Box<[u32; LISTS]>,
    /// Which slots of each ring have entries.
    occupied: [[u64; RING_SLOTS / 64]; RINGS],
    /// The tick that is being worked off: what was to be looked at before it has been, or is in the list of what is due.
    tick: u64,
}

impl Default for Wheel {
    fn default() -> Wheel {
        Wheel { first: Box::new([NONE; LISTS]), occupied: [[0; RING_SLOTS / 64]; RINGS], tick: 0 }
    }
}

impl Wheel {
    /// Puts an entry, which is in no list, where it is looked at just after `at_us`.
    pub(crate) fn arm(&mut self, arena: &mut Arena, no: EntryNo, at_us: u64) {
        // The tick after the one that the instant lies in: when it starts, the instant has passed.
        let tick = ((at_us >> TICK_BITS) + 1).clamp(self.tick + 1, TICK_MAX);
        let slot = Slot::of(tick, self.tick);
        self.occupied[slot.ring][slot.number / 64] |= 1 << (slot.number % 64);
        self.push(arena, no, slot.list());
    }

    /// Takes an entry out of the list that it is in.
    pub(crate) fn disarm(&mut self, arena: &mut Arena, no: EntryNo) {
        let Links { before, after } = arena.links(no);
        if after != NONE {
            arena.links_mut(EntryNo(after)).before = before;
        }
        if before & LIST == 0 {
            arena.links_mut(EntryNo(before)).after = after;
        } else {
            self.set_first(before & !LIST, after);
        }
    }

    /// Takes out the next entry that is to be looked at by `now_us`.
    pub(crate) fn due(&mut self, arena: &mut Arena, now_us: u64) -> Option<EntryNo> {
        while self.first[DUE as usize] == NONE {
            let Some(slot) = self.next_slot().filter(|slot| slot.start_tick(self.tick) <= now_us >> TICK_BITS) else {
                // Nothing is due, so the hand may move up to now: no slot lies between.
                self.tick = self.tick.max(now_us >> TICK_BITS);
                return None;
            };
            self.tick = slot.start_tick(self.tick);
            self.make_due(arena, slot);
        }
        let no = EntryNo(self.first[DUE as usize]);
        self.disarm(arena, no);
        Some(no)
    }

    /// The entries that come next, of those that are due already: for whoever wants to have them near.
    pub(crate) fn coming<'a>(&self, arena: &'a Arena) -> impl Iterator<Item = EntryNo> + use<'a> {
        let named = |no: u32| Some(no).filter(|&no| no != NONE).map(EntryNo);
        std::iter::successors(named(self.first[DUE as usize]), move |&no| named(arena.links(no).after))
    }

    /// How far the wheel is behind `now_us`: the age of the oldest slot that is not worked off.
    pub(crate) fn lag_us(&self, now_us: u64) -> u64 {
        let oldest_tick = match self.first[DUE as usize] {
            NONE => self.next_slot().map(|slot| slot.start_tick(self.tick)),
            _ => Some(self.tick),
        };
        oldest_tick.map_or(0, |tick| now_us.saturating_sub(tick << TICK_BITS))
    }

    /// The occupied slot that comes first. A ring's slots all come before those of the rings above it.
    fn next_slot(&self) -> Option<Slot> {
        (0..RINGS).find_map(|ring| {
            let words = self.occupied[ring].iter().enumerate();
            let (no, word) = words.into_iter().find(|(_, word)| **word != 0)?;
            Some(Slot { ring, number: no * 64 + word.trailing_zeros() as usize })
        })
    }

    fn make_due(&mut self, arena: &mut Arena, slot: Slot) {
        let first = self.first[slot.list() as usize];
        self.set_first(slot.list(), NONE);
        self.set_first(DUE, first);
        arena.links_mut(EntryNo(first)).before = LIST | DUE;
    }

    fn push(&mut self, arena: &mut Arena, no: EntryNo, list: u32) {
        let after = self.first[list as usize];
        if after != NONE {
            arena.links_mut(EntryNo(after)).before = no.0;
        }
        *arena.links_mut(no) = Links { before: LIST | list, after };
        self.first[list as usize] = no.0;
    }

    fn set_first(&mut self, list: u32, first: u32) {
        self.first[list as usize] = first;
        if first == NONE && list != DUE {
            let (ring, slot) = (list as usize / RING_SLOTS, list as usize % RING_SLOTS);
            self.occupied[ring][slot / 64] &= !(1 << (slot % 64));
        }
    }
}

/// A slot of a ring. While the hand has not reached it, it comes later in its ring than the hand's own.
#[derive(Clone, Copy, Debug)]
struct Slot {
    ring: usize,
    number: usize,
}

impl Slot {
    /// Where `tick` is put while the hand is at `hand`, which is earlier: the ring of the highest digit in which they
    /// differ, so that the hand meets the slot before it meets the tick.
    fn of(tick: u64, hand: u64) -> Slot {
        let ring = (63 - (tick ^ hand).leading_zeros()) / RING_BITS;
        Slot { ring: ring as usize, number: (tick >> (RING_BITS * ring)) as usize % RING_SLOTS }
    }

    fn list(self) -> u32 {
        (self.ring * RING_SLOTS + self.number) as u32
    }

    /// The tick at which the hand, now at `hand`, meets the slot.
    fn start_tick(self, hand: u64) -> u64 {
        let below = RING_BITS * self.ring as u32;
        let above = below + RING_BITS;
        (hand >> above << above) + ((self.number as u64) << below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::Words;
    use crate::identity::Identity;
    use crate::limits::LimitId;
    use crate::table::Entry;

    const TICK_US: u64 = 1 << TICK_BITS;

    struct Bench {
        wheel: Wheel,
        arena: Arena,
    }

    impl Bench {
        fn new() -> Bench {
            Bench { wheel: Wheel::default(), arena: Arena::default() }
        }

        fn arm(&mut self, at_us: u64) -> EntryNo {
            let entry = Entry { limit: LimitId(0), words: Words::of(at_us.into()) };
            let no = self.arena.take(Identity { placement: 0, identity: at_us }, entry);
            self.wheel.arm(&mut self.arena, no, at_us);
            no
        }

        /// Everything that fires by `now_us`; what is looked at early is armed again, as the engine does.
        fn fire(&mut self, now_us: u64) -> Vec<u64> {
            let mut fired = Vec::new();
            while let Some(no) = self.wheel.due(&mut self.arena, now_us) {
                let at_us = self.arena[no].entry().words.bits() as u64;
                if at_us <= now_us {
                    fired.push(at_us);
                } else {
                    self.wheel.arm(&mut self.arena, no, at_us);
                }
            }
            fired.sort_unstable();
            fired
        }
    }

    const INSTANTS_US: [u64; 9] =
        [1, TICK_US - 1, TICK_US, 60_000_000, 61_000_000, 86_400_000_000, 86_400_000_001, 34_560_000_000_000, 1 << 53];

    #[test]
    fn an_entry_fires_within_a_tick_of_its_instant_and_never_before() {
        for start_us in [0, 12_345, 1_700_000_000_000_000] {
            for wait_us in INSTANTS_US {
                let mut bench = Bench::new();
                bench.fire(start_us);
                let at_us = start_us + wait_us;
                bench.arm(at_us);
                assert_eq!(bench.fire(at_us - 1), []);
                assert_eq!(bench.fire(at_us + TICK_US), [at_us], "{start_us} + {wait_us}");
                assert_eq!(bench.wheel.lag_us(at_us + TICK_US), 0);
            }
        }
    }

    #[test]
    fn steps_and_leaps_of_time_fire_the_same() {
        let (mut steps, mut leap) = (Bench::new(), Bench::new());
        for bench in [&mut steps, &mut leap] {
            for at_us in INSTANTS_US {
                bench.arm(at_us);
            }
        }
        let mut fired = Vec::new();
        for now_us in (0..200).map(|step| step * 1_000_000_007) {
            fired.extend(steps.fire(now_us));
        }
        fired.extend(steps.fire(1 << 54));
        assert_eq!(fired, INSTANTS_US);
        assert_eq!(leap.fire(1 << 54), INSTANTS_US);
    }

    #[test]
    fn a_disarmed_entry_does_not_fire_wherever_it_stands_in_its_list() {
        for gone in 0..3 {
            let mut bench = Bench::new();
            let numbers = [5, 6, 7].map(|at_us| bench.arm(at_us));
            bench.wheel.disarm(&mut bench.arena, numbers[gone]);
            let expect: Vec<u64> = [5, 6, 7].into_iter().filter(|at_us| at_us - 5 != gone as u64).collect();
            assert_eq!(bench.fire(TICK_US), expect);
        }
    }

    #[test]
    fn entries_can_be_armed_and_disarmed_while_a_slot_is_worked_off() {
        let mut bench = Bench::new();
        let numbers: Vec<EntryNo> = (0..10).map(|at_us| bench.arm(at_us)).collect();
        let now_us = 10 * TICK_US;
        let first = bench.wheel.due(&mut bench.arena, now_us).unwrap();
        assert_eq!(bench.arena[first].entry().words, Words::of(9));
        assert!(bench.wheel.lag_us(now_us) >= 8 * TICK_US);
        bench.wheel.disarm(&mut bench.arena, numbers[4]);
        bench.wheel.disarm(&mut bench.arena, numbers[8]);
        bench.arm(TICK_US);
        assert_eq!(bench.fire(now_us), [0, 1, 2, 3, 5, 6, 7, TICK_US]);
    }
}
