//! A shard's mailbox: how other threads ask it for something. Bounded; full is an answer, never a wait.

use std::collections::BTreeSet;
use std::sync::Arc;

use crossbeam::queue::ArrayQueue;
use parking_lot::Mutex;
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

/// Mailboxes of several receivers, each of which is woken once for all that was left for it.
#[derive(Debug)]
pub struct Round<T> {
    mailboxes: Arc<[Mailbox<T>]>,
    /// Receivers that have mail and are not woken yet.
    asleep: Mutex<BTreeSet<u16>>,
}

impl<T> Round<T> {
    /// A round to these receivers, who are known by their places.
    pub fn new(mailboxes: Arc<[Mailbox<T>]>) -> Round<T> {
        Round { mailboxes, asleep: Mutex::default() }
    }

    /// A receiver's mailbox.
    pub fn mailbox(&self, to: u16) -> &Mailbox<T> {
        &self.mailboxes[usize::from(to)]
    }

    /// Leaves a message for a receiver that [`wake`](Round::wake) wakes.
    ///
    /// # Errors
    /// Its mailbox is full: the message comes back at once.
    pub fn leave(&self, to: u16, message: T) -> Result<(), T> {
        self.mailbox(to).leave(message)?;
        self.asleep.lock().insert(to);
        Ok(())
    }

    /// Wakes whoever has mail.
    pub fn wake(&self) {
        let asleep = std::mem::take(&mut *self.asleep.lock());
        asleep.into_iter().for_each(|to| self.mailbox(to).wake());
    }
}

impl<T> Drop for Round<T> {
    /// Nobody is left asleep by somebody who ends in the middle.
    fn drop(&mut self) {
        self.wake();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

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
        let arrival = timeout(Duration::ZERO, mailbox.arrival()).await;
        assert!(arrival.is_err(), "nobody was woken yet");
        mailbox.wake();
        mailbox.arrival().await;
        assert_eq!(mailbox.len(), 2);
    }

    #[tokio::test]
    async fn a_round_wakes_whoever_has_mail_and_nobody_else() {
        let mailboxes: Arc<[Mailbox<char>]> = (0..3).map(|_| Mailbox::new(1)).collect();
        let round = Round::new(Arc::clone(&mailboxes));
        let is_woken = async |to: usize| timeout(Duration::ZERO, mailboxes[to].arrival()).await.is_ok();
        round.leave(2, 'a').unwrap();
        assert_eq!(round.leave(2, 'b'), Err('b'));
        assert!(!is_woken(2).await);
        round.wake();
        assert_eq!([is_woken(0).await, is_woken(1).await, is_woken(2).await], [false, false, true]);
        round.wake();
        assert!(!is_woken(2).await, "once");
        round.leave(0, 'c').unwrap();
        drop(round);
        assert!(is_woken(0).await, "at the latest when it is over");
    }

    #[test]
    fn a_full_mailbox_gives_the_message_back() {
        let mailbox = Mailbox::new(1);
        assert_eq!(mailbox.push('a'), Ok(()));
        assert_eq!(mailbox.push('b'), Err('b'));
        assert_eq!(mailbox.len(), 1);
    }
}
