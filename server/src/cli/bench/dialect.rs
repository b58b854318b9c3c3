//! What is said to a target on one connection, and how its answers are understood.

pub(super) mod door;
pub(super) mod http;
pub(super) mod native;
pub(super) mod redis;
mod resp;

use std::borrow::Cow;

use super::feed::{Call, Cost};
use super::template::Template;

/// One language as data: a few bytes to say, and a function that reads replies.
#[derive(Clone, Debug)]
pub(super) struct Dialect {
    /// Said first on every connection; the answer's end is [`Answer::Ready`].
    pub(super) greeting: Vec<u8>,
    /// The question: may this account have one unit?
    pub(super) ask: Template,
    /// The same for the whole of its budget.
    pub(super) drain: Template,
    /// Reads the first reply of the bytes.
    pub(super) read: fn(&[u8]) -> Read<Answer>,
}

impl Dialect {
    /// Appends a call.
    #[inline]
    pub(super) fn write(&self, call: Call, out: &mut Vec<u8>) {
        let template = match call.cost {
            Cost::One => &self.ask,
            Cost::All => &self.drain,
        };
        template.write(call.account, out);
    }
}

/// What was read, and how many bytes it took; `None` if it has not arrived whole.
pub(super) type Read<T> = Result<Option<(T, usize)>, Misunderstood>;

/// What a reply means to a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The unit may be used.
    Allowed,
    /// It may not.
    Denied,
    /// The target is there but did not decide: overloaded, full, unavailable.
    Undecided,
    /// The greeting has been accepted.
    Ready,
    /// Nobody asked.
    Notice,
}

/// A reply that ends the conversation: nonsense, or an error in the target's own words.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Misunderstood(pub(super) Cow<'static, str>);

impl Misunderstood {
    fn new(reason: impl Into<Cow<'static, str>>) -> Misunderstood {
        Misunderstood(reason.into())
    }
}
