//! Errands, as one node sends them to another. The order of fields and variants is the encoding: a new one comes last.

use serde::{Deserialize, Serialize};
use tallyring_engine::{Identity, PARTS_MAX, PERIOD_US_MAX, RESERVATION_TTL_US_MAX, Timestamp, UNITS_MAX};
use tallyring_protocol::{Key, KeyRef, Malformed};

use super::block::Block;
use super::numbers::{Numbers, Terms, Units};
use crate::cluster::errand::vocabulary::{Heard, Spoken};
use crate::shard::command::{Booking, Claim, Errand, ForeignPart, Holder, Op};

/// Errands that were sent together, under one ring.
#[derive(Debug, Serialize, Deserialize)]
pub(in super::super) struct Bundle {
    /// The epoch of the ring that says whose they are.
    pub(in super::super) epoch: u64,
    /// At most [`ITEMS_MAX`](super::super::frame::ITEMS_MAX), and the terms of each before it.
    pub(in super::super) orders: Vec<Order>,
}

/// One thing to do.
#[derive(Debug, Serialize, Deserialize)]
pub(in super::super) enum Order {
    /// From here on, this number means these terms.
    Define(u16, Terms),
    /// Do this, if it can be done within that time, and say what came of it.
    Do {
        /// Repeated by the answer.
        id: u32,
        /// From its arrival, in microseconds.
        within_us: u32,
        /// What.
        asked: Asked,
    },
}

/// An [`Errand`]; limits are numbers of the line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) enum Asked {
    Check { key: Block, terms: u16, units: Units },
    Take { key: Block, terms: u16, cost: u64, keep: u64 },
    Refund { key: Block, terms: u16, cost: u64, charged_at_us: Option<u64> },
    CheckAll(Vec<Part>),
    Reserve { terms: u16, counter: Name, reservation: Name, units: Units, ttl_us: u64 },
    Settle { reservation: Name, actual: u64 },
    Acquire { slots: Name, holder: u64, numbers: Numbers, cost: u64, ttl_us: u64 },
    Release { slots: Name, holder: u64 },
    Reset(Block),
    Peek(Block),
}

/// A part of a check_all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct Part {
    terms: u16,
    of: Name,
    units: Units,
}

/// A counter, a reservation or slots: a placement, and what tells them apart there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct Name {
    placement: u64,
    identity: u64,
}

impl Asked {
    /// What is asked; terms that the line does not know yet are spoken.
    pub(in super::super) fn of(errand: Errand, spoken: &mut Spoken) -> Asked {
        match errand {
            Errand::Decide(key, definition, op) => Asked::decide(key.as_ref(), spoken.number(&definition), op),
            Errand::CheckAll(parts) => {
                let part = |ForeignPart { definition, identity, ask }: &ForeignPart| Part {
                    terms: spoken.number(definition),
                    of: Name::of(*identity),
                    units: Units::of(*ask),
                };
                Asked::CheckAll(parts.iter().map(part).collect())
            }
            Errand::Reserve(definition, booking) => {
                let Booking { counter, reservation, ask, ttl_us } = *booking;
                let (terms, units) = (spoken.number(&definition), Units::of(ask));
                Asked::Reserve { terms, counter: Name::of(counter), reservation: Name::of(reservation), units, ttl_us }
            }
            Errand::Settle { reservation, actual } => Asked::Settle { reservation: Name::of(reservation), actual },
            Errand::Acquire(claim) => {
                let Claim { holder: Holder { slots, name }, limit, cost, ttl_us } = *claim;
                Asked::Acquire { slots: Name::of(slots), holder: name, numbers: Numbers::of(limit), cost, ttl_us }
            }
            Errand::Release(Holder { slots, name }) => Asked::Release { slots: Name::of(slots), holder: name },
            Errand::Reset(key) => Asked::Reset(key.as_ref().block().into()),
            Errand::Peek(key) => Asked::Peek(key.as_ref().block().into()),
        }
    }

    fn decide(key: KeyRef<'_>, terms: u16, op: Op) -> Asked {
        let key = key.block().into();
        match op {
            Op::Check(ask) => Asked::Check { key, terms, units: Units::of(ask) },
            Op::Take { cost, keep } => Asked::Take { key, terms, cost, keep },
            Op::Refund { cost, charged_at } => {
                Asked::Refund { key, terms, cost, charged_at_us: charged_at.map(Timestamp::as_micros) }
            }
        }
    }

    /// The errand. Another node is trusted, but not to be without bugs: every number is looked at again.
    ///
    /// # Errors
    /// [`Malformed`] names the first bad field.
    pub(in super::super) fn errand(self, heard: &Heard) -> Result<Errand, Malformed> {
        Ok(match self {
            Asked::Check { key, terms, units } => {
                Errand::Decide(key.key()?, heard.terms(terms)?, Op::Check(units.ask()?))
            }
            Asked::Take { key, terms, cost, keep } => {
                let op = Op::Take { cost: units("cost", cost)?, keep: units("keep", keep)? };
                Errand::Decide(key.key()?, heard.terms(terms)?, op)
            }
            Asked::Refund { key, terms, cost, charged_at_us } => {
                let op =
                    Op::Refund { cost: units("cost", cost)?, charged_at: charged_at_us.map(Timestamp::from_micros) };
                Errand::Decide(key.key()?, heard.terms(terms)?, op)
            }
            Asked::CheckAll(parts) if (1..=PARTS_MAX).contains(&parts.len()) => {
                let parts: Result<_, _> = parts.into_iter().map(|part| part.foreign(heard)).collect();
                Errand::CheckAll(parts?)
            }
            Asked::CheckAll(_) => return Err(Malformed::new("checks", "1 ..= 16 parts")),
            Asked::Reserve { terms, counter, reservation, units, ttl_us } => {
                if counter.placement != reservation.placement {
                    return Err(Malformed::new("reservation", "it lives where its key does"));
                }
                let (counter, reservation) = (counter.identity(), reservation.identity());
                let ttl_us = within("ttl_us", ttl_us, 1, RESERVATION_TTL_US_MAX)?;
                let booking = Booking { counter, reservation, ask: units.ask()?, ttl_us };
                Errand::Reserve(heard.terms(terms)?, Box::new(booking))
            }
            Asked::Settle { reservation, actual } => {
                Errand::Settle { reservation: reservation.identity(), actual: units("actual", actual)? }
            }
            Asked::Acquire { slots, holder, numbers, cost, ttl_us } => {
                let holder = Holder { slots: slots.identity(), name: holder };
                let (cost, ttl_us) = (within("cost", cost, 1, UNITS_MAX)?, within("ttl_us", ttl_us, 1, PERIOD_US_MAX)?);
                Errand::Acquire(Box::new(Claim { holder, limit: numbers.slots()?, cost, ttl_us }))
            }
            Asked::Release { slots, holder } => Errand::Release(Holder { slots: slots.identity(), name: holder }),
            Asked::Reset(key) => Errand::Reset(key.key()?),
            Asked::Peek(key) => Errand::Peek(key.key()?),
        })
    }
}

impl Part {
    fn foreign(self, heard: &Heard) -> Result<ForeignPart, Malformed> {
        let Part { terms, of, units } = self;
        Ok(ForeignPart { definition: heard.terms(terms)?, identity: of.identity(), ask: units.ask()? })
    }
}

impl Name {
    fn of(Identity { placement, identity }: Identity) -> Name {
        Name { placement, identity }
    }

    fn identity(self) -> Identity {
        Identity { placement: self.placement, identity: self.identity }
    }
}

impl Block {
    fn key(&self) -> Result<Key, Malformed> {
        KeyRef::from_block(&self.0).map(KeyRef::to_key)
    }
}

fn units(field: &'static str, found: u64) -> Result<u64, Malformed> {
    within(field, found, 0, UNITS_MAX)
}

fn within(field: &'static str, found: u64, min: u64, max: u64) -> Result<u64, Malformed> {
    let reason = "out of the engine's bounds, which its own node should have found";
    if (min..=max).contains(&found) { Ok(found) } else { Err(Malformed::new(field, reason)) }
}
