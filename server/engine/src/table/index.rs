//! The index: a directory of segments, which grows by splitting one segment at a time.
//!
//! Source: extendible hashing, Fagin, Nievergelt, Pippenger and Strong, 1979. The first bits of a hash choose one of a
//! fixed number of directories, the following ones a segment in it; so that doubling a directory, too, is small.

use super::entry::EntryNo;
use super::line::{Line, SLOTS, Tag};
use super::segment::{SEGMENT_LEN_MAX, Segment};
use crate::identity::Identity;

/// Entry numbers that one insertion may move: a full segment, when it grows or splits. Only if hundreds of entries share
/// 28 bits of a keyed hash could it be more; that a larger table moves no more is tested.
const ENTRIES_MOVED_PER_INSERT_MAX: usize = SEGMENT_LEN_MAX;

/// Directories: a hundred million entries are three thousand segments in each, so that to double one is to copy 16 KiB.
const DIRECTORIES: usize = 1 << DIRECTORY_BITS;
const DIRECTORY_BITS: u32 = 6;
/// Bits of a hash that choose a segment in a directory. Past these, which random identities do not reach, a segment
/// grows instead of splitting.
const DEPTH_MAX: u32 = 22;

/// An identity's hash, spread over all bits.
///
/// From the top: 28 bits for the directory, 5 for the tag, 31 for the place within a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Hash(u64);

impl Hash {
    /// Identities are hashes already. Mixing them once more costs a nanosecond, and keeps a caller who numbers them, as a
    /// test does, from filling one segment.
    pub(super) fn of(identity: Identity) -> Hash {
        let word = identity.identity ^ identity.placement.rotate_left(32);
        let word = (word ^ (word >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Hash(word ^ (word >> 32))
    }

    pub(super) fn tag(self) -> Tag {
        Tag::of(self.0 >> 31)
    }

    /// A number below `end`, from the bits for the place.
    pub(super) fn below(self, end: usize) -> usize {
        (((self.0 & 0x7fff_ffff) * end as u64) >> 31) as usize
    }

    /// The slot within a line where the entry belongs; from the low bits, while the line is chosen by the high ones.
    pub(super) fn start(self) -> usize {
        (((self.0 & 0xffff) * SLOTS as u64) >> 16) as usize
    }

    fn directory(self) -> usize {
        (self.0 >> (64 - DIRECTORY_BITS)) as usize
    }

    /// The `bits` bits after those that chose the directory.
    fn prefix(self, bits: u32) -> usize {
        ((self.0 << DIRECTORY_BITS) >> 32 >> (32 - bits)) as usize
    }

    /// Whether the bit after the first `depth` is set.
    fn bit(self, depth: u32) -> bool {
        self.0 << (DIRECTORY_BITS + depth) >> 63 == 1
    }
}

/// Segments by the bits after the directory's own.
#[derive(Clone, Debug)]
struct Directory {
    depth: u32,
    segments: Vec<u32>,
}

impl Directory {
    /// Looks at one more bit: every segment stands for two.
    fn double(&mut self) {
        self.segments = self.segments.iter().flat_map(|&segment| [segment, segment]).collect();
        self.depth += 1;
    }

    /// Gives the upper half of what `hash` shares its first `depth` bits with to another segment.
    fn give_upper_half(&mut self, hash: Hash, depth: u32, segment: u32) {
        let half = 1 << (self.depth - depth - 1);
        let upper = (hash.prefix(depth) * 2 + 1) * half;
        self.segments[upper..upper + half].fill(segment);
    }
}

/// Every entry's number, by its identity's hash.
#[derive(Debug)]
pub(super) struct Index {
    directories: Vec<Directory>,
    segments: Vec<Segment>,
    segment_bytes: usize,
    directory_bytes: usize,
}

impl Default for Index {
    fn default() -> Index {
        let directory = |no| Directory { depth: 0, segments: vec![no] };
        let segments: Vec<Segment> = (0..DIRECTORIES).map(|_| Segment::with_room_for(0, 0)).collect();
        Index {
            directories: (0..DIRECTORIES as u32).map(directory).collect(),
            directory_bytes: DIRECTORIES * size_of::<Directory>(),
            segment_bytes: segments.iter().map(Segment::bytes).sum(),
            segments,
        }
    }
}

impl Index {
    pub(super) fn find(&self, hash: Hash, is_it: impl Fn(EntryNo) -> bool) -> Option<EntryNo> {
        self.segments[self.segment_no(hash)].find(hash, is_it)
    }

    /// The line where an entry of that hash is looked for first.
    #[inline]
    pub(super) fn home_line(&self, hash: Hash) -> &Line {
        let segment = &self.segments[self.segment_no(hash)];
        segment.line(segment.home(hash))
    }

    /// Adds a number, which is not there yet. `hash_of` says the hash of those that are.
    pub(super) fn insert(&mut self, hash: Hash, no: EntryNo, hash_of: impl Fn(EntryNo) -> Hash) {
        let segment = &self.segments[self.segment_no(hash)];
        if segment.is_full() {
            self.make_room(hash, hash_of);
        }
        let segment_no = self.segment_no(hash);
        self.segments[segment_no].insert(hash, no);
    }

    pub(super) fn remove(&mut self, hash: Hash, no: EntryNo) {
        let segment_no = self.segment_no(hash);
        self.segments[segment_no].remove(hash, no);
    }

    pub(super) fn bytes(&self) -> usize {
        self.segment_bytes + self.directory_bytes + self.segments.capacity() * size_of::<Segment>()
    }

    fn segment_no(&self, hash: Hash) -> usize {
        let directory = &self.directories[hash.directory()];
        directory.segments[hash.prefix(directory.depth)] as usize
    }

    /// Grows the segment that `hash` belongs into, or splits it in two.
    fn make_room(&mut self, hash: Hash, hash_of: impl Fn(EntryNo) -> Hash) {
        let segment = &self.segments[self.segment_no(hash)];
        let depth = segment.depth;
        let entries: Vec<(Hash, EntryNo)> = segment.entry_nos().map(|no| (hash_of(no), no)).collect();
        debug_assert!(entries.len() <= ENTRIES_MOVED_PER_INSERT_MAX || are_alike(&entries, depth));
        let upper = entries.iter().filter(|(hash, _)| hash.bit(depth)).count();
        // A split that leaves all on one side would be repeated at once: hashes that are alike make a segment longer.
        let splits = segment.is_grown() && depth < DEPTH_MAX && upper > 0 && upper < entries.len();
        if splits {
            self.split(hash, &entries);
        } else {
            let grown = filled(&entries, depth, |_| true);
            self.replace(self.segment_no(hash), grown);
        }
    }

    fn split(&mut self, hash: Hash, entries: &[(Hash, EntryNo)]) {
        let segment_no = self.segment_no(hash);
        let depth = self.segments[segment_no].depth;
        let directory = &mut self.directories[hash.directory()];
        if directory.depth == depth {
            self.directory_bytes += directory.segments.len() * size_of::<u32>();
            directory.double();
        }
        directory.give_upper_half(hash, depth, self.segments.len() as u32);
        let upper = filled(entries, depth + 1, |hash| hash.bit(depth));
        self.segment_bytes += upper.bytes();
        self.segments.push(upper);
        self.replace(segment_no, filled(entries, depth + 1, |hash| !hash.bit(depth)));
    }

    fn replace(&mut self, segment_no: usize, segment: Segment) {
        self.segment_bytes = self.segment_bytes - self.segments[segment_no].bytes() + segment.bytes();
        self.segments[segment_no] = segment;
    }
}

/// Whether more entries than hashing explains share a prefix one bit longer than their segment's.
fn are_alike(entries: &[(Hash, EntryNo)], depth: u32) -> bool {
    let upper = entries.iter().filter(|(hash, _)| hash.bit(depth)).count();
    upper.min(entries.len() - upper) < entries.len() / 16
}

/// A segment with those of `entries` that belong into it, and room for one more.
fn filled(entries: &[(Hash, EntryNo)], depth: u32, belongs: impl Fn(Hash) -> bool) -> Segment {
    let own = || entries.iter().filter(|entry| belongs(entry.0));
    let mut segment = Segment::with_room_for(own().count(), depth);
    own().for_each(|&(hash, no)| segment.insert(hash, no));
    segment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_with_one_hash_make_a_segment_long_and_stay_findable() {
        let mut index = Index::default();
        let hash = Hash(0x1234_5678_9abc_def0);
        for no in 0..2_000 {
            index.insert(hash, EntryNo(no), |_| hash);
        }
        for no in 0..2_000 {
            assert_eq!(index.find(hash, |found| found == EntryNo(no)), Some(EntryNo(no)));
        }
        for no in 0..2_000 {
            index.remove(hash, EntryNo(no));
        }
        assert_eq!(index.find(hash, |_| true), None);
    }

    #[test]
    fn an_emptied_index_has_no_overflow_left() {
        let mut index = Index::default();
        let hash = |no: u32| Hash::of(Identity { placement: 0, identity: u64::from(no) });
        for round in 0..3 {
            for no in 0..20_000 {
                index.insert(hash(no), EntryNo(no), |no| hash(no.0));
            }
            for no in 0..20_000 {
                assert_eq!(index.find(hash(no), |found| found == EntryNo(no)), Some(EntryNo(no)), "round {round}");
                index.remove(hash(no), EntryNo(no));
            }
            assert!(index.segments.iter().all(Segment::is_pristine));
        }
    }

    #[test]
    fn no_insertion_moves_more_than_its_bound() {
        let mut index = Index::default();
        let hash = |no: u32| Hash::of(Identity { placement: 0, identity: u64::from(no) });
        for no in 0..500_000 {
            let moved = std::cell::Cell::new(0);
            index.insert(hash(no), EntryNo(no), |no| {
                moved.set(moved.get() + 1);
                hash(no.0)
            });
            assert!(moved.get() <= ENTRIES_MOVED_PER_INSERT_MAX);
        }
    }
}
