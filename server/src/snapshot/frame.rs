//! The fixed parts of a snapshot: how it begins, what stands before each block, how it ends.

use super::fingerprint::Fingerprint;

/// How every snapshot begins, whatever its format.
pub(super) const MAGIC: [u8; 8] = *b"TALLYSNP";
/// The layout that this program writes and reads.
pub(super) const FORMAT: u32 = 1;

/// Bytes of the header.
pub(super) const HEADER_BYTES: usize = 8 + 4 + Fingerprint::BYTES + 4;
/// Bytes before a block's body.
pub(super) const BLOCK_HEAD_BYTES: usize = 4 + 4;
/// Bytes of the trailer, the zero included that stands where a block's length would.
pub(super) const TRAILER_BYTES: usize = 4 + 8 + 8 + 4 + 4;
/// In place of a block's length: no block follows.
pub(super) const NO_BLOCK: u32 = 0;

/// What the trailer counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) blocks: u64,
    pub(super) records: u64,
    /// The sum of everything before the trailer.
    pub(super) sum: u32,
}

pub(super) fn header(of: Fingerprint) -> Vec<u8> {
    let fields = [&MAGIC[..], &FORMAT.to_le_bytes(), &of.to_bytes()].concat();
    with_sum(fields)
}

/// What stands before the body of a block.
pub(super) fn block_head(body: &[u8]) -> [u8; BLOCK_HEAD_BYTES] {
    let len = (body.len() as u32).to_le_bytes();
    let sum = block_sum(len, body).to_le_bytes();
    std::array::from_fn(|no| if no < 4 { len[no] } else { sum[no - 4] })
}

/// The sum of a block: over its length, so that a length that has changed is seen, and its body.
pub(super) fn block_sum(len: [u8; 4], body: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&len);
    sum.update(body);
    sum.finalize()
}

pub(super) fn trailer(totals: Totals) -> Vec<u8> {
    let Totals { blocks, records, sum } = totals;
    let counts = [blocks.to_le_bytes(), records.to_le_bytes()].concat();
    with_sum([&NO_BLOCK.to_le_bytes()[..], &counts, &sum.to_le_bytes()].concat())
}

/// The totals in a trailer whose sum is right.
pub(super) fn read_trailer(bytes: &[u8; TRAILER_BYTES]) -> Totals {
    Totals { blocks: u64_at(bytes, 4), records: u64_at(bytes, 12), sum: u32_at(bytes, 20) }
}

fn with_sum(mut fields: Vec<u8>) -> Vec<u8> {
    let sum = crc32fast::hash(&fields);
    fields.extend(sum.to_le_bytes());
    fields
}

/// The number at a place that the bytes are known to have.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|no| bytes[at + no]))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|no| bytes[at + no]))
}
