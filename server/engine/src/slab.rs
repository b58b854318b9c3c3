//! A store of values by number that grows without moving what it holds.

/// Values in one chunk: small enough that a new chunk costs microseconds, large enough that chunks are few.
const CHUNK_LEN: usize = 1 << 10;

#[derive(Debug)]
enum Slot<T> {
    Used(T),
    /// The next free slot, as a list through the holes.
    Free(Option<u32>),
}

/// Values by number. A number is good from `insert` to `remove`.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    chunks: Vec<Vec<Slot<T>>>,
    free: Option<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab { chunks: Vec::new(), free: None }
    }
}

impl<T> Slab<T> {
    /// Keeps a value and says where.
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        match self.free {
            Some(no) => {
                let slot = self.slot_mut(no);
                let Slot::Free(next) = *slot else { unreachable!("the free list runs through free slots only") };
                *slot = Slot::Used(value);
                self.free = next;
                no
            }
            None => self.push(value),
        }
    }

    /// Gives the value back and frees its number.
    pub(crate) fn remove(&mut self, no: u32) -> T {
        let free = self.free.replace(no);
        match std::mem::replace(self.slot_mut(no), Slot::Free(free)) {
            Slot::Used(value) => value,
            Slot::Free(_) => unreachable!("a number is removed once"),
        }
    }

    pub(crate) fn get_mut(&mut self, no: u32) -> &mut T {
        match self.slot_mut(no) {
            Slot::Used(value) => value,
            Slot::Free(_) => unreachable!("a number is used between insert and remove"),
        }
    }

    /// Values held.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.chunks.iter().flatten().filter(|slot| matches!(slot, Slot::Used(_))).count()
    }

    /// Bytes of the chunks.
    pub(crate) fn bytes(&self) -> usize {
        self.chunks.len() * CHUNK_LEN * size_of::<Slot<T>>()
    }

    fn push(&mut self, value: T) -> u32 {
        if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK_LEN) {
            self.chunks.push(Vec::with_capacity(CHUNK_LEN));
        }
        let chunk = self.chunks.last_mut().expect("there is a chunk with room");
        chunk.push(Slot::Used(value));
        let in_chunk = chunk.len() - 1;
        u32::try_from((self.chunks.len() - 1) * CHUNK_LEN + in_chunk).expect("entries are fewer than 2^32")
    }

    fn slot_mut(&mut self, no: u32) -> &mut Slot<T> {
        &mut self.chunks[no as usize / CHUNK_LEN][no as usize % CHUNK_LEN]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freed_number_is_used_again_before_the_store_grows() {
        let mut slab = Slab::default();
        let [a, b, c] = ["a", "b", "c"].map(|value| slab.insert(value));
        assert_eq!((slab.remove(b), slab.remove(a)), ("b", "a"));
        assert_eq!((slab.insert("d"), slab.insert("e"), slab.insert("f")), (a, b, 3));
        assert_eq!(*slab.get_mut(c), "c");
        assert_eq!(slab.len(), 4);
    }

    #[test]
    fn values_stay_across_chunks() {
        let mut slab = Slab::default();
        let numbers: Vec<u32> = (0..3 * CHUNK_LEN).map(|value| slab.insert(value)).collect();
        assert!(numbers.iter().enumerate().all(|(value, &no)| *slab.get_mut(no) == value));
    }
}
