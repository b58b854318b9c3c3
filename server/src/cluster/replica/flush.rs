//! What travels from an owner to a replica: one step of a stream, and how it lies in bytes.
//!
//! ```text
//! format u8 · stage u8 · follows: epoch u64, sequence u64 · one batch, as in a snapshot
//! ```
//! Integers are little-endian. A batch has the same bytes here and on a disk: there is one layout of a counter. A record of a
//! token bucket takes some 24 bytes, of which 16 are its identity; the limits are spelled once a flush.

use tallyring_engine::{Batch, Version};

use crate::snapshot::{self, BLOCK_BYTES_MAX};

/// The layout that this program writes and reads.
const FORMAT: u8 = 1;

/// Bytes before the batch.
const HEAD_BYTES: usize = 2 + 16;

/// The longest flush, in bytes.
pub const FLUSH_BYTES_MAX: usize = HEAD_BYTES + BLOCK_BYTES_MAX;

/// One step of a stream, taken in whole or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flush {
    /// What it is in the life of a stream.
    pub stage: Stage,
    /// The flush before it, without which it says too little; nothing before the first one of a fill.
    pub follows: Version,
    /// Whose version is the flush's own.
    pub batch: Batch,
}

/// What a flush is in the life of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The first of a fill: what the replica has of the range is old.
    FillBegins,
    /// What has changed, or the next part of a fill.
    Goes,
    /// The last of a fill: the replica has everything.
    FillEnds,
}

/// Bytes that are no flush of this program's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlushError {
    /// Too short or too long to be one.
    #[error("a flush of {found} bytes; it has {HEAD_BYTES} to {FLUSH_BYTES_MAX}")]
    Length {
        /// How many there are.
        found: usize,
    },
    /// Another program's.
    #[error("a flush of format {found}; this program reads format {FORMAT}")]
    OtherFormat {
        /// The format that the bytes name.
        found: u8,
    },
    /// No stage has this number.
    #[error("stage {found} of a flush; there are 0, 1 and 2")]
    NoSuchStage {
        /// The number.
        found: u8,
    },
    /// The batch is damaged.
    #[error("the batch of a flush: {reason}")]
    Nonsense {
        /// What is wrong.
        reason: String,
    },
}

impl Flush {
    /// Its place in the stream.
    pub fn version(&self) -> Version {
        self.batch.version
    }

    /// The same step for one of several shards: with the records that `keeps` their placement.
    pub fn part(&self, keeps: impl Fn(u64) -> bool) -> Flush {
        let mut part = self.clone();
        part.batch.retain(keeps);
        part
    }

    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let Version { epoch, sequence } = self.follows;
        let head = [&[FORMAT, self.stage.number()][..], &epoch.to_le_bytes(), &sequence.to_le_bytes()].concat();
        [head, snapshot::encode(&self.batch)].concat()
    }

    /// The flush that `bytes` are, all of them. What its records say is the engine's to judge.
    ///
    /// # Errors
    /// [`FlushError`].
    pub fn decode(bytes: &[u8]) -> Result<Flush, FlushError> {
        let length = FlushError::Length { found: bytes.len() };
        if bytes.len() > FLUSH_BYTES_MAX {
            return Err(length);
        }
        let (&[format, stage], rest) = bytes.split_first_chunk().ok_or(length.clone())?;
        if format != FORMAT {
            return Err(FlushError::OtherFormat { found: format });
        }
        let (epoch, rest) = rest.split_first_chunk().ok_or(length.clone())?;
        let (sequence, batch) = rest.split_first_chunk().ok_or(length)?;
        Ok(Flush {
            stage: Stage::numbered(stage).ok_or(FlushError::NoSuchStage { found: stage })?,
            follows: Version { epoch: u64::from_le_bytes(*epoch), sequence: u64::from_le_bytes(*sequence) },
            batch: snapshot::decode(batch).map_err(|reason| FlushError::Nonsense { reason })?,
        })
    }
}

impl Stage {
    const ALL: [Stage; 3] = [Stage::FillBegins, Stage::Goes, Stage::FillEnds];

    fn number(self) -> u8 {
        self as u8
    }

    fn numbered(number: u8) -> Option<Stage> {
        Stage::ALL.get(usize::from(number)).copied()
    }
}

#[cfg(test)]
mod tests {
    use tallyring_engine::*;

    use super::*;

    /// A thousand token buckets under one limit.
    fn buckets(records: u64) -> Flush {
        let limit = Limit::new(Algorithm::TokenBucket, 1_000, Period::Micros(1_000_000), None).unwrap();
        let record = |no: u64| Record::Counter {
            identity: Identity { placement: no << 40, identity: !no },
            counter: Some(CounterState { limit: 0, state: State::Bucket { level: 999_000_000 - i128::from(no) } }),
        };
        let batch = Batch {
            version: Version { epoch: 3, sequence: 9 },
            read_at: Timestamp::from_micros(1_700_000_000_000_000),
            limits: vec![RuleLimit { rule: "per-account".into(), limit }],
            records: (0..records).map(record).collect(),
        };
        Flush { stage: Stage::Goes, follows: Version { epoch: 3, sequence: 8 }, batch }
    }

    #[test]
    fn a_flush_comes_back_as_it_went_out() {
        for stage in Stage::ALL {
            let flush = Flush { stage, ..buckets(3) };
            assert_eq!(Flush::decode(&flush.encode()), Ok(flush));
        }
    }

    #[test]
    fn bytes_that_are_no_flush_are_told_why() {
        let sound = buckets(1).encode();
        let check = |at: usize, byte: u8, expect: &str| {
            let mut bytes = sound.clone();
            bytes[at] = byte;
            assert_eq!(Flush::decode(&bytes).unwrap_err().to_string(), expect);
        };
        check(0, 9, "a flush of format 9; this program reads format 1");
        check(1, 3, "stage 3 of a flush; there are 0, 1 and 2");
        for cut in 0..sound.len() {
            assert!(Flush::decode(&sound[..cut]).is_err(), "cut at {cut}");
        }
        let longer = [&sound[..], &[0]].concat();
        assert!(
            Flush::decode(&longer).unwrap_err().to_string().starts_with("the batch of a flush: a batch ends after")
        );
    }

    #[test]
    fn a_token_bucket_takes_twenty_four_bytes_and_a_flush_fifty_nine_more() {
        let (few, many) = (buckets(1_000).encode().len(), buckets(2_000).encode().len());
        let record_bytes = (many - few) / 1_000;
        assert_eq!((record_bytes, few - 1_000 * record_bytes), (24, 59));
    }
}
