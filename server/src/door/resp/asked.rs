//! What was asked, as far as the wording of the answer depends on it: kept while a shard decides, perhaps another one.

use tallyring_protocol::Reply;
use tallyring_protocol::bounds::WAIT_NEVER_US;
use tallyring_protocol::reply::{Decision, Settled};

use super::write;

/// A command that a shard decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// As redis-cell has it.
    ClThrottle,
    /// As throttlecrab has it.
    Throttle,
    /// `TR.CHECK`.
    Check,
    /// `TR.TAKE`.
    Take,
    /// `TR.REFUND`.
    Refund,
    /// `TR.RESERVE`.
    Reserve,
    /// `TR.SETTLE`.
    Settle,
    /// `TR.ACQUIRE`.
    Acquire,
    /// `TR.RELEASE`.
    Release,
    /// `TR.RESET`.
    Reset,
}

impl Verb {
    /// What there is no room for, if there is none: the store's memory, or what one key or one shard may have.
    const fn what_is_full(self) -> &'static str {
        match self {
            Verb::Acquire => "the key has 10000 holders, or there is no room for another key",
            Verb::Reserve => "the shard has 100000 reservations, or there is no room for another key",
            _ => "no room for another key",
        }
    }

    /// The command's name.
    pub const fn name(self) -> &'static str {
        match self {
            Verb::ClThrottle => "CL.THROTTLE",
            Verb::Throttle => "THROTTLE",
            Verb::Check => "TR.CHECK",
            Verb::Take => "TR.TAKE",
            Verb::Refund => "TR.REFUND",
            Verb::Reserve => "TR.RESERVE",
            Verb::Settle => "TR.SETTLE",
            Verb::Acquire => "TR.ACQUIRE",
            Verb::Release => "TR.RELEASE",
            Verb::Reset => "TR.RESET",
        }
    }
}

/// A question that waits for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// What is asked.
    pub verb: Verb,
    /// The ceiling, which the answer repeats; 0 where it does not.
    pub limit: u64,
}

impl Asked {
    /// Appends the answer.
    ///
    /// # Panics
    /// If `reply` does not answer such a question: shards answer what they are asked.
    #[inline]
    pub fn write(self, reply: &Reply<'_>, out: &mut Vec<u8>) {
        match reply {
            Reply::Decision(decision) => match self.verb {
                Verb::ClThrottle => self.write_cell(decision, out),
                Verb::Throttle => self.write_crab(decision, out),
                _ => self.write_decision(decision, out),
            },
            Reply::Grant(grant) => write_integers([grant.granted, grant.remaining, grant.reset_after_us], out),
            Reply::Settled(Some(Settled { remaining, reset_after_us })) => {
                write_integers([1, *remaining, *reset_after_us], out);
            }
            Reply::Settled(None) => out.extend_from_slice(b"*3\r\n:0\r\n:-1\r\n:-1\r\n"),
            Reply::Slots(slots) => {
                write::array(out, 4);
                [u64::from(slots.allowed), self.limit, slots.in_use].iter().for_each(|n| write::integer(out, *n));
                write_wait(slots.retry_after_us, |us| us, out);
            }
            Reply::Released(released) => write_integers([u64::from(released.released), released.in_use], out),
            Reply::ResetDone { found } => write::integer(out, u64::from(*found)),
            other => self.write_failure(other, out),
        }
    }

    /// `[limited, limit, remaining, retry_after_s, reset_after_s]`; -1 for no wait and for never.
    #[inline]
    fn write_cell(self, decision: &Decision, out: &mut Vec<u8>) {
        write::array(out, 5);
        write::integer(out, u64::from(!decision.allowed));
        write::integer(out, self.limit);
        write::integer(out, decision.remaining);
        if decision.allowed {
            write::minus_one(out);
        } else {
            write_wait(decision.retry_after_us, whole_seconds, out);
        }
        write::integer(out, whole_seconds(decision.reset_after_us));
    }

    /// `[allowed, limit, remaining, reset_after_s, retry_after_s]`; -1 for never.
    fn write_crab(self, decision: &Decision, out: &mut Vec<u8>) {
        write::array(out, 5);
        write::integer(out, u64::from(decision.allowed));
        write::integer(out, self.limit);
        write::integer(out, decision.remaining);
        write::integer(out, whole_seconds(decision.reset_after_us));
        write_wait(decision.retry_after_us, whole_seconds, out);
    }

    /// `[allowed, limit, remaining, retry_after_us, reset_after_us]`, then `delay_us` of a leaky bucket, then what a forced
    /// call charged; -1 for never.
    fn write_decision(self, decision: &Decision, out: &mut Vec<u8>) {
        let more = [decision.delay_us, decision.charged];
        write::array(out, 5 + more.iter().flatten().count());
        write::integer(out, u64::from(decision.allowed));
        write::integer(out, self.limit);
        write::integer(out, decision.remaining);
        write_wait(decision.retry_after_us, |us| us, out);
        write::integer(out, decision.reset_after_us);
        more.iter().flatten().for_each(|number| write::integer(out, *number));
    }

    /// No decision: each kind has a first word of its own, so that a program can tell them apart.
    #[cold]
    fn write_failure(self, reply: &Reply<'_>, out: &mut Vec<u8>) {
        let name = self.verb.name();
        match reply {
            Reply::Full => {
                write::error(out, &format_args!("FULL {name}: {}; nothing was charged", self.verb.what_is_full()));
            }
            Reply::Overloaded => {
                write::error(
                    out,
                    &format_args!("OVERLOADED {name}: the shard has more to do than it can; nothing was charged"),
                );
            }
            Reply::Moving { .. } | Reply::WrongOwner { .. } => {
                let text = "the key is on its way from one node to another; nothing was charged, try again";
                write::error(out, &format_args!("TRYAGAIN {name}: {text}"));
            }
            Reply::Unavailable => {
                let text = "the key's shard does not answer; it is not known whether something was charged";
                write::error(out, &format_args!("UNAVAILABLE {name}: {text}"));
            }
            Reply::Invalid { field, reason } if reason.starts_with(&**field) => {
                write::error(out, &format_args!("ERR {name}: {reason}"));
            }
            Reply::Invalid { field, reason } => {
                write::error(out, &format_args!("ERR {name}: {field}: {reason}"));
            }
            other => unreachable!("{name} is not answered with {other:?}"),
        }
    }
}

#[inline]
fn write_integers<const N: usize>(numbers: [u64; N], out: &mut Vec<u8>) {
    write::array(out, N);
    numbers.iter().for_each(|number| write::integer(out, *number));
}

#[inline]
fn write_wait(wait_us: u64, unit: fn(u64) -> u64, out: &mut Vec<u8>) {
    if wait_us == WAIT_NEVER_US { write::minus_one(out) } else { write::integer(out, unit(wait_us)) }
}

/// Seconds, rounded up: who waits as long as he was told is let through.
#[inline]
fn whole_seconds(us: u64) -> u64 {
    us.div_ceil(1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tallyring_protocol::Malformed;
    use tallyring_protocol::reply::{Grant, Released, Slots};

    fn check(verb: Verb, reply: &Reply<'_>, expect: &str) {
        let mut out = Vec::new();
        Asked { verb, limit: 9 }.write(reply, &mut out);
        assert_eq!(String::from_utf8(out).unwrap().replace("\r\n", " ").trim_end(), expect);
    }

    const ALLOWED: Decision = Decision {
        allowed: true,
        remaining: 7,
        retry_after_us: 0,
        reset_after_us: 1_000_001,
        at_us: 5,
        charged: None,
        delay_us: None,
    };
    const DENIED: Decision = Decision { allowed: false, retry_after_us: 1, reset_after_us: 2_000_000, ..ALLOWED };
    const NEVER: Decision = Decision { retry_after_us: WAIT_NEVER_US, reset_after_us: 0, ..DENIED };

    #[test]
    fn seconds_are_rounded_up_and_never_is_minus_one() {
        check(Verb::ClThrottle, &Reply::Decision(ALLOWED), "*5 :0 :9 :7 :-1 :2");
        check(Verb::ClThrottle, &Reply::Decision(DENIED), "*5 :1 :9 :7 :1 :2");
        check(Verb::ClThrottle, &Reply::Decision(NEVER), "*5 :1 :9 :7 :-1 :0");
        check(Verb::Throttle, &Reply::Decision(ALLOWED), "*5 :1 :9 :7 :2 :0");
        check(Verb::Throttle, &Reply::Decision(DENIED), "*5 :0 :9 :7 :2 :1");
        check(Verb::Throttle, &Reply::Decision(NEVER), "*5 :0 :9 :7 :0 :-1");
    }

    #[test]
    fn microseconds_are_whole() {
        check(Verb::Check, &Reply::Decision(ALLOWED), "*5 :1 :9 :7 :0 :1000001");
        check(Verb::Refund, &Reply::Decision(NEVER), "*5 :0 :9 :7 :-1 :0");
        let both = Decision { delay_us: Some(3), charged: Some(4), ..ALLOWED };
        check(Verb::Reserve, &Reply::Decision(both), "*7 :1 :9 :7 :0 :1000001 :3 :4");
        let grant = Grant { granted: 3, remaining: 2, reset_after_us: 1, at_us: 0 };
        check(Verb::Take, &Reply::Grant(grant), "*3 :3 :2 :1");
    }

    #[test]
    fn the_other_operations_answer_in_a_few_numbers() {
        check(Verb::Settle, &Reply::Settled(Some(Settled { remaining: 4, reset_after_us: 8 })), "*3 :1 :4 :8");
        check(Verb::Settle, &Reply::Settled(None), "*3 :0 :-1 :-1");
        let slots = Slots { allowed: false, in_use: 9, retry_after_us: 5, at_us: 1 };
        check(Verb::Acquire, &Reply::Slots(slots), "*4 :0 :9 :9 :5");
        check(Verb::Acquire, &Reply::Slots(Slots { retry_after_us: WAIT_NEVER_US, ..slots }), "*4 :0 :9 :9 :-1");
        check(Verb::Release, &Reply::Released(Released { released: true, in_use: 2 }), "*2 :1 :2");
        check(Verb::Reset, &Reply::ResetDone { found: true }, ":1");
    }

    #[test]
    fn what_is_no_decision_is_an_error_with_a_word_of_its_own() {
        check(Verb::Check, &Reply::Full, "-FULL TR.CHECK: no room for another key; nothing was charged");
        let holders =
            "-FULL TR.ACQUIRE: the key has 10000 holders, or there is no room for another key; nothing was charged";
        check(Verb::Acquire, &Reply::Full, holders);
        let reservations = "-FULL TR.RESERVE: the shard has 100000 reservations, or there is no room for another key; nothing was charged";
        check(Verb::Reserve, &Reply::Full, reservations);
        let overloaded = "-OVERLOADED CL.THROTTLE: the shard has more to do than it can; nothing was charged";
        check(Verb::ClThrottle, &Reply::Overloaded, overloaded);
        let unavailable =
            "-UNAVAILABLE TR.TAKE: the key's shard does not answer; it is not known whether something was charged";
        check(Verb::Take, &Reply::Unavailable, unavailable);
        let moving =
            "-TRYAGAIN TR.TAKE: the key is on its way from one node to another; nothing was charged, try again";
        check(Verb::Take, &Reply::Moving { retry_us: 7 }, moving);
        check(Verb::Check, &Reply::invalid(Malformed::new("key", "too long")), "-ERR TR.CHECK: key: too long");
    }
}
