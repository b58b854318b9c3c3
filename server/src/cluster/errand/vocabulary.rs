//! Limits by number: what a line says once, and means from then on.

use std::collections::BTreeMap;
use std::sync::Arc;

use tallyring_protocol::Malformed;

use super::wire::numbers::Terms;
use super::wire::order::Order;
use crate::shard::command::{Definition, KeyQuota};

/// Limits that one line has numbers for. The next one begins again: numbers then mean something else.
const NUMBERS_MAX: usize = 1_024;

/// What one side has said.
#[derive(Debug)]
pub(super) struct Spoken {
    numbers: BTreeMap<Arc<Definition>, u16>,
    /// Said by the errand that is being written, and to stand before it.
    fresh: Vec<Order>,
    quota: KeyQuota,
}

/// What the other side has heard.
#[derive(Debug)]
pub(super) struct Heard {
    terms: Vec<Arc<Definition>>,
    quota: KeyQuota,
}

impl Spoken {
    pub(super) fn new(quota: KeyQuota) -> Spoken {
        Spoken { numbers: BTreeMap::new(), fresh: Vec::new(), quota }
    }

    /// Sees to it that the next `count` limits keep their numbers until all of them have one.
    pub(super) fn make_room(&mut self, count: usize) {
        if self.numbers.len() + count > NUMBERS_MAX {
            self.numbers.clear();
        }
    }

    /// The number of a limit.
    pub(super) fn number(&mut self, definition: &Arc<Definition>) -> u16 {
        if let Some(number) = self.numbers.get(definition) {
            return *number;
        }
        let number = u16::try_from(self.numbers.len()).expect("there are fewer numbers than that");
        self.numbers.insert(Arc::clone(definition), number);
        self.fresh.push(Order::Define(number, Terms::of(definition, self.quota)));
        number
    }

    /// What has to be said before the errand that was written last.
    pub(super) fn fresh(&mut self) -> std::vec::Drain<'_, Order> {
        self.fresh.drain(..)
    }
}

impl Heard {
    pub(super) fn new(quota: KeyQuota) -> Heard {
        Heard { terms: Vec::new(), quota }
    }

    /// From here on, `number` means these terms.
    ///
    /// # Errors
    /// [`Malformed`]: no line has such a number, or such terms.
    pub(super) fn define(&mut self, number: u16, terms: Terms) -> Result<(), Malformed> {
        let (at, definition) = (usize::from(number), Arc::new(terms.definition(self.quota)?));
        if at < self.terms.len() {
            self.terms[at] = definition;
        } else if at == self.terms.len() && at < NUMBERS_MAX {
            self.terms.push(definition);
        } else {
            return Err(Malformed::new("terms", "numbers are given one after the other, from 0 to 1023"));
        }
        Ok(())
    }

    /// What a number means.
    ///
    /// # Errors
    /// [`Malformed`]: nothing.
    pub(super) fn terms(&self, number: u16) -> Result<Arc<Definition>, Malformed> {
        let terms = self.terms.get(usize::from(number));
        terms.cloned().ok_or(Malformed::new("terms", "the line has not defined such a number"))
    }
}
