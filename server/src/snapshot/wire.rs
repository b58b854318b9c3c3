//! A batch in bytes: the engine's values in plain shapes that bincode lays out, and back through their constructors.
//!
//! The order of fields and variants here *is* the format: a change is another [`FORMAT`](super::frame::FORMAT), and a test
//! holds the bytes. Identities are raw bytes, since a random number is not shorter as a varint; instants of a log are
//! distances, which are.

mod counter;
mod limit;
mod reservation;

use bincode::config::{self, Configuration, Limit as Bounded, LittleEndian, Varint};
use bincode::{Decode, Encode};
use tallyring_engine::{Batch, Identity, Record, Timestamp, Version};

use self::counter::WireCounter;
use self::limit::WireLimit;
pub(crate) use self::limit::WirePeriod;
use self::reservation::WireReservation;

/// Bytes that decoding one block may claim: its values take up to some four times the room of their encoding.
const CLAIMED_BYTES_MAX: usize = 4 * super::BLOCK_BYTES_MAX;

type Format = Configuration<LittleEndian, Varint, Bounded<CLAIMED_BYTES_MAX>>;

/// Without the bound a few bytes that promise a long list would end the process.
const FORMAT: Format = config::standard().with_limit::<CLAIMED_BYTES_MAX>();

#[derive(Encode, Decode)]
struct WireBatch {
    epoch: u64,
    sequence: u64,
    read_at_us: u64,
    limits: Vec<WireLimit>,
    records: Vec<WireRecord>,
}

#[derive(Encode, Decode)]
enum WireRecord {
    Counter { identity: WireIdentity, counter: WireCounter },
    CounterGone { identity: WireIdentity },
    Reservation { name: WireIdentity, reservation: Box<WireReservation> },
    ReservationGone { name: WireIdentity },
}

/// Placement and identity, little-endian.
type WireIdentity = [[u8; 8]; 2];

/// Why bytes are no batch.
pub(crate) type Reason = String;

/// A batch's bytes. Past [`CLAIMED_BYTES_MAX`] it still says how long they are: the writer's bound is smaller.
pub(crate) fn encode(batch: &Batch) -> Vec<u8> {
    let wire = WireBatch {
        epoch: batch.version.epoch,
        sequence: batch.version.sequence,
        read_at_us: batch.read_at.as_micros(),
        limits: batch.limits.iter().map(WireLimit::new).collect(),
        records: batch.records.iter().map(WireRecord::new).collect(),
    };
    bincode::encode_to_vec(wire, FORMAT.with_no_limit()).expect("memory is all that a plain value's encoding needs")
}

/// The batch that `bytes` are, all of them.
pub(crate) fn decode(bytes: &[u8]) -> Result<Batch, Reason> {
    let (wire, len): (WireBatch, usize) =
        bincode::decode_from_slice(bytes, FORMAT).map_err(|error| error.to_string())?;
    if len < bytes.len() {
        return Err(format!("a batch ends after {len} bytes of {}", bytes.len()));
    }
    Ok(Batch {
        version: Version { epoch: wire.epoch, sequence: wire.sequence },
        read_at: instant(wire.read_at_us)?,
        limits: wire.limits.into_iter().map(WireLimit::into_limit).collect::<Result<_, _>>()?,
        records: wire.records.into_iter().map(WireRecord::into_record).collect::<Result<_, _>>()?,
    })
}

impl WireRecord {
    fn new(record: &Record) -> WireRecord {
        match record {
            Record::Counter { identity, counter } => {
                let identity = identity_bytes(*identity);
                match counter {
                    Some(counter) => WireRecord::Counter { identity, counter: WireCounter::new(counter) },
                    None => WireRecord::CounterGone { identity },
                }
            }
            Record::Reservation { name, reservation } => {
                let name = identity_bytes(*name);
                match reservation {
                    Some(known) => WireRecord::Reservation { name, reservation: Box::new(WireReservation::new(known)) },
                    None => WireRecord::ReservationGone { name },
                }
            }
        }
    }

    fn into_record(self) -> Result<Record, Reason> {
        Ok(match self {
            WireRecord::Counter { identity, counter } => {
                Record::Counter { identity: identity_of(identity), counter: Some(counter.into_counter()) }
            }
            WireRecord::CounterGone { identity } => Record::Counter { identity: identity_of(identity), counter: None },
            WireRecord::Reservation { name, reservation } => {
                let reservation = Some(Box::new(reservation.into_reservation()?));
                Record::Reservation { name: identity_of(name), reservation }
            }
            WireRecord::ReservationGone { name } => Record::Reservation { name: identity_of(name), reservation: None },
        })
    }
}

fn identity_bytes(Identity { placement, identity }: Identity) -> WireIdentity {
    [placement.to_le_bytes(), identity.to_le_bytes()]
}

fn identity_of([placement, identity]: WireIdentity) -> Identity {
    Identity { placement: u64::from_le_bytes(placement), identity: u64::from_le_bytes(identity) }
}

/// An instant that can be named; a later one is no engine's.
fn instant(us: u64) -> Result<Timestamp, Reason> {
    let instant = Timestamp::from_micros(us);
    if instant.as_micros() == us { Ok(instant) } else { Err(format!("{us} is past the last instant")) }
}

#[cfg(test)]
mod tests;
