//! Limits, as the store knows them: by a handle.
//!
//! A hot request carries two bytes instead of the numbers. One handle is drawn for the whole client, not one for each
//! connection, so that a call encodes the same request wherever it goes; each connection remembers which handles it has
//! explained to its shard already.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tallyring_engine::Limit;
use tallyring_protocol::Define;
use tallyring_protocol::bounds::HANDLES_MAX;

use crate::error::HandlesFull;
use crate::limits::{algorithm_code, period_code};

/// A limit and the rule that it comes from.
///
/// ```
/// use tallyring_client::{Algorithm, Definition, Limit, Period};
/// let limit = Limit::new(Algorithm::TokenBucket, 300, Period::Micros(60_000_000), Some(100))?;
/// let definition = Definition { rule: "per-ip".into(), ..Definition::from(limit) };
/// # Ok::<(), tallyring_client::Invalid>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Definition {
    /// The numbers.
    pub limit: Limit,
    /// The rule's id, which the store counts outcomes by; empty = none. At most 128 bytes are sent.
    pub rule: String,
    /// The version of the rules document; 0 = none.
    pub rule_version: u64,
    /// Keys that the rule may hold at once on a node; 0 = as many as any rule.
    pub keys_max: u64,
    /// Decide and count, although nobody will be rejected.
    pub shadow: bool,
    /// Answer only when a replica has the state.
    pub sync: bool,
}

impl From<Limit> for Definition {
    fn from(limit: Limit) -> Definition {
        Definition { limit, rule: String::new(), rule_version: 0, keys_max: 0, shadow: false, sync: false }
    }
}

/// A limit that the store can be asked about: see [`Store::define`](crate::Store::define). Cheap to clone.
#[derive(Clone, Debug)]
pub struct LimitHandle(Arc<Numbered>);

#[derive(Debug)]
struct Numbered {
    handle: u16,
    version: u32,
    definition: Definition,
    handles: Arc<Handles>,
}

impl LimitHandle {
    /// What it stands for.
    pub fn definition(&self) -> &Definition {
        &self.0.definition
    }

    /// The number that requests carry.
    #[inline]
    pub(crate) fn handle(&self) -> u16 {
        self.0.handle
    }

    /// Which use of that number this is; never 0.
    #[inline]
    pub(crate) fn version(&self) -> u32 {
        self.0.version
    }

    /// The request that explains the handle.
    pub(crate) fn to_wire(&self) -> Define<'_> {
        let Definition { limit, rule, rule_version, keys_max, shadow, sync } = &self.0.definition;
        Define {
            handle: self.0.handle,
            algorithm: algorithm_code(limit.algorithm()),
            limit: limit.limit(),
            period: period_code(limit.period()),
            burst: limit.burst().unwrap_or(0),
            shadow: *shadow,
            sync: *sync,
            rule_version: *rule_version,
            keys_max: *keys_max,
            rule,
        }
    }
}

impl Drop for Numbered {
    fn drop(&mut self) {
        self.handles.release(self.handle, &self.definition);
    }
}

/// Which handles are in use, and for what: equal definitions share one.
#[derive(Debug, Default)]
pub(crate) struct Handles(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    by_definition: BTreeMap<Definition, Weak<Numbered>>,
    free: Vec<u16>,
    used: u16,
    version: u32,
}

impl Handles {
    /// The handle of a definition; a new one if it has none.
    pub(crate) fn get(self: &Arc<Self>, definition: Definition) -> Result<LimitHandle, HandlesFull> {
        let mut table = self.0.lock();
        if let Some(known) = table.by_definition.get(&definition).and_then(Weak::upgrade) {
            return Ok(LimitHandle(known));
        }
        let handle = table.draw()?;
        table.version = table.version.checked_add(1).unwrap_or(1);
        let version = table.version;
        let numbered =
            Arc::new(Numbered { handle, version, definition: definition.clone(), handles: Arc::clone(self) });
        table.by_definition.insert(definition, Arc::downgrade(&numbered));
        Ok(LimitHandle(numbered))
    }

    fn release(&self, handle: u16, definition: &Definition) {
        let mut table = self.0.lock();
        table.free.push(handle);
        // By now somebody else may have asked for the same definition and got another handle: that entry stays.
        if table.by_definition.get(definition).is_some_and(|held| held.strong_count() == 0) {
            table.by_definition.remove(definition);
        }
    }
}

impl Table {
    fn draw(&mut self) -> Result<u16, HandlesFull> {
        if let Some(handle) = self.free.pop() {
            return Ok(handle);
        }
        if self.used == HANDLES_MAX {
            return Err(HandlesFull);
        }
        self.used += 1;
        Ok(self.used - 1)
    }
}

#[cfg(test)]
mod tests {
    use tallyring_engine::{Algorithm, Calendar, Period};
    use tallyring_protocol::{AlgorithmCode, PeriodCode};

    use super::*;

    fn definition(limit: u64) -> Definition {
        Limit::new(Algorithm::TokenBucket, limit, Period::Micros(1_000_000), None).unwrap().into()
    }

    #[test]
    fn equal_definitions_share_a_handle() {
        let handles = Arc::<Handles>::default();
        let get = |limit| handles.get(definition(limit)).unwrap();
        let (first, same, other) = (get(1), get(1), get(2));
        assert_eq!(first.handle(), same.handle());
        assert_ne!(first.handle(), other.handle());
    }

    #[test]
    fn a_handle_that_nobody_holds_is_used_again_under_another_version() {
        let handles = Arc::<Handles>::default();
        let first = handles.get(definition(1)).unwrap();
        let before = (first.handle(), first.version());
        drop(first);
        let second = handles.get(definition(2)).unwrap();
        assert_eq!(second.handle(), before.0);
        assert_ne!(second.version(), before.1);
    }

    #[test]
    fn there_are_as_many_handles_as_a_connection_may_define() {
        let handles = Arc::<Handles>::default();
        let held: Vec<_> = (1..=u64::from(HANDLES_MAX)).map(|n| handles.get(definition(n)).unwrap()).collect();
        assert_eq!(handles.get(definition(100_000)).unwrap_err(), HandlesFull);
        drop(held);
        assert!(handles.get(definition(100_000)).is_ok());
    }

    #[test]
    fn a_definition_keeps_its_numbers_on_the_wire() {
        let handles = Arc::<Handles>::default();
        let month = Limit::new(Algorithm::FixedWindow, 9, Period::Calendar(Calendar::Month), None).unwrap();
        let handle = handles.get(Definition { rule: "m".into(), sync: true, ..month.into() }).unwrap();
        let define = handle.to_wire();
        assert_eq!((define.algorithm, define.limit, define.period), (AlgorithmCode::FixedWindow, 9, PeriodCode::Month));
        assert_eq!((define.burst, define.rule, define.sync, define.shadow), (0, "m", true, false));
    }
}
