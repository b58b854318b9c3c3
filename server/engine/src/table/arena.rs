//! Entries by number, in chunks that never move.

use std::ops::{Index, IndexMut};

use super::entry::{CELL_BYTES, Cell, Entry, EntryNo, Links};
use crate::heap::allocated_bytes;
use crate::identity::Identity;

/// Entries in a chunk: half a megabyte, asked for at once but touched only as they fill.
const CHUNK_LEN: usize = 1 << 14;
/// Bytes of a chunk of entries and of one of their links.
pub(crate) const CHUNK_BYTES: usize =
    allocated_bytes(CHUNK_LEN * CELL_BYTES) + allocated_bytes(CHUNK_LEN * size_of::<Links>());
/// Ends the list of free entries.
const NONE: u32 = u32::MAX;

/// Entries, and those that are free, in a list through their links.
#[derive(Debug)]
pub(crate) struct Arena {
    cells: Vec<Vec<Cell>>,
    /// Of each entry, where a decision does not come by.
    links: Vec<Vec<Links>>,
    free: u32,
}

impl Default for Arena {
    fn default() -> Arena {
        Arena { cells: Vec::new(), links: Vec::new(), free: NONE }
    }
}

impl Arena {
    /// Takes a free entry, the one given back last, or a new one.
    pub(crate) fn take(&mut self, identity: Identity, entry: Entry) -> EntryNo {
        let cell = Cell::new(identity, entry);
        if self.free == NONE {
            return self.push(cell);
        }
        let no = EntryNo(self.free);
        self.free = self.links(no).after;
        self[no] = cell;
        no
    }

    /// Frees an entry, which is in no list.
    pub(crate) fn give_back(&mut self, no: EntryNo) {
        self[no].free();
        self.links_mut(no).after = self.free;
        self.free = no.0;
    }

    /// Where an entry stands in its list.
    pub(crate) fn links(&self, no: EntryNo) -> Links {
        let (chunk, at) = place(no);
        self.links[chunk][at]
    }

    pub(crate) fn links_mut(&mut self, no: EntryNo) -> &mut Links {
        let (chunk, at) = place(no);
        &mut self.links[chunk][at]
    }

    /// Numbers that were ever given out: all entries are below.
    pub(crate) fn numbers(&self) -> u32 {
        let before_last = self.cells.len().saturating_sub(1) * CHUNK_LEN;
        (before_last + self.cells.last().map_or(0, Vec::len)) as u32
    }

    /// Whether `more` entries fit beside `used` ones without another chunk.
    pub(crate) fn has_free(&self, used: usize, more: usize) -> bool {
        used + more <= self.cells.len() * CHUNK_LEN
    }

    pub(crate) fn bytes(&self) -> usize {
        self.cells.len() * CHUNK_BYTES
    }

    fn push(&mut self, cell: Cell) -> EntryNo {
        if self.cells.last().is_none_or(|chunk| chunk.len() == CHUNK_LEN) {
            self.cells.push(Vec::with_capacity(CHUNK_LEN));
            self.links.push(Vec::with_capacity(CHUNK_LEN));
        }
        let (Some(cells), Some(links)) = (self.cells.last_mut(), self.links.last_mut()) else {
            unreachable!("there is a chunk with room")
        };
        cells.push(cell);
        links.push(Links { before: NONE, after: NONE });
        let in_chunk = cells.len() - 1;
        EntryNo(((self.cells.len() - 1) * CHUNK_LEN + in_chunk) as u32)
    }
}

/// The chunk of an entry, and its place in it.
fn place(no: EntryNo) -> (usize, usize) {
    (no.0 as usize / CHUNK_LEN, no.0 as usize % CHUNK_LEN)
}

impl Index<EntryNo> for Arena {
    type Output = Cell;

    fn index(&self, no: EntryNo) -> &Cell {
        let (chunk, at) = place(no);
        &self.cells[chunk][at]
    }
}

impl IndexMut<EntryNo> for Arena {
    fn index_mut(&mut self, no: EntryNo) -> &mut Cell {
        let (chunk, at) = place(no);
        &mut self.cells[chunk][at]
    }
}
