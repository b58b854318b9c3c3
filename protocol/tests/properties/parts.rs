//! Any message, as proptest draws it: owned parts, from which the borrowed message is put together.

use proptest::prelude::*;
use tallyring_protocol::bounds::{
    CLIENT_NAME_BYTES_MAX, HANDLES_MAX, KEY_BYTES_MAX, NAME_BYTES_MAX, PARTS_MAX, REASON_BYTES_MAX, RULE_ID_BYTES_MAX,
    TOKEN_BYTES_MAX,
};
use tallyring_protocol::reply::{CheckedAll, Decision, Decisions, Grant, Released, Rules, Settled, Slots};
use tallyring_protocol::rules::RulesVersion;
use tallyring_protocol::{
    Acquire, AlgorithmCode, Charge, Define, GoodbyeCode, Hello, Key, LocalCounts, NodeId, Parts, PeriodCode, Refund,
    Release, Reply, Report, Request, Reserve, Role, Settle, Welcome,
};

/// A text of at most `bytes_max` bytes: often short, sometimes as long as allowed, not always ASCII.
pub(crate) fn text(bytes_max: usize) -> impl Strategy<Value = String> {
    let any = proptest::string::string_regex(&format!("\\PC{{0,{}}}", bytes_max / 4)).expect("a pattern");
    prop_oneof![3 => any, 1 => Just("x".repeat(bytes_max)), 1 => Just(String::new())]
}

/// The id of a rule, or none.
fn rule_id() -> impl Strategy<Value = String> {
    proptest::string::string_regex(&format!("[!-~]{{0,{RULE_ID_BYTES_MAX}}}")).expect("a pattern")
}

pub(crate) fn key() -> impl Strategy<Value = Key> {
    let bytes = |min: usize| {
        prop_oneof![
            4 => prop::collection::vec(any::<u8>(), min..24),
            1 => Just(vec![0xFE; KEY_BYTES_MAX]),
        ]
    };
    (bytes(0), bytes(1)).prop_map(|(tag, rest)| Key::new(&tag, &rest).expect("lengths within bounds"))
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), 0..10_u64, Just(u64::MAX)]
}

/// The parts of one request of any kind.
#[derive(Clone, Debug)]
pub(crate) struct RequestParts {
    kind: usize,
    handle: u16,
    numbers: [u64; 4],
    flags: [bool; 2],
    charged_at_us: Option<u64>,
    key: Key,
    algorithm: AlgorithmCode,
    period: PeriodCode,
    rule: String,
    name: Vec<u8>,
    /// The block of a check_all's parts.
    parts: Vec<u8>,
}

/// A reservation's id or a holder's name.
fn name() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![4 => prop::collection::vec(any::<u8>(), 1..24), 1 => Just(vec![0xFD; NAME_BYTES_MAX])]
}

/// The block of some parts.
fn parts() -> impl Strategy<Value = Vec<u8>> {
    let part = (any::<u16>(), number(), number(), any::<bool>(), key());
    prop::collection::vec(part, 1..=PARTS_MAX).prop_map(|parts| {
        Parts::encode(parts.iter().map(|(handle, cost, keep, force, key)| Charge {
            handle: *handle,
            cost: *cost,
            keep: *keep,
            force: *force,
            key: key.as_ref(),
        }))
    })
}

pub(crate) fn request() -> impl Strategy<Value = RequestParts> {
    let period = prop_oneof![
        number().prop_map(PeriodCode::Micros),
        Just(PeriodCode::Day),
        Just(PeriodCode::Week),
        Just(PeriodCode::Month)
    ];
    let numbers = [number(), number(), number(), number()];
    let algorithm = prop::sample::select(&AlgorithmCode::ALL[..]);
    let rule = rule_id();
    let flags = any::<[bool; 2]>();
    let at = prop::option::of(number());
    let texts = (rule, name(), parts());
    (0..13_usize, 0..HANDLES_MAX, numbers, flags, at, key(), algorithm, period, texts).prop_map(
        |(kind, handle, numbers, flags, charged_at_us, key, algorithm, period, (rule, name, parts))| RequestParts {
            kind,
            handle,
            numbers,
            flags,
            charged_at_us,
            key,
            algorithm,
            period,
            rule,
            name,
            parts,
        },
    )
}

impl RequestParts {
    pub(crate) fn request(&self) -> Request<'_> {
        let Self { handle, charged_at_us, algorithm, period, .. } = *self;
        let (key, rule, name) = (self.key.as_ref(), &*self.rule, &*self.name);
        let ([cost, keep, burst, rule_version], [force, sync]) = (self.numbers, self.flags);
        let charge = Charge { handle, cost, keep, force, key };
        match self.kind {
            0 => Request::Ping,
            1 => Request::Check(charge),
            2 => Request::Take(charge),
            3 => Request::Refund(Refund { handle, cost, charged_at_us, key }),
            4 => Request::Reset(key),
            5 => Request::CheckAll(Parts::from_block(&self.parts).expect("parts that were written")),
            6 => Request::Reserve(Reserve { charge, ttl_us: burst, id: name }),
            7 => Request::Settle(Settle { actual: cost, id: name, key }),
            8 => Request::Acquire(Acquire { limit: keep, ttl_us: burst, cost, holder: name, key }),
            9 => Request::Release(Release { holder: name, key }),
            10 => Request::GetRules,
            11 => Request::Report(Report {
                rule,
                shadow: force,
                counts: LocalCounts { deny_cache: cost, mode_denied: keep, soft: burst, ..LocalCounts::default() },
            }),
            _ => Request::Define(Define {
                handle,
                algorithm,
                limit: cost,
                period,
                burst,
                shadow: force,
                sync,
                rule_version,
                keys_max: keep,
                rule,
            }),
        }
    }
}

/// The parts of one reply or push of any kind.
#[derive(Clone, Debug)]
pub(crate) struct ReplyParts {
    kind: usize,
    numbers: [u64; 4],
    optional: [Option<u64>; 2],
    flag: bool,
    texts: [String; 2],
    json: Vec<u8>,
    halves: [u16; 3],
    role: Role,
    code: GoodbyeCode,
}

pub(crate) fn reply() -> impl Strategy<Value = ReplyParts> {
    let optional = [prop::option::of(number()), prop::option::of(number())];
    let texts = [text(REASON_BYTES_MAX), text(REASON_BYTES_MAX)];
    let json = prop::collection::vec(any::<u8>(), 0..64);
    let role = prop::sample::select(vec![Role::Client, Role::Admin]);
    let codes: Vec<GoodbyeCode> = (0..=u8::MAX).filter_map(GoodbyeCode::from_code).collect();
    let numbers = [number(), number(), number(), number()];
    let halves = any::<[u16; 3]>();
    (0..21_usize, numbers, optional, any::<bool>(), texts, json, halves, role, prop::sample::select(codes)).prop_map(
        |(kind, numbers, optional, flag, texts, json, halves, role, code)| ReplyParts {
            kind,
            numbers,
            optional,
            flag,
            texts,
            json,
            halves,
            role,
            code,
        },
    )
}

impl ReplyParts {
    pub(crate) fn reply(&self) -> Reply<'_> {
        let [a, b, c, d] = self.numbers;
        let [charged, delay_us] = self.optional;
        let [first, second] = self.texts.each_ref().map(|text| &**text);
        let [version, shard, shards] = self.halves;
        let allowed = self.flag;
        let decision =
            Decision { allowed, remaining: a, retry_after_us: b, reset_after_us: c, at_us: d, charged, delay_us };
        match self.kind {
            0 => Reply::Defined,
            1 => Reply::Pong,
            2 => Reply::Overloaded,
            3 => Reply::Full,
            4 => Reply::Unavailable,
            5 => Reply::ResetDone { found: self.flag },
            6 => Reply::Moving { retry_us: a },
            7 => Reply::WrongOwner { epoch: a, node: NodeId(b), address: first.into() },
            8 => Reply::Invalid { field: first.into(), reason: second.into() },
            9 => Reply::Goodbye { code: self.code, reason: first.into() },
            10 => Reply::Topology((&*self.json).into()),
            11 => Reply::Welcome(Welcome { version, node: NodeId(a), shard, shards, role: self.role }),
            12 => Reply::Grant(Grant { granted: a, remaining: b, reset_after_us: c, at_us: d }),
            13 => Reply::Slots(Slots { allowed, in_use: a, retry_after_us: b, at_us: c }),
            14 => Reply::Released(Released { released: allowed, in_use: a }),
            15 => Reply::Settled(charged.map(|remaining| Settled { remaining, reset_after_us: a })),
            16 => {
                let parts = 1 + usize::from(version) % PARTS_MAX;
                let checks = Decisions::new((0..parts).map(|part| Decision { remaining: part as u64, ..decision }));
                Reply::CheckedAll(CheckedAll { allowed, retry_after_us: a, at_us: b, checks })
            }
            17 => Reply::Reported,
            18 => Reply::RulesVersion(RulesVersion { lineage: a, version: b }),
            19 if !self.json.is_empty() => {
                Reply::Rules(Rules { version: RulesVersion { lineage: a, version: b }, json: (&*self.json).into() })
            }
            _ => Reply::Decision(decision),
        }
    }
}

/// The parts of a hello.
#[derive(Clone, Debug)]
pub(crate) struct HelloParts {
    halves: [u16; 2],
    deadline_max_us: u32,
    instance: u128,
    name: String,
    token: String,
}

pub(crate) fn hello() -> impl Strategy<Value = HelloParts> {
    (any::<[u16; 2]>(), any::<u32>(), any::<u128>(), text(CLIENT_NAME_BYTES_MAX), text(TOKEN_BYTES_MAX)).prop_map(
        |(halves, deadline_max_us, instance, name, token)| HelloParts {
            halves,
            deadline_max_us,
            instance,
            name,
            token,
        },
    )
}

impl HelloParts {
    pub(crate) fn hello(&self) -> Hello<'_> {
        let Self { halves: [version, shard], deadline_max_us, instance, name, token } = self;
        let (version, shard, deadline_max_us, instance) = (*version, *shard, *deadline_max_us, *instance);
        Hello { version, shard, deadline_max_us, instance, name, token }
    }
}

/// The bytes of one frame with any header and any body, of a known kind more often than not.
pub(crate) fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    let kinds: Vec<u8> = (0..=u8::MAX).filter(|code| tallyring_protocol::Kind::from_code(*code).is_some()).collect();
    let kind = prop_oneof![9 => prop::sample::select(kinds), 1 => any::<u8>()];
    let body = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..80),
        prop::collection::vec(0..4_u8, 0..80), // small numbers pass for codes, lengths and units
    ];
    (kind, any::<u8>(), any::<u16>(), any::<u32>(), body).prop_map(|(kind, flags, handle, id, body)| {
        let len = u32::try_from(12 + body.len()).expect("a short body");
        let mut frame = len.to_le_bytes().to_vec();
        frame.extend_from_slice(&[kind, flags]);
        frame.extend_from_slice(&handle.to_le_bytes());
        frame.extend_from_slice(&id.to_le_bytes());
        frame.extend_from_slice(&body);
        frame
    })
}
