//! The numbers of commands that bring them along: a RESP connection defines no limits, every command says its own.

use std::sync::Arc;

use tallyring_engine::{Engine, Limit, Period};

use super::command::{Definition, KeyQuota};
use super::session::Handle;
use crate::limits::code_of;

/// Limits that one set holds.
const WAYS: usize = 4;

/// Sets, a power of two. Together they hold more limits than one service has, and little enough to stay in a cache.
const SETS: usize = 64;

/// The limits that were used lately, kept interned so that a command need not look its own up among all limits.
///
/// Bounded, whatever is asked: a command whose limit is not here takes the place of another one, whose limit the engine then
/// forgets unless a key uses it. Somebody who sends a new limit with every command pays for each and takes no memory but that
/// of his keys; how many limits keys may use at once is the engine's to bound.
#[derive(Debug)]
pub(super) struct Numbers {
    sets: Box<[Set]>,
}

#[derive(Debug, Default)]
struct Set {
    known: [Option<Known>; WAYS],
    /// The place of the next newcomer.
    next: usize,
}

#[derive(Debug)]
struct Known {
    limit: Limit,
    handle: Handle,
}

/// Where a limit is, until the next [`Numbers::intern`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place(usize, usize);

impl Numbers {
    pub(super) fn new() -> Numbers {
        Numbers { sets: (0..SETS).map(|_| Set::default()).collect() }
    }

    /// Where a limit is, if it was used lately.
    #[inline]
    pub(super) fn find(&self, limit: &Limit) -> Option<Place> {
        let set = set_of(limit);
        let is_it = |known: &Option<Known>| known.as_ref().is_some_and(|known| known.limit == *limit);
        self.sets[set].known.iter().position(is_it).map(|way| Place(set, way))
    }

    /// The limit at a place.
    #[inline]
    pub(super) fn get(&self, Place(set, way): Place) -> &Handle {
        &self.sets[set].known[way].as_ref().expect("a place is where a limit was found").handle
    }

    /// Takes in a limit that was not found, in place of another one; `None` if the engine has no room for more.
    ///
    /// The one that goes is released: nothing that was staged under it may be undecided.
    pub(super) fn intern(&mut self, engine: &mut Engine, limit: Limit, quota: KeyQuota) -> Option<Place> {
        let definition = Definition::unnamed(limit, quota);
        let id = engine.intern_under(definition.rule(), limit).ok()?;
        let handle = Handle { id, algorithm: code_of(limit.algorithm()), definition: Arc::new(definition) };
        let index = set_of(&limit);
        let set = &mut self.sets[index];
        let way = set.next;
        set.next = (way + 1) % WAYS;
        if let Some(gone) = set.known[way].replace(Known { limit, handle }) {
            engine.release(gone.handle.id);
        }
        Some(Place(index, way))
    }
}

/// The set of a limit. Its fields are mixed and not hashed under a secret: whoever finds limits of one set makes commands
/// slow that use these limits, which are his own.
#[inline]
fn set_of(limit: &Limit) -> usize {
    let period = match limit.period() {
        Period::Micros(us) => us,
        Period::Calendar(calendar) => calendar as u64,
    };
    let fields = [limit.limit(), limit.ceiling(), period, limit.algorithm() as u64];
    let mixed = fields.iter().fold(0_u64, |mixed, field| (mixed.rotate_left(23) ^ field).wrapping_mul(GOLDEN));
    (mixed >> (u64::BITS - SETS.ilog2())) as usize
}

/// 2^64 divided by the golden ratio: spreads what it multiplies over the upper bits (Knuth, TAOCP 6.4).
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

#[cfg(test)]
mod tests {
    use tallyring_engine::{Algorithm, Bounds};

    use super::*;

    const QUOTA: KeyQuota = KeyQuota { shards: 1, any_rule_max: 1_000 };

    fn limit(units: u64) -> Limit {
        Limit::new(Algorithm::TokenBucket, units, Period::Micros(60_000_000), Some(units)).unwrap()
    }

    #[test]
    fn a_limit_that_is_used_again_is_found() {
        let (mut engine, mut numbers) = (Engine::new(Bounds::default()), Numbers::new());
        assert_eq!(numbers.find(&limit(7)), None);
        let place = numbers.intern(&mut engine, limit(7), QUOTA).unwrap();
        assert_eq!(numbers.find(&limit(7)), Some(place));
        assert_eq!(numbers.get(place).definition.limit, limit(7));
        assert_eq!(numbers.find(&limit(8)), None);
    }

    #[test]
    fn a_million_limits_leave_no_more_than_there_are_places() {
        let (mut engine, mut numbers) = (Engine::new(Bounds::default()), Numbers::new());
        for units in 1..=1_000_000 {
            numbers.intern(&mut engine, limit(units), QUOTA).unwrap();
        }
        assert!(engine.limits() <= SETS * WAYS, "{}", engine.limits());
    }

    #[test]
    fn the_limits_of_a_service_have_places_of_their_own() {
        let (mut engine, mut numbers) = (Engine::new(Bounds::default()), Numbers::new());
        let limits: Vec<Limit> = (1..=40).map(|n| limit(n * 50)).collect();
        for limit in &limits {
            numbers.intern(&mut engine, *limit, QUOTA).unwrap();
        }
        assert!(limits.iter().all(|limit| numbers.find(limit).is_some()));
    }
}
