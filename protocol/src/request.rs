//! What a client asks once it is welcome.
//!
//! The hot ones, check and take, are a header, two numbers and a key, read in place. A limit's numbers do not travel with
//! them: [`Define`] gave them a handle.

mod acquire;
mod check_all;
mod release;
mod report;
mod reserve;
mod settle;

pub use self::acquire::Acquire;
pub use self::check_all::Parts;
pub use self::release::Release;
pub use self::report::{LocalCounts, Report};
pub use self::reserve::Reserve;
pub use self::settle::Settle;
use crate::bounds::{HANDLES_MAX, RULE_ID_BYTES_MAX};
use crate::code::{AlgorithmCode, Kind};
use crate::fields::{Fields, Malformed, put_text};
use crate::frame::{self, Frame};
use crate::key::KeyRef;

/// Flag of a check, also of a reserve and of a part of a check_all: charge whatever there is and allow. See [`Charge::force`].
const FORCE: u8 = 1;
/// Flag of a refund: the instant of the charge is known.
const CHARGED_AT: u8 = 1;
/// Flag of a define: count and decide, but the gateway does not enforce.
const SHADOW: u8 = 1;
/// Flag of a define: answer only after a replica has the state.
const SYNC: u8 = 2;

/// One request, borrowed from its frame. The frame's id is what the reply repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// Give the numbers of a limit a handle on this connection, or give the handle other numbers.
    Define(Define<'a>),
    /// Is anybody there?
    Ping,
    /// Decide, and charge if allowed.
    Check(Charge<'a>),
    /// Grant as many units as there are, up to the cost.
    Take(Charge<'a>),
    /// Give units back.
    Refund(Refund<'a>),
    /// Give a key its whole budget back, under every algorithm. For admins.
    Reset(KeyRef<'a>),
    /// Several checks as one: all are charged, or none.
    CheckAll(Parts<'a>),
    /// A check whose units can be corrected once.
    Reserve(Reserve<'a>),
    /// The correction.
    Settle(Settle<'a>),
    /// Hold units for a time.
    Acquire(Acquire<'a>),
    /// Let go of them.
    Release(Release<'a>),
    /// The rules document that is live.
    GetRules,
    /// What was decided of a rule without the store.
    Report(Report<'a>),
}

/// The body of a check or a take, and a part of a check_all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge<'a> {
    /// The limit, by its handle.
    pub handle: u16,
    /// Units asked for; 0 is a peek.
    pub cost: u64,
    /// Units that must remain.
    pub keep: u64,
    /// Always allow, and charge what there is. A take ignores it.
    pub force: bool,
    /// Whose budget.
    pub key: KeyRef<'a>,
}

/// The body of a refund.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refund<'a> {
    /// The limit, by its handle.
    pub handle: u16,
    /// Units to give back.
    pub cost: u64,
    /// The instant that the reply to the charge carried, in microseconds of the store's clock, if it is known.
    pub charged_at_us: Option<u64>,
    /// Whose budget.
    pub key: KeyRef<'a>,
}

/// The body of a define.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Define<'a> {
    /// The handle that later requests of this connection name.
    pub handle: u16,
    /// The algorithm.
    pub algorithm: AlgorithmCode,
    /// Units a period.
    pub limit: u64,
    /// The period.
    pub period: PeriodCode,
    /// Ceiling of a bucket; 0 = none given.
    pub burst: u64,
    /// Decides and counts, but never rejects anybody: outcomes are counted apart.
    pub shadow: bool,
    /// Answer only after the replica has the state.
    pub sync: bool,
    /// The version of the rules document that the numbers are from; 0 = none.
    pub rule_version: u64,
    /// Keys that the rule may hold at once on a node; 0 = as many as any rule.
    pub keys_max: u64,
    /// The rule that the numbers are from; empty = none.
    pub rule: &'a str,
}

/// A period as it travels: microseconds, or a calendar unit in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PeriodCode {
    /// Microseconds.
    Micros(u64),
    /// A day, `[00:00, 24:00)`.
    Day,
    /// A week from Monday.
    Week,
    /// A month.
    Month,
}

impl PeriodCode {
    fn to_wire(self) -> (u8, u64) {
        match self {
            PeriodCode::Micros(us) => (0, us),
            PeriodCode::Day => (1, 0),
            PeriodCode::Week => (2, 0),
            PeriodCode::Month => (3, 0),
        }
    }

    fn from_wire(unit: u8, micros: u64) -> Result<PeriodCode, Malformed> {
        match unit {
            0 => Ok(PeriodCode::Micros(micros)),
            1 => Ok(PeriodCode::Day),
            2 => Ok(PeriodCode::Week),
            3 => Ok(PeriodCode::Month),
            _ => Err(Malformed::new("period", "its unit is 0 (microseconds), 1 (day), 2 (week) or 3 (month)")),
        }
    }
}

impl<'a> Request<'a> {
    /// Reads the request of a frame.
    ///
    /// # Errors
    /// [`Malformed`] names the first bad field, `kind` if the frame is no request. The stream stays readable: the frame's
    /// length said where the next one begins.
    #[inline]
    pub fn decode(frame: &Frame<'a>) -> Result<Request<'a>, Malformed> {
        match Kind::from_code(frame.kind) {
            Some(Kind::Check) => Charge::decode(frame).map(Request::Check),
            Some(Kind::Take) => Charge::decode(frame).map(Request::Take),
            Some(Kind::Refund) => Refund::decode(frame).map(Request::Refund),
            Some(Kind::Reset) => KeyRef::from_block(frame.body).map(Request::Reset),
            Some(Kind::Define) => Define::decode(frame).map(Request::Define),
            Some(Kind::Ping) => Fields::new(frame.body).end().map(|()| Request::Ping),
            kind => Request::decode_rare(kind, frame),
        }
    }

    /// Out of the way of the hot ones.
    #[inline(never)]
    fn decode_rare(kind: Option<Kind>, frame: &Frame<'a>) -> Result<Request<'a>, Malformed> {
        match kind {
            Some(Kind::CheckAll) => Parts::from_block(frame.body).map(Request::CheckAll),
            Some(Kind::Reserve) => Reserve::decode(frame).map(Request::Reserve),
            Some(Kind::Settle) => Settle::decode(frame).map(Request::Settle),
            Some(Kind::Acquire) => Acquire::decode(frame).map(Request::Acquire),
            Some(Kind::Release) => Release::decode(frame).map(Request::Release),
            Some(Kind::GetRules) => Fields::new(frame.body).end().map(|()| Request::GetRules),
            Some(Kind::Report) => Report::decode(frame).map(Request::Report),
            _ => Err(Malformed::new("kind", "not a request")),
        }
    }

    /// Appends the frame with this request id.
    pub fn encode(&self, id: u32, out: &mut Vec<u8>) {
        match self {
            Request::Check(charge) => charge.encode(Kind::Check, id, out),
            Request::Take(charge) => charge.encode(Kind::Take, id, out),
            Request::Refund(refund) => refund.encode(id, out),
            Request::Reset(key) => frame::put(out, Kind::Reset, 0, 0, id, |out| out.extend_from_slice(key.block())),
            Request::Define(define) => define.encode(id, out),
            Request::Ping => frame::put(out, Kind::Ping, 0, 0, id, |_| ()),
            Request::CheckAll(parts) => {
                frame::put(out, Kind::CheckAll, 0, 0, id, |out| out.extend_from_slice(parts.block()));
            }
            Request::Reserve(reserve) => reserve.encode(id, out),
            Request::Settle(settle) => settle.encode(id, out),
            Request::Acquire(acquire) => acquire.encode(id, out),
            Request::Release(release) => release.encode(id, out),
            Request::GetRules => frame::put(out, Kind::GetRules, 0, 0, id, |_| ()),
            Request::Report(report) => report.encode(id, out),
        }
    }
}

impl<'a> Charge<'a> {
    #[inline]
    fn decode(frame: &Frame<'a>) -> Result<Charge<'a>, Malformed> {
        let mut fields = Fields::new(frame.body);
        let cost = fields.u64("cost")?;
        let keep = fields.u64("keep")?;
        let key = KeyRef::from_block(fields.rest())?;
        Ok(Charge { handle: frame.handle, cost, keep, force: frame.flags & FORCE != 0, key })
    }

    fn encode(&self, kind: Kind, id: u32, out: &mut Vec<u8>) {
        let block = self.key.block();
        let flags = if self.force { FORCE } else { 0 };
        out.extend_from_slice(&frame::header(kind, flags, self.handle, id, 16 + block.len()));
        out.extend_from_slice(&self.cost.to_le_bytes());
        out.extend_from_slice(&self.keep.to_le_bytes());
        out.extend_from_slice(block);
    }
}

impl<'a> Refund<'a> {
    fn decode(frame: &Frame<'a>) -> Result<Refund<'a>, Malformed> {
        let mut fields = Fields::new(frame.body);
        let cost = fields.u64("cost")?;
        let instant = fields.u64("charged_at_us")?;
        let key = KeyRef::from_block(fields.rest())?;
        let charged_at_us = (frame.flags & CHARGED_AT != 0).then_some(instant);
        Ok(Refund { handle: frame.handle, cost, charged_at_us, key })
    }

    fn encode(&self, id: u32, out: &mut Vec<u8>) {
        let flags = if self.charged_at_us.is_some() { CHARGED_AT } else { 0 };
        frame::put(out, Kind::Refund, flags, self.handle, id, |out| {
            out.extend_from_slice(&self.cost.to_le_bytes());
            out.extend_from_slice(&self.charged_at_us.unwrap_or(0).to_le_bytes());
            out.extend_from_slice(self.key.block());
        });
    }
}

impl<'a> Define<'a> {
    fn decode(frame: &Frame<'a>) -> Result<Define<'a>, Malformed> {
        if frame.handle >= HANDLES_MAX {
            return Err(Malformed::new("handle", "a connection has the handles 0 .. 16,384"));
        }
        let mut fields = Fields::new(frame.body);
        let algorithm = AlgorithmCode::from_code(fields.u8("algorithm")?)
            .ok_or(Malformed::new("algorithm", "a number of docs/protocol.md's table"))?;
        let unit = fields.u8("period")?;
        let limit = fields.u64("limit")?;
        let period = PeriodCode::from_wire(unit, fields.u64("period")?)?;
        let burst = fields.u64("burst")?;
        let rule_version = fields.u64("rule_version")?;
        let keys_max = fields.u64("keys_max")?;
        let rule = fields.rule_id("rule")?;
        fields.end()?;
        let (shadow, sync) = (frame.flags & SHADOW != 0, frame.flags & SYNC != 0);
        Ok(Define { handle: frame.handle, algorithm, limit, period, burst, shadow, sync, rule_version, keys_max, rule })
    }

    fn encode(&self, id: u32, out: &mut Vec<u8>) {
        let flags = if self.shadow { SHADOW } else { 0 } | if self.sync { SYNC } else { 0 };
        let (unit, micros) = self.period.to_wire();
        frame::put(out, Kind::Define, flags, self.handle, id, |out| {
            out.extend_from_slice(&[self.algorithm as u8, unit]);
            out.extend_from_slice(&self.limit.to_le_bytes());
            out.extend_from_slice(&micros.to_le_bytes());
            out.extend_from_slice(&self.burst.to_le_bytes());
            out.extend_from_slice(&self.rule_version.to_le_bytes());
            out.extend_from_slice(&self.keys_max.to_le_bytes());
            put_text(out, self.rule, RULE_ID_BYTES_MAX);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Key;

    fn round_trip(request: Request<'_>) {
        let mut bytes = Vec::new();
        request.encode(77, &mut bytes);
        let (frame, taken) = frame::split(&bytes, 4096).unwrap().unwrap();
        assert_eq!((frame.id, taken), (77, bytes.len()));
        assert_eq!(Request::decode(&frame), Ok(request));
    }

    #[test]
    fn requests_survive_the_wire() {
        let key = Key::new(b"acct", b"rest").unwrap();
        let key = key.as_ref();
        let charge = Charge { handle: 3, cost: 5, keep: 2, force: true, key };
        round_trip(Request::Ping);
        round_trip(Request::GetRules);
        let counts = LocalCounts { deny_cache: 1, blocked: u64::MAX, grant_excess: 3, ..LocalCounts::default() };
        round_trip(Request::Report(Report { rule: "per-ip", shadow: true, counts }));
        round_trip(Request::Check(charge));
        round_trip(Request::Take(Charge { force: false, ..charge }));
        round_trip(Request::Refund(Refund { handle: 1, cost: 9, charged_at_us: Some(0), key }));
        round_trip(Request::Refund(Refund { handle: 1, cost: 9, charged_at_us: None, key }));
        round_trip(Request::Reset(key));
        round_trip(Request::CheckAll(Parts::from_block(&Parts::encode([charge, charge])).unwrap()));
        round_trip(Request::Reserve(Reserve { charge, ttl_us: 9, id: b"id" }));
        round_trip(Request::Settle(Settle { actual: 0, id: b"id", key }));
        round_trip(Request::Acquire(Acquire { limit: 1, ttl_us: 2, cost: 3, holder: &[0xFF; 128], key }));
        round_trip(Request::Release(Release { holder: b"h", key }));
        for period in [PeriodCode::Micros(60), PeriodCode::Day, PeriodCode::Week, PeriodCode::Month] {
            round_trip(Request::Define(Define {
                handle: 8,
                algorithm: AlgorithmCode::FixedWindow,
                limit: 10,
                period,
                burst: 0,
                shadow: true,
                sync: true,
                rule_version: 4,
                keys_max: 5,
                rule: "per-ip",
            }));
        }
    }

    #[test]
    fn the_id_of_a_rule_has_no_blanks() {
        let mut bytes = Vec::new();
        let report = |rule| Request::Report(Report { rule, shadow: false, counts: LocalCounts::default() });
        report("per-ip").encode(1, &mut bytes);
        let place = bytes.windows(6).position(|window| window == b"per-ip").unwrap();
        for (id, is_good) in [("per/ip", true), ("per ip", false), ("per\nip", false), ("p\u{e9}-ip", true)] {
            bytes[place..place + 6].copy_from_slice(id.as_bytes());
            let (frame, _) = frame::split(&bytes, 4096).unwrap().unwrap();
            let field = Request::decode(&frame).err().map(|error| error.field);
            assert_eq!(field, (!is_good).then_some("rule"), "{id:?}");
        }
    }

    fn check_bad(kind: u8, handle: u16, body: &[u8], field: &str) {
        let frame = Frame { kind, flags: 0, handle, id: 0, body };
        assert_eq!(Request::decode(&frame).unwrap_err().field, field, "{kind:#x} {body:?}");
    }

    #[test]
    fn the_first_bad_field_is_named() {
        check_bad(0x10, 0, &[0; 7], "cost");
        check_bad(0x10, 0, &[0; 15], "keep");
        check_bad(0x10, 0, &[0; 17], "key");
        check_bad(0x12, 0, &[0; 9], "charged_at_us");
        check_bad(0x13, 0, &[], "key");
        check_bad(0x15, 0, &[0; 23], "ttl_us");
        check_bad(0x15, 0, &[0; 40], "id"); // it is empty
        check_bad(0x16, 0, &[0, 0, 0, 0, 0, 0, 0, 0, 129, 0], "id");
        check_bad(0x16, 0, &[0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 9], "key");
        check_bad(0x17, 0, &[0; 26], "holder");
        check_bad(0x18, 0, &[2, 0, 9], "holder");
        check_bad(0x03, 0, &[1], "body");
        check_bad(0x05, 0, &[1], "body");
        check_bad(0x06, 0, &[0; 71], "soft");
        check_bad(0x06, 0, &[0xFF; 74], "rule");
        check_bad(0x02, HANDLES_MAX, &[], "handle");
        check_bad(0x02, 0, &[9], "algorithm");
        check_bad(0x02, 0, &[1, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], "period");
        check_bad(0x01, 0, &[], "kind");
        check_bad(0x90, 0, &[], "kind");
        check_bad(0x00, 0, &[], "kind");
    }
}
