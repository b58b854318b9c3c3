//! What a server answers and pushes.

use std::borrow::Cow;

mod checked_all;
mod released;
mod rules;
mod settled;
mod slots;

pub use self::checked_all::{CheckedAll, Decisions};
pub use self::released::Released;
pub use self::rules::Rules;
pub use self::settled::Settled;
pub use self::slots::Slots;
use crate::bounds::{REASON_BYTES_MAX, WAIT_NEVER_US};
use crate::code::{GoodbyeCode, Kind};
use crate::fields::{Fields, Malformed, put_text};
use crate::frame::{self, Frame};
use crate::hello::Welcome;
use crate::ring::NodeId;
use crate::rules::RulesVersion;

/// Flag of a decision, also of a checked_all and of slots: the call was allowed.
const ALLOWED: u8 = 1;
/// Flag of a decision: it was forced, and `charged` follows.
const CHARGED: u8 = 2;
/// Flag of a decision: the algorithm shapes traffic, and `delay_us` follows.
const DELAY: u8 = 4;
/// Flag of a reset: there was something to forget.
const FOUND: u8 = 1;

/// Longest `host:port`, in bytes.
const ADDRESS_BYTES_MAX: usize = 256;

/// One reply, borrowed from its frame. The frame's id says which request it answers; a push has id 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply<'a> {
    /// The hello was accepted.
    Welcome(Welcome),
    /// The handle may be used.
    Defined,
    /// Somebody is there.
    Pong,
    /// Pushed: the cluster as of an epoch, in JSON; see [`Topology`](crate::Topology).
    Topology(Cow<'a, [u8]>),
    /// Pushed: which rules are live.
    RulesVersion(RulesVersion),
    /// The rules that are live.
    Rules(Rules<'a>),
    /// The report was counted.
    Reported,
    /// Answer to a check, a refund or a reserve.
    Decision(Decision),
    /// Answer to a take.
    Grant(Grant),
    /// Answer to a reset.
    ResetDone {
        /// Whether there was anything to forget.
        found: bool,
    },
    /// Answer to a check_all.
    CheckedAll(CheckedAll<'a>),
    /// Answer to a settle; `None` if there was nothing to settle.
    Settled(Option<Settled>),
    /// Answer to an acquire.
    Slots(Slots),
    /// Answer to a release.
    Released(Released),
    /// The key lives on another node.
    WrongOwner {
        /// The ring epoch that says so.
        epoch: u64,
        /// The owner.
        node: NodeId,
        /// `host:port` of the owner's native listener.
        address: Cow<'a, str>,
    },
    /// The key is on its way to another node.
    Moving {
        /// Ask again after this many microseconds.
        retry_us: u64,
    },
    /// The shard has more to do than it can; nothing was charged.
    Overloaded,
    /// The store's memory has no room for another key; nothing was charged.
    Full,
    /// The store cannot answer this now; nothing is known to be charged.
    Unavailable,
    /// The request makes no sense; nothing was charged.
    Invalid {
        /// The first bad field.
        field: Cow<'a, str>,
        /// What is wrong with it and what is allowed.
        reason: Cow<'a, str>,
    },
    /// The connection ends here.
    Goodbye {
        /// Why.
        code: GoodbyeCode,
        /// Why, for people.
        reason: Cow<'a, str>,
    },
}

/// The numbers of a decision. Waits saturate at [`WAIT_US_MAX`](crate::bounds::WAIT_US_MAX).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether the call may go on.
    pub allowed: bool,
    /// Whole units left after this call.
    pub remaining: u64,
    /// The smallest wait after which the same call would pass, in microseconds; [`WAIT_NEVER_US`] if none would do.
    pub retry_after_us: u64,
    /// The smallest wait after which the whole budget is free again, in microseconds.
    pub reset_after_us: u64,
    /// The instant of the decision, in microseconds of the store's clock: a refund names it.
    pub at_us: u64,
    /// What a forced check charged.
    pub charged: Option<u64>,
    /// How long a shaping limit asks the caller to hold the request, in microseconds.
    pub delay_us: Option<u64>,
}

impl Decision {
    /// Whether no wait would help.
    pub fn never(&self) -> bool {
        self.retry_after_us == WAIT_NEVER_US
    }
}

/// The numbers of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Units granted, from 0 up to the cost.
    pub granted: u64,
    /// Whole units left.
    pub remaining: u64,
    /// The smallest wait after which the whole budget is free again, in microseconds.
    pub reset_after_us: u64,
    /// The instant of the charge, in microseconds of the store's clock.
    pub at_us: u64,
}

impl<'a> Reply<'a> {
    /// Reads the reply of a frame.
    ///
    /// # Errors
    /// [`Malformed`] names the first bad field, `kind` if the frame is no reply.
    #[inline]
    pub fn decode(frame: &Frame<'a>) -> Result<Reply<'a>, Malformed> {
        let mut fields = Fields::new(frame.body);
        let reply = match Kind::from_code(frame.kind) {
            Some(Kind::Decision) => Reply::Decision(Decision::decode(frame.flags, &mut fields)?),
            Some(Kind::Grant) => Reply::Grant(Grant::decode(&mut fields)?),
            Some(Kind::ResetDone) => Reply::ResetDone { found: frame.flags & FOUND != 0 },
            Some(Kind::CheckedAll) => Reply::CheckedAll(CheckedAll::decode(frame.flags, &mut fields)?),
            Some(Kind::Settled) => Reply::Settled(settled::decode(frame.flags, &mut fields)?),
            Some(Kind::Slots) => Reply::Slots(Slots::decode(frame.flags, &mut fields)?),
            Some(Kind::Released) => Reply::Released(Released::decode(frame.flags, &mut fields)?),
            Some(Kind::Welcome) => Reply::Welcome(Welcome::decode_body(fields.rest())?),
            Some(Kind::Topology) => Reply::Topology(Cow::Borrowed(fields.rest())),
            Some(Kind::RulesVersion) => Reply::RulesVersion(RulesVersion::decode(&mut fields)?),
            Some(Kind::Rules) => Reply::Rules(Rules::decode(&mut fields)?),
            Some(Kind::Reported) => Reply::Reported,
            Some(Kind::Defined) => Reply::Defined,
            Some(Kind::Pong) => Reply::Pong,
            Some(Kind::WrongOwner) => Reply::WrongOwner {
                epoch: fields.u64("epoch")?,
                node: NodeId(fields.u64("node")?),
                address: fields.text("address", ADDRESS_BYTES_MAX)?.into(),
            },
            Some(Kind::Moving) => Reply::Moving { retry_us: fields.u64("retry_us")? },
            Some(Kind::Overloaded) => Reply::Overloaded,
            Some(Kind::Full) => Reply::Full,
            Some(Kind::Unavailable) => Reply::Unavailable,
            Some(Kind::Invalid) => Reply::Invalid {
                field: Cow::Borrowed(fields.text("field", REASON_BYTES_MAX)?),
                reason: Cow::Borrowed(fields.text("reason", REASON_BYTES_MAX)?),
            },
            Some(Kind::Goodbye) => Reply::Goodbye {
                code: GoodbyeCode::from_code(fields.u8("code")?)
                    .ok_or(Malformed::new("code", "a number of docs/protocol.md's table"))?,
                reason: Cow::Borrowed(fields.text("reason", REASON_BYTES_MAX)?),
            },
            _ => return Err(Malformed::new("kind", "not a reply")),
        };
        fields.end()?;
        Ok(reply)
    }

    /// Appends the frame that answers the request with this id.
    #[inline]
    pub fn encode(&self, id: u32, out: &mut Vec<u8>) {
        match self {
            Reply::Decision(decision) => decision.encode(id, out),
            Reply::Grant(grant) => grant.encode(id, out),
            _ => self.encode_cold(id, out),
        }
    }

    fn encode_cold(&self, id: u32, out: &mut Vec<u8>) {
        let empty = |kind, flags, out: &mut Vec<u8>| frame::put(out, kind, flags, 0, id, |_| ());
        match self {
            Reply::Decision(_) | Reply::Grant(_) => unreachable!("encode has its own arms for the hot replies"),
            Reply::Welcome(welcome) => welcome.encode(out),
            Reply::Defined => empty(Kind::Defined, 0, out),
            Reply::Pong => empty(Kind::Pong, 0, out),
            Reply::Reported => empty(Kind::Reported, 0, out),
            Reply::RulesVersion(version) => version.encode(id, out),
            Reply::Rules(rules) => rules.encode(id, out),
            Reply::Overloaded => empty(Kind::Overloaded, 0, out),
            Reply::Full => empty(Kind::Full, 0, out),
            Reply::Unavailable => empty(Kind::Unavailable, 0, out),
            Reply::ResetDone { found } => empty(Kind::ResetDone, if *found { FOUND } else { 0 }, out),
            Reply::CheckedAll(checked) => checked.encode(id, out),
            Reply::Settled(settled) => settled::encode(*settled, id, out),
            Reply::Slots(slots) => slots.encode(id, out),
            Reply::Released(released) => released.encode(id, out),
            Reply::Topology(json) => frame::put(out, Kind::Topology, 0, 0, id, |out| out.extend_from_slice(json)),
            Reply::WrongOwner { epoch, node, address } => frame::put(out, Kind::WrongOwner, 0, 0, id, |out| {
                out.extend_from_slice(&epoch.to_le_bytes());
                out.extend_from_slice(&node.0.to_le_bytes());
                put_text(out, address, ADDRESS_BYTES_MAX);
            }),
            Reply::Moving { retry_us } => {
                frame::put(out, Kind::Moving, 0, 0, id, |out| out.extend_from_slice(&retry_us.to_le_bytes()));
            }
            Reply::Invalid { field, reason } => frame::put(out, Kind::Invalid, 0, 0, id, |out| {
                put_text(out, field, REASON_BYTES_MAX);
                put_text(out, reason, REASON_BYTES_MAX);
            }),
            Reply::Goodbye { code, reason } => frame::put(out, Kind::Goodbye, 0, 0, id, |out| {
                out.push(*code as u8);
                put_text(out, reason, REASON_BYTES_MAX);
            }),
        }
    }

    /// The answer to a frame that could be told from its neighbours but not understood.
    pub fn invalid(error: Malformed) -> Reply<'static> {
        Reply::Invalid { field: error.path(), reason: Cow::Borrowed(error.reason) }
    }
}

impl Decision {
    #[inline]
    fn decode(flags: u8, fields: &mut Fields<'_>) -> Result<Decision, Malformed> {
        let (remaining, retry_after_us) = (fields.u64("remaining")?, fields.u64("retry_after_us")?);
        let (reset_after_us, at_us) = (fields.u64("reset_after_us")?, fields.u64("at_us")?);
        Decision { allowed: false, remaining, retry_after_us, reset_after_us, at_us, charged: None, delay_us: None }
            .with_optional(flags, fields)
    }

    /// The same with what its flags say and announce.
    #[inline]
    fn with_optional(self, flags: u8, fields: &mut Fields<'_>) -> Result<Decision, Malformed> {
        let optional =
            |flag: u8, fields: &mut Fields<'_>, name| (flags & flag != 0).then(|| fields.u64(name)).transpose();
        let charged = optional(CHARGED, fields, "charged")?;
        Ok(Decision { allowed: flags & ALLOWED != 0, charged, delay_us: optional(DELAY, fields, "delay_us")?, ..self })
    }

    #[inline]
    fn flags(&self) -> u8 {
        let flag = |present: bool, flag: u8| if present { flag } else { 0 };
        flag(self.allowed, ALLOWED) | flag(self.charged.is_some(), CHARGED) | flag(self.delay_us.is_some(), DELAY)
    }

    #[inline]
    fn optional(&self) -> impl Iterator<Item = u64> {
        [self.charged, self.delay_us].into_iter().flatten()
    }

    #[inline]
    fn encode(&self, id: u32, out: &mut Vec<u8>) {
        let body_len = 32 + 8 * self.optional().count();
        let mut fixed = [0; 44];
        fixed[..12].copy_from_slice(&frame::header(Kind::Decision, self.flags(), 0, id, body_len));
        fixed[12..20].copy_from_slice(&self.remaining.to_le_bytes());
        fixed[20..28].copy_from_slice(&self.retry_after_us.to_le_bytes());
        fixed[28..36].copy_from_slice(&self.reset_after_us.to_le_bytes());
        fixed[36..44].copy_from_slice(&self.at_us.to_le_bytes());
        out.extend_from_slice(&fixed);
        for number in self.optional() {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
}

impl Grant {
    fn decode(fields: &mut Fields<'_>) -> Result<Grant, Malformed> {
        Ok(Grant {
            granted: fields.u64("granted")?,
            remaining: fields.u64("remaining")?,
            reset_after_us: fields.u64("reset_after_us")?,
            at_us: fields.u64("at_us")?,
        })
    }

    fn encode(&self, id: u32, out: &mut Vec<u8>) {
        frame::put(out, Kind::Grant, 0, 0, id, |out| {
            for number in [self.granted, self.remaining, self.reset_after_us, self.at_us] {
                out.extend_from_slice(&number.to_le_bytes());
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Role;

    fn round_trip(reply: &Reply<'_>) {
        let mut bytes = Vec::new();
        reply.encode(5, &mut bytes);
        let (frame, taken) = frame::split(&bytes, 4096).unwrap().unwrap();
        assert_eq!(taken, bytes.len());
        assert_eq!(&Reply::decode(&frame).unwrap(), reply);
    }

    #[test]
    fn replies_survive_the_wire() {
        let decision = Decision {
            allowed: true,
            remaining: 1,
            retry_after_us: WAIT_NEVER_US,
            reset_after_us: 3,
            at_us: 4,
            charged: None,
            delay_us: None,
        };
        for (charged, delay_us) in [(None, None), (Some(5), None), (None, Some(6)), (Some(5), Some(6))] {
            round_trip(&Reply::Decision(Decision { charged, delay_us, ..decision }));
        }
        round_trip(&Reply::Decision(Decision { allowed: false, ..decision }));
        round_trip(&Reply::Grant(Grant { granted: 1, remaining: 2, reset_after_us: 3, at_us: 4 }));
        for reply in [Reply::Defined, Reply::Pong, Reply::Reported, Reply::Overloaded, Reply::Full, Reply::Unavailable]
        {
            round_trip(&reply);
        }
        round_trip(&Reply::ResetDone { found: true });
        let checks = Decisions::new([Decision { charged: Some(1), delay_us: Some(2), ..decision }, decision]);
        let checked = CheckedAll { allowed: false, retry_after_us: 7, at_us: 4, checks };
        assert_eq!(checked.decisions().map(|part| part.at_us).collect::<Vec<_>>(), [4, 4]);
        round_trip(&Reply::CheckedAll(checked));
        round_trip(&Reply::Settled(None));
        round_trip(&Reply::Settled(Some(Settled { remaining: 1, reset_after_us: 2 })));
        round_trip(&Reply::Slots(Slots { allowed: true, in_use: 1, retry_after_us: 0, at_us: 3 }));
        round_trip(&Reply::Released(Released { released: true, in_use: 9 }));
        round_trip(&Reply::Topology(Cow::Borrowed(b"{}")));
        let version = RulesVersion { lineage: 1, version: 2 };
        round_trip(&Reply::RulesVersion(version));
        round_trip(&Reply::Rules(Rules { version, json: Cow::Borrowed(b"{}") }));
        round_trip(&Reply::WrongOwner { epoch: 1, node: NodeId(2), address: "10.0.0.1:4170".into() });
        round_trip(&Reply::Moving { retry_us: 300 });
        round_trip(&Reply::Invalid { field: Cow::Borrowed("limit"), reason: Cow::Borrowed("0 is not in 1 ..= 10^12") });
        round_trip(&Reply::Goodbye { code: GoodbyeCode::Draining, reason: Cow::Borrowed("shutting down") });
        let welcome = Welcome { version: 1, node: NodeId(9), shard: 1, shards: 2, role: Role::Admin };
        round_trip(&Reply::Welcome(welcome));
    }

    #[test]
    fn a_long_reason_is_cut_where_a_character_ends() {
        let mut bytes = Vec::new();
        Reply::Goodbye { code: GoodbyeCode::Slow, reason: "é".repeat(400).into() }.encode(0, &mut bytes);
        let (frame, _) = frame::split(&bytes, 4096).unwrap().unwrap();
        let Reply::Goodbye { reason, .. } = Reply::decode(&frame).unwrap() else { panic!("not a goodbye") };
        assert_eq!(reason, "é".repeat(128));
    }
}
