//! A shard's mailbox: how other threads ask it for something. Bounded; full is an answer, never a wait.

use crossbeam::queue::ArrayQueue;
use tokio::sync::Notify;

/// A bounded queue with many senders and one receiver, which is woken once for all that has gathered.
#[derive(Debug)]
pub struct Mailbox<T> {
    queue: ArrayQueue<T>,
    wake: Notify,
}

impl<T> Mailbox<T> {
    /// A mailbox for up to `len_max` messages.
    pub fn new(len_max: usize) -> Mailbox<T> {
        Mailbox { queue: ArrayQueue::new(len_max), wake: Notify::new() }
    }

    /// Leaves a message and wakes the receiver.
    ///
    /// # Errors
    /// The mailbox is full: the message comes back at once.
    pub fn push(&self, message: T) -> Result<(), T> {
        self.leave(message)?;
        self.wake();
        Ok(())
    }

    /// Leaves a message that whoever leaves it wakes the receiver for a little later, together with others.
    ///
    /// # Errors
    /// The mailbox is full: the message comes back at once.
    pub fn leave(&self, message: T) -> Result<(), T> {
        self.queue.push(message)
    }

    /// Wakes the receiver.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Takes the oldest message, if there is one.
    pub fn pop(&self) -> Option<T> {
        self.queue.pop()
    }

    /// Messages waiting.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether none is waiting.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Waits until there may be a message. The receiver takes all there are before it waits again.
    pub async fn arrival(&self) {
        self.wake.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_message_left_before_the_wait_is_not_slept_through() {
        let mailbox = Mailbox::new(2);
        mailbox.push(1).unwrap();
        mailbox.push(2).unwrap();
        mailbox.arrival().await;
        assert_eq!((mailbox.pop(), mailbox.pop(), mailbox.pop()), (Some(1), Some(2), None));
    }

    #[tokio::test]
    async fn whoever_leaves_messages_wakes_once_for_all_of_them() {
        let mailbox = Mailbox::new(2);
        mailbox.leave(1).unwrap();
        mailbox.leave(2).unwrap();
        let arrival = tokio::time::timeout(std::time::Duration::ZERO, mailbox.arrival()).await;
        assert!(arrival.is_err(), "nobody was woken yet");
        mailbox.wake();
        mailbox.arrival().await;
        assert_eq!(mailbox.len(), 2);
    }

    #[test]
    fn a_full_mailbox_gives_the_message_back() {
        let mailbox = Mailbox::new(1);
        assert_eq!(mailbox.push('a'), Ok(()));
        assert_eq!(mailbox.push('b'), Err('b'));
        assert_eq!(mailbox.len(), 1);
    }
}
