//! Empty buffers of a shard's connections: a connection that waits holds none, one that reads or writes borrows one.

use std::cell::RefCell;

use bytes::BytesMut;

/// Bytes that one read may bring: a deep pipeline in one system call, and no more memory a connection than this.
const READ_BYTES_MAX: usize = 16 * 1024;

/// Bytes of an outbox that is kept: the answers to one read. One that grew over it, by a document or a slow peer, is freed.
const OUTBOX_BYTES_MAX: usize = 32 * 1024;

/// Buffers of each kind that are kept: connections of one shard that are in the middle of something at once.
const SPARES_MAX: usize = 64;

/// The buffers.
#[derive(Debug, Default)]
pub(super) struct Spares {
    inboxes: RefCell<Vec<BytesMut>>,
    outboxes: RefCell<Vec<Vec<u8>>>,
}

impl Spares {
    /// Sees to it that a read finds room.
    pub(super) fn make_room(&self, inbox: &mut BytesMut) {
        if inbox.capacity() == 0 {
            *inbox = self.inboxes.borrow_mut().pop().unwrap_or_default();
        }
        inbox.reserve(READ_BYTES_MAX);
    }

    /// Takes an inbox back, if there is nothing in it.
    pub(super) fn take_inbox(&self, inbox: &mut BytesMut) {
        if inbox.is_empty() {
            keep(&self.inboxes, std::mem::take(inbox));
        }
    }

    /// An outbox to write answers to.
    pub(super) fn outbox(&self) -> Vec<u8> {
        self.outboxes.borrow_mut().pop().unwrap_or_default()
    }

    /// Takes an outbox back that is written.
    pub(super) fn take_outbox(&self, outbox: &mut Vec<u8>) {
        let outbox = std::mem::take(outbox);
        debug_assert!(outbox.is_empty(), "what is not written is not thrown away");
        if (1..=OUTBOX_BYTES_MAX).contains(&outbox.capacity()) {
            keep(&self.outboxes, outbox);
        }
    }
}

fn keep<T>(spares: &RefCell<Vec<T>>, buffer: T) {
    let mut spares = spares.borrow_mut();
    if spares.len() < SPARES_MAX {
        spares.push(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_buffer_serves_many_connections_in_turn() {
        let (spares, mut inboxes) = (Spares::default(), [const { None }; 100]);
        let mut address = None;
        for inbox in &mut inboxes {
            let inbox = inbox.insert(BytesMut::new());
            spares.make_room(inbox);
            assert!(inbox.capacity() >= READ_BYTES_MAX);
            assert_eq!(*address.get_or_insert(inbox.as_ptr()), inbox.as_ptr());
            spares.take_inbox(inbox);
            assert_eq!(inbox.capacity(), 0);
        }
    }

    #[test]
    fn half_a_command_stays_where_it_is() {
        let (spares, mut inbox) = (Spares::default(), BytesMut::new());
        spares.make_room(&mut inbox);
        inbox.extend_from_slice(b"*1\r\n");
        spares.take_inbox(&mut inbox);
        assert_eq!(&inbox[..], b"*1\r\n");
    }

    #[test]
    fn a_burst_of_connections_leaves_a_bounded_heap() {
        let spares = Spares::default();
        let mut burst: Vec<BytesMut> = vec![BytesMut::new(); 3 * SPARES_MAX];
        burst.iter_mut().for_each(|inbox| spares.make_room(inbox));
        burst.iter_mut().for_each(|inbox| spares.take_inbox(inbox));
        assert_eq!(spares.inboxes.borrow().len(), SPARES_MAX);
        spares.take_outbox(&mut Vec::with_capacity(OUTBOX_BYTES_MAX + 1));
        spares.take_outbox(&mut Vec::new());
        assert!(spares.outboxes.borrow().is_empty());
    }
}
