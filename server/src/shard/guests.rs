//! Limits of commands that came from other threads: they bring their numbers with them.

use std::collections::BTreeMap;
use std::sync::Arc;

use tallyring_engine::{Engine, LimitId};

use super::command::Definition;

/// Definitions kept interned for senders; beyond it all are forgotten, which costs nothing but finding them again.
const GUESTS_MAX: usize = 1_024;

/// Keeps the limits of recent senders interned, so that a mis-addressed stream does not intern one a command.
///
/// A sender's handle is one allocation for its life, so its address is enough to find it again; the definition is held
/// here, so the address is not used by another while it is in the map.
#[derive(Debug, Default)]
pub(super) struct Guests(BTreeMap<usize, (Arc<Definition>, LimitId)>);

impl Guests {
    /// The id of a definition in this shard's engine; `None` if the engine has no room for another limit.
    pub(super) fn intern(&mut self, engine: &mut Engine, definition: &Arc<Definition>) -> Option<LimitId> {
        let address = Arc::as_ptr(definition).addr();
        if let Some((_, id)) = self.0.get(&address) {
            return Some(*id);
        }
        if self.0.len() == GUESTS_MAX {
            self.clear(engine);
        }
        let id = engine.intern_under(definition.rule(), definition.limit).ok()?;
        self.0.insert(address, (Arc::clone(definition), id));
        Some(id)
    }

    /// Sees to it that the next `count` definitions stay interned until all of them are.
    pub(super) fn make_room(&mut self, engine: &mut Engine, count: usize) {
        if self.0.len() + count > GUESTS_MAX {
            self.clear(engine);
        }
    }

    fn clear(&mut self, engine: &mut Engine) {
        while let Some((_, (_, id))) = self.0.pop_first() {
            engine.release(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use tallyring_engine::{Algorithm, Bounds, Limit, Period};

    use super::*;

    fn definition(limit: u64) -> Arc<Definition> {
        let limit = Limit::new(Algorithm::TokenBucket, limit, Period::Micros(1_000_000), None).unwrap();
        Arc::new(Definition { rule: "".into(), shadow: false, keys_max: 1_000_000, limit })
    }

    #[test]
    fn definitions_that_are_used_together_stay_interned_together() {
        let (mut engine, mut guests) = (Engine::new(Bounds::default()), Guests::default());
        let before: Vec<_> = (1..GUESTS_MAX as u64).map(definition).collect();
        before.iter().for_each(|definition| assert!(guests.intern(&mut engine, definition).is_some()));
        assert_eq!(engine.limits(), GUESTS_MAX - 1);
        let together = [5_001, 5_002, 5_003].map(definition);
        guests.make_room(&mut engine, together.len());
        let ids = together.each_ref().map(|definition| guests.intern(&mut engine, definition).unwrap());
        assert_eq!(engine.limits(), together.len());
        assert_eq!(together.each_ref().map(|definition| guests.intern(&mut engine, definition).unwrap()), ids);
    }
}
