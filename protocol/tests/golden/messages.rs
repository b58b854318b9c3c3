//! The messages that the golden frames say, by the frames' names.

use std::borrow::Cow;

use tallyring_protocol::bounds::{HANDLES_MAX, WAIT_NEVER_US, WAIT_US_MAX};
use tallyring_protocol::reply::{CheckedAll, Decision, Decisions, Grant, Released, Rules, Settled, Slots};
use tallyring_protocol::rules::RulesVersion;
use tallyring_protocol::{
    Acquire, AlgorithmCode, Charge, Define, Frame, GoodbyeCode, Hello, KeyRef, Kind, LocalCounts, Malformed, NodeId,
    Parts, PeriodCode, Refund, Release, Reply, Report, Request, Reserve, Role, Settle, Welcome,
};

/// What one frame says, and the id that it carries.
#[derive(Debug, PartialEq)]
pub(crate) enum Message<'a> {
    Hello(Hello<'a>),
    Request(u32, Request<'a>),
    Reply(u32, Reply<'a>),
}

impl<'a> Message<'a> {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self {
            Message::Hello(hello) => hello.encode(&mut bytes),
            Message::Request(id, request) => request.encode(*id, &mut bytes),
            Message::Reply(id, reply) => reply.encode(*id, &mut bytes),
        }
        bytes
    }

    pub(crate) fn decode(frame: &Frame<'a>) -> Result<Message<'a>, Malformed> {
        match frame.kind {
            kind if kind == Kind::Hello as u8 => Hello::decode(frame).map(Message::Hello),
            0x80.. => Reply::decode(frame).map(|reply| Message::Reply(frame.id, reply)),
            _ => Request::decode(frame).map(|request| Message::Request(frame.id, request)),
        }
    }
}

pub(crate) const TOPOLOGY_JSON: &[u8] = br#"{"epoch":7,"placement_seed":"000102030405060708090a0b0c0d0e0f","nodes":[{"id":1,"weight":1,"shards":4,"native":"10.0.0.1:4170","zone":"a"},{"id":2,"weight":2,"shards":8,"native":"10.0.0.2:4170","zone":""}],"gateways":3}"#;

const MINUTE: PeriodCode = PeriodCode::Micros(60_000_000);

/// An instant of the store's clock, in microseconds.
const AT_US: u64 = 100_000_000_000;

fn key() -> KeyRef<'static> {
    KeyRef::from_block(b"\x06\0acct_7charges").expect("a block")
}

fn charge(handle: u16, cost: u64, keep: u64) -> Charge<'static> {
    Charge { handle, cost, keep, force: false, key: key() }
}

fn limit(handle: u16, algorithm: AlgorithmCode, limit: u64, period: PeriodCode, rule: &'static str) -> Define<'static> {
    let rule_version = if rule.is_empty() { 0 } else { 7 };
    Define { handle, algorithm, limit, period, burst: 0, shadow: false, sync: false, rule_version, keys_max: 0, rule }
}

fn decision(allowed: bool, remaining: u64, retry_after_us: u64, reset_after_us: u64) -> Decision {
    Decision { allowed, remaining, retry_after_us, reset_after_us, at_us: AT_US, charged: None, delay_us: None }
}

/// Every message, by the name of its golden frame.
pub(crate) fn messages() -> Vec<(&'static str, Message<'static>)> {
    let requests = [hellos(), defines(), requests(), joint_requests(), holding_requests(), rules_requests()];
    let replies = [answers(), rules_answers(), decisions(), joint_answers(), holding_answers(), outcomes(), goodbyes()];
    requests.into_iter().chain(replies).flatten().collect()
}

type Named = Vec<(&'static str, Message<'static>)>;

fn hellos() -> Named {
    let bare = Hello { version: 1, shard: 0, deadline_max_us: 0, instance: 1, name: "", token: "" };
    let instance = 0x0F0E_0D0C_0B0A_0908_0706_0504_0302_0100;
    let hello = Hello { version: 1, shard: 2, deadline_max_us: 5_000, instance, name: "edge-1", token: "s3cret" };
    let names = Hello { name: "käse", token: "é", ..bare };
    let largest = Hello { shard: u16::MAX, deadline_max_us: u32::MAX, instance: u128::MAX, ..names };
    [("hello", hello), ("hello_bare", bare), ("hello_utf8", largest)].map(|(n, h)| (n, Message::Hello(h))).into()
}

fn defines() -> Named {
    use AlgorithmCode::*;
    let days_400 = PeriodCode::Micros(400 * 86_400 * 1_000_000);
    let ten_minutes = PeriodCode::Micros(600_000_000);
    let flagged = |shadow, sync, define: Define<'static>| Define { shadow, sync, rule_version: 8, ..define };
    let defines = [
        (
            "define_token_bucket",
            Define { burst: 100, keys_max: 100_000, ..limit(0, TokenBucket, 300, MINUTE, "per-ip") },
        ),
        ("define_leaky_bucket", limit(1, LeakyBucket, 50, PeriodCode::Micros(1_000_000), "egress")),
        ("define_fixed_window", limit(2, FixedWindow, 100, MINUTE, "")),
        ("define_sliding_log", limit(3, SlidingLog, 5, ten_minutes, "login")),
        (
            "define_sliding_counter",
            Define {
                rule_version: u64::MAX,
                keys_max: u64::MAX,
                ..limit(4, SlidingCounter, 1_000_000_000_000, days_400, "wide")
            },
        ),
        ("define_concurrency", limit(5, Concurrency, 10, MINUTE, "")),
        ("define_day", limit(6, FixedWindow, 10_000, PeriodCode::Day, "daily")),
        ("define_week", limit(7, FixedWindow, 50_000, PeriodCode::Week, "weekly")),
        ("define_month", limit(HANDLES_MAX - 1, FixedWindow, 200_000, PeriodCode::Month, "monatlich-für-alle")),
        ("define_shadow", flagged(true, false, Define { burst: 10, ..limit(8, TokenBucket, 10, MINUTE, "trial") })),
        ("define_sync", flagged(false, true, limit(9, FixedWindow, 10, MINUTE, "money"))),
        ("define_shadow_sync", flagged(true, true, limit(10, FixedWindow, 10, MINUTE, "both"))),
    ];
    (1..).zip(defines).map(|(id, (name, define))| (name, Message::Request(id, Request::Define(define)))).collect()
}

fn requests() -> Named {
    let untagged = KeyRef::from_block(b"\0\0k").expect("a block");
    let largest = 1_000_000_000_000;
    let refund = |charged_at_us| Request::Refund(Refund { handle: 3, cost: 2, charged_at_us, key: key() });
    [
        ("ping", u32::MAX, Request::Ping),
        ("check", 77, Request::Check(charge(3, 5, 2))),
        ("check_forced", 78, Request::Check(Charge { force: true, ..charge(3, 5, 0) })),
        ("check_peek", 79, Request::Check(charge(0, 0, 0))),
        ("check_without_tag", 80, Request::Check(Charge { key: untagged, ..charge(HANDLES_MAX - 1, 1, 0) })),
        ("check_largest", 81, Request::Check(charge(0, largest, largest))),
        ("take", 82, Request::Take(charge(3, 64, 0))),
        ("take_kept", 83, Request::Take(charge(3, 64, 10))),
        ("refund", 84, refund(None)),
        ("refund_at", 85, refund(Some(AT_US))),
        ("refund_at_zero", 86, refund(Some(0))),
        ("reset", 87, Request::Reset(key())),
    ]
    .map(|(name, id, request)| (name, Message::Request(id, request)))
    .into()
}

/// Parts that live as long as the messages that name them.
fn parts(parts: &[Charge<'static>]) -> Request<'static> {
    let block = Parts::encode(parts.iter().copied()).leak();
    Request::CheckAll(Parts::from_block(block).expect("parts that were written"))
}

fn joint_requests() -> Named {
    let forced = Charge { force: true, ..charge(4, 1, 0) };
    [("check_all", 88, parts(&[charge(3, 5, 2), forced])), ("check_all_one", 89, parts(&[charge(0, 0, 0)]))]
        .map(|(name, id, request)| (name, Message::Request(id, request)))
        .into()
}

fn holding_requests() -> Named {
    let minute_us = 60_000_000;
    let forced = Charge { force: true, ..charge(3, 1, 0) };
    let estimate = Reserve { charge: charge(3, 800, 100), ttl_us: minute_us, id: b"req-1" };
    let (holder, key) = (&b"worker-9"[..], key());
    [
        ("reserve", 90, Request::Reserve(estimate)),
        ("reserve_forced", 91, Request::Reserve(Reserve { charge: forced, ttl_us: 1_440 * minute_us, id: &[0xFF] })),
        ("settle", 92, Request::Settle(Settle { actual: 650, id: b"req-1", key })),
        ("acquire", 93, Request::Acquire(Acquire { limit: 10, ttl_us: minute_us / 2, cost: 1, holder, key })),
        ("release", 94, Request::Release(Release { holder, key })),
    ]
    .map(|(name, id, request)| (name, Message::Request(id, request)))
    .into()
}

fn rules_requests() -> Named {
    let everything = LocalCounts {
        deny_cache: 120,
        prefilter: 7,
        fallback_allowed: 30,
        fallback_denied: 2,
        mode_denied: 0,
        blocked: 0,
        grant_allowed: 64,
        grant_excess: 1,
        soft: 9,
    };
    let largest = LocalCounts { deny_cache: u64::MAX, ..LocalCounts::default() };
    let refused = LocalCounts { mode_denied: 5, blocked: 1, ..LocalCounts::default() };
    let report = |rule, shadow, counts| Request::Report(Report { rule, shadow, counts });
    [
        ("get_rules", 95, Request::GetRules),
        ("report", 96, report("per-ip", false, everything)),
        ("report_shadow", 97, report("trial", true, largest)),
        ("report_no_rule", 98, report("", false, refused)),
    ]
    .map(|(name, id, request)| (name, Message::Request(id, request)))
    .into()
}

const RULES_JSON: &[u8] =
    br#"{"rule":[{"id":"per-ip","key":["ip"],"algorithm":"token_bucket","limit":300,"window":"60s","burst":100}]}"#;

fn rules_answers() -> Named {
    let version = RulesVersion { lineage: 1_764_540_000_000_000, version: 7 };
    [
        ("rules_version", 0, Reply::RulesVersion(version)),
        ("rules_version_none", 0, Reply::RulesVersion(RulesVersion::NONE)),
        ("rules", 95, Reply::Rules(Rules { version, json: Cow::Borrowed(RULES_JSON) })),
        ("reported", 96, Reply::Reported),
    ]
    .map(|(name, id, reply)| (name, Message::Reply(id, reply)))
    .into()
}

fn joint_answers() -> Named {
    let checked = |allowed, retry_after_us, decisions: &[Decision]| {
        let checks = Decisions::new(decisions.iter().copied());
        Reply::CheckedAll(CheckedAll { allowed, retry_after_us, at_us: AT_US, checks })
    };
    let every_field = |remaining, reset_after_us, charged, delay_us| Decision {
        charged: Some(charged),
        delay_us: Some(delay_us),
        ..decision(true, remaining, 0, reset_after_us)
    };
    let refused = [decision(true, 94, 0, 3_600_000), decision(false, 0, 2_000_000, 60_000_000)];
    let allowed = [every_field(0, 1_000_000, 2, 960_000), every_field(47, 60_000, 1, 0)];
    [
        ("checked_all", 88, checked(false, 2_000_000, &refused)),
        ("checked_all_allowed", 89, checked(true, 0, &allowed)),
        ("checked_all_never", 90, checked(false, WAIT_NEVER_US, &[decision(false, 100, WAIT_NEVER_US, 0)])),
    ]
    .map(|(name, id, reply)| (name, Message::Reply(id, reply)))
    .into()
}

fn holding_answers() -> Named {
    let slots = |allowed, in_use, retry_after_us| Slots { allowed, in_use, retry_after_us, at_us: AT_US };
    [
        ("settled", 92, Reply::Settled(Some(Settled { remaining: 350, reset_after_us: 45_000_000 }))),
        ("settled_not", 92, Reply::Settled(None)),
        ("slots", 93, Reply::Slots(slots(true, 3, 0))),
        ("slots_denied", 93, Reply::Slots(slots(false, 10, 12_000_000))),
        ("released", 94, Reply::Released(Released { released: true, in_use: 2 })),
        ("released_not", 94, Reply::Released(Released { released: false, in_use: 2 })),
    ]
    .map(|(name, id, reply)| (name, Message::Reply(id, reply)))
    .into()
}

fn answers() -> Named {
    let client = Welcome { version: 1, node: NodeId(1), shard: 2, shards: 4, role: Role::Client };
    let admin = Welcome { version: 1, node: NodeId((1 << 53) - 1), shard: 1_023, shards: 1_024, role: Role::Admin };
    let grant = Grant { granted: 60, remaining: 0, reset_after_us: 36_000_000, at_us: AT_US };
    [
        ("welcome_client", 0, Reply::Welcome(client)),
        ("welcome_admin", 0, Reply::Welcome(admin)),
        ("defined", 1, Reply::Defined),
        ("pong", u32::MAX, Reply::Pong),
        ("topology", 0, Reply::Topology(Cow::Borrowed(TOPOLOGY_JSON))),
        ("grant", 82, Reply::Grant(grant)),
        ("reset_done", 87, Reply::ResetDone { found: false }),
        ("reset_done_found", 87, Reply::ResetDone { found: true }),
    ]
    .map(|(name, id, reply)| (name, Message::Reply(id, reply)))
    .into()
}

fn decisions() -> Named {
    let shaped = |allowed, retry_after_us, reset_after_us, charged, delay_us| Decision {
        charged,
        delay_us,
        ..decision(allowed, 0, retry_after_us, reset_after_us)
    };
    let longest = Decision { at_us: u64::MAX, ..decision(false, 0, WAIT_US_MAX, WAIT_US_MAX) };
    let delayed = Decision { delay_us: Some(40_000), ..decision(true, 47, 0, 60_000) };
    [
        ("decision_allowed", 78, decision(true, 94, 0, 3_600_000)),
        ("decision_denied", 77, decision(false, 1, 2_000_000, 100_000_000)),
        ("decision_never", 81, decision(false, 100, WAIT_NEVER_US, 0)),
        ("decision_longest", 81, longest),
        ("decision_allowed_charged", 78, shaped(true, 0, 60_000_000, Some(3), None)),
        ("decision_allowed_delay", 88, delayed),
        ("decision_allowed_charged_delay", 89, shaped(true, 0, 1_000_000, Some(2), Some(960_000))),
        ("decision_denied_charged", 90, shaped(false, 1, 1, Some(0), None)),
        ("decision_denied_delay", 91, shaped(false, 20_000, 1_000_000, None, Some(0))),
        ("decision_denied_charged_delay", 92, shaped(false, 20_000, 1_000_000, Some(0), Some(0))),
    ]
    .map(|(name, id, decision)| (name, Message::Reply(id, Reply::Decision(decision))))
    .into()
}

fn outcomes() -> Named {
    [
        ("wrong_owner", 77, Reply::WrongOwner { epoch: 8, node: NodeId(2), address: "10.0.0.2:4170".into() }),
        ("moving", 77, Reply::Moving { retry_us: 300 }),
        ("overloaded", 77, Reply::Overloaded),
        ("full", 77, Reply::Full),
        ("unavailable", 77, Reply::Unavailable),
        ("invalid", 1, Reply::Invalid { field: "limit".into(), reason: "0 is not in 1 ..= 10^12".into() }),
    ]
    .map(|(name, id, reply)| (name, Message::Reply(id, reply)))
    .into()
}

fn goodbyes() -> Named {
    [
        ("goodbye_unauthorized", GoodbyeCode::Unauthorized, "unknown token"),
        ("goodbye_version", GoodbyeCode::Version, "this node speaks version 1"),
        ("goodbye_malformed", GoodbyeCode::Malformed, "length: 3 is not in 12 ..= 32768"),
        ("goodbye_draining", GoodbyeCode::Draining, "the node is draining"),
        ("goodbye_slow", GoodbyeCode::Slow, "no hello within 5 s"),
        ("goodbye_busy", GoodbyeCode::Busy, ""),
    ]
    .map(|(name, code, reason)| (name, Message::Reply(0, Reply::Goodbye { code, reason: reason.into() })))
    .into()
}
