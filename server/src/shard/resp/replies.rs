//! Answers in the order of their questions, although some come from other shards.

use std::collections::VecDeque;

use tallyring_protocol::Reply;

use crate::door::resp::asked::Asked;

/// Bytes of answers that may wait behind an answer of another shard; with more, no further command is read.
const HELD_BYTES_MAX: usize = 256 * 1024;

/// The answers of one connection that it has not been given yet.
#[derive(Debug, Default)]
pub(super) struct Replies {
    /// What can be written now.
    ready: Vec<u8>,
    /// Questions that other shards have, oldest first.
    awaited: VecDeque<Awaited>,
    /// The number of the oldest.
    oldest: u32,
    /// The number of the next.
    next: u32,
    /// Bytes in `awaited`.
    held: usize,
}

/// A question that another shard has, and what comes behind its answer.
#[derive(Debug)]
struct Awaited {
    asked: Asked,
    answer: Option<Vec<u8>>,
    behind: Vec<u8>,
}

impl Replies {
    /// Appends an answer by what `write` does to the end.
    #[inline]
    pub(super) fn answer(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        match self.awaited.back_mut() {
            None => write(&mut self.ready),
            Some(last) => {
                let before = last.behind.len();
                write(&mut last.behind);
                self.held += last.behind.len() - before;
            }
        }
    }

    /// The number by which the next question of another shard will be known.
    pub(super) fn upcoming(&self) -> u32 {
        self.next
    }

    /// That question has been sent.
    pub(super) fn sent(&mut self) {
        self.next = self.next.wrapping_add(1);
    }

    /// Keeps a place for the answer to the oldest question sent that has none.
    pub(super) fn hold(&mut self, asked: Asked) {
        self.awaited.push_back(Awaited { asked, answer: None, behind: Vec::new() });
    }

    /// The answer to the question of that number is here, and the ceiling if it is another than was asked under.
    pub(super) fn arrive(&mut self, number: u32, reply: &Reply<'_>, ceiling: Option<u64>) {
        let at = number.wrapping_sub(self.oldest) as usize;
        let awaited = &mut self.awaited[at];
        awaited.asked.limit = ceiling.unwrap_or(awaited.asked.limit);
        let mut answer = Vec::new();
        awaited.asked.write(reply, &mut answer);
        self.held += answer.len();
        awaited.answer = Some(answer);
        self.let_go();
    }

    /// Moves what no question is in front of any more.
    fn let_go(&mut self) {
        while self.awaited.front().is_some_and(|first| first.answer.is_some()) {
            let Some(Awaited { answer: Some(answer), behind, .. }) = self.awaited.pop_front() else { return };
            self.held -= answer.len() + behind.len();
            self.ready.extend_from_slice(&answer);
            self.ready.extend_from_slice(&behind);
            self.oldest = self.oldest.wrapping_add(1);
        }
    }

    /// Borrows the memory of `outbox`, which is empty, until [`Replies::take`].
    pub(super) fn lend(&mut self, outbox: &mut Vec<u8>) {
        debug_assert!(self.ready.is_empty() && outbox.is_empty(), "what can be written was written");
        std::mem::swap(&mut self.ready, outbox);
    }

    /// Moves what can be written now into `outbox`, which is empty.
    pub(super) fn take(&mut self, outbox: &mut Vec<u8>) {
        std::mem::swap(&mut self.ready, outbox);
    }

    /// Whether no question is open.
    pub(super) fn is_settled(&self) -> bool {
        self.awaited.is_empty()
    }

    /// Whether so much waits behind another shard that no more may be asked.
    pub(super) fn is_backed_up(&self) -> bool {
        self.held > HELD_BYTES_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::door::resp::asked::Verb;
    use crate::door::resp::write;

    fn written(replies: &mut Replies) -> String {
        let mut out = Vec::new();
        replies.take(&mut out);
        String::from_utf8(out).unwrap().replace("\r\n", " ")
    }

    fn ask(replies: &mut Replies) -> u32 {
        let number = replies.upcoming();
        replies.sent();
        replies.hold(Asked { verb: Verb::Reset, limit: 0 });
        number
    }

    #[test]
    fn an_answer_waits_for_those_before_it() {
        let mut replies = Replies::default();
        replies.answer(|out| write::simple(out, "a"));
        let first = ask(&mut replies);
        replies.answer(|out| write::simple(out, "b"));
        let second = ask(&mut replies);
        replies.answer(|out| write::simple(out, "c"));
        assert_eq!(written(&mut replies), "+a ");
        replies.arrive(second, &Reply::ResetDone { found: true }, None);
        assert_eq!(written(&mut replies), "");
        replies.arrive(first, &Reply::ResetDone { found: false }, None);
        assert_eq!(written(&mut replies), ":0 +b :1 +c ");
        assert!(replies.is_settled() && replies.held == 0);
    }

    #[test]
    fn what_waits_behind_another_shard_is_bounded() {
        let mut replies = Replies::default();
        let open = ask(&mut replies);
        let text = [b'x'; 1_024];
        (0..256).for_each(|_| replies.answer(|out| write::bulk(out, &text)));
        assert!(replies.is_backed_up());
        replies.arrive(open, &Reply::Full, None);
        assert!(!replies.is_backed_up());
    }

    #[test]
    fn numbers_wrap() {
        let mut replies = Replies { oldest: u32::MAX, next: u32::MAX, ..Replies::default() };
        let (last, first) = (ask(&mut replies), ask(&mut replies));
        assert_eq!((last, first), (u32::MAX, 0));
        replies.arrive(first, &Reply::ResetDone { found: true }, None);
        replies.arrive(last, &Reply::ResetDone { found: false }, None);
        assert_eq!(written(&mut replies), ":0 :1 ");
    }
}
