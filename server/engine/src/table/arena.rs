//! Entries by number, in chunks that never move.

use std::ops::{Index, IndexMut};

use super::entry::{CELL_BYTES, Cell, Entry, EntryNo, Links};
use crate::heap::allocated_bytes;
use crate::identity::Identity;

/// Entries in a chunk: 704 KiB, asked for at once but touched only as they fill.
const CHUNK_LEN: usize = 1 << 14;
/// Bytes of a chunk.
pub(crate) const CHUNK_BYTES: usize = allocated_bytes(CHUNK_LEN * CELL_BYTES);
/// Ends the list of free entries.
const NONE: u32 = u32::MAX;

/// Entries, and those that are free, in a list through their links.
#[derive(Debug)]
pub(crate) struct Arena {
    chunks: Vec<Vec<Cell>>,
    free: u32,
}

impl Default for Arena {
    fn default() -> Arena {
        Arena { chunks: Vec::new(), free: NONE }
    }
}

impl Arena {
    /// Takes a free entry, the one given back last, or a new one.
    pub(crate) fn take(&mut self, identity: Identity, entry: Entry) -> EntryNo {
        let cell = Cell::new(identity, entry, Links { before: NONE, after: NONE });
        if self.free == NONE {
            return self.push(cell);
        }
        let no = EntryNo(self.free);
        self.free = self[no].links.after;
        self[no] = cell;
        no
    }

    /// Frees an entry, which is in no list.
    pub(crate) fn give_back(&mut self, no: EntryNo) {
        let free = self.free;
        self[no].free();
        self[no].links.after = free;
        self.free = no.0;
    }

    /// Numbers that were ever given out: all entries are below.
    pub(crate) fn numbers(&self) -> u32 {
        let before_last = self.chunks.len().saturating_sub(1) * CHUNK_LEN;
        (before_last + self.chunks.last().map_or(0, Vec::len)) as u32
    }

    /// Whether `more` entries fit beside `used` ones without another chunk.
    pub(crate) fn has_free(&self, used: usize, more: usize) -> bool {
        used + more <= self.chunks.len() * CHUNK_LEN
    }

    pub(crate) fn bytes(&self) -> usize {
        self.chunks.len() * CHUNK_BYTES
    }

    fn push(&mut self, cell: Cell) -> EntryNo {
        if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK_LEN) {
            self.chunks.push(Vec::with_capacity(CHUNK_LEN));
        }
        let chunk = self.chunks.last_mut().expect("there is a chunk with room");
        chunk.push(cell);
        let in_chunk = chunk.len() - 1;
        EntryNo(((self.chunks.len() - 1) * CHUNK_LEN + in_chunk) as u32)
    }
}

impl Index<EntryNo> for Arena {
    type Output = Cell;

    fn index(&self, no: EntryNo) -> &Cell {
        &self.chunks[no.0 as usize / CHUNK_LEN][no.0 as usize % CHUNK_LEN]
    }
}

impl IndexMut<EntryNo> for Arena {
    fn index_mut(&mut self, no: EntryNo) -> &mut Cell {
        &mut self.chunks[no.0 as usize / CHUNK_LEN][no.0 as usize % CHUNK_LEN]
    }
}
