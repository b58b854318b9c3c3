//! The numbers that stand for names on the wire. They are contract: a number is never reused.

/// What a frame is. Requests are below `0x80`, replies and pushes from `0x80` on, outcomes without a decision from `0xE0` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs, reason = "each is described where its fields are: request.rs, reply.rs, hello.rs")]
pub enum Kind {
    Hello = 0x01,
    Define = 0x02,
    Ping = 0x03,
    GetRules = 0x05,
    Report = 0x06,
    Check = 0x10,
    Take = 0x11,
    Refund = 0x12,
    Reset = 0x13,
    CheckAll = 0x14,
    Reserve = 0x15,
    Settle = 0x16,
    Acquire = 0x17,
    Release = 0x18,

    Welcome = 0x81,
    Defined = 0x82,
    Pong = 0x83,
    Topology = 0x84,
    Rules = 0x85,
    Reported = 0x86,
    RulesVersion = 0x87,
    Decision = 0x90,
    Grant = 0x91,
    ResetDone = 0x93,
    CheckedAll = 0x94,
    Settled = 0x96,
    Slots = 0x97,
    Released = 0x98,

    WrongOwner = 0xE0,
    Moving = 0xE1,
    Overloaded = 0xE2,
    Full = 0xE3,
    Unavailable = 0xE4,
    Invalid = 0xE5,
    Goodbye = 0xEF,
}

impl Kind {
    const ALL: [Kind; 35] = [
        Kind::Hello,
        Kind::Define,
        Kind::Ping,
        Kind::GetRules,
        Kind::Report,
        Kind::Check,
        Kind::Take,
        Kind::Refund,
        Kind::Reset,
        Kind::CheckAll,
        Kind::Reserve,
        Kind::Settle,
        Kind::Acquire,
        Kind::Release,
        Kind::Welcome,
        Kind::Defined,
        Kind::Pong,
        Kind::Topology,
        Kind::Rules,
        Kind::Reported,
        Kind::RulesVersion,
        Kind::Decision,
        Kind::Grant,
        Kind::ResetDone,
        Kind::CheckedAll,
        Kind::Settled,
        Kind::Slots,
        Kind::Released,
        Kind::WrongOwner,
        Kind::Moving,
        Kind::Overloaded,
        Kind::Full,
        Kind::Unavailable,
        Kind::Invalid,
        Kind::Goodbye,
    ];

    const TABLE: [Option<Kind>; 256] = {
        let mut table = [None; 256];
        let mut i = 0;
        while i < Kind::ALL.len() {
            table[Kind::ALL[i] as usize] = Some(Kind::ALL[i]);
            i += 1;
        }
        table
    };

    /// The kind with this number, if there is one.
    ///
    /// ```
    /// use tallyring_protocol::Kind;
    /// assert_eq!(Kind::from_code(0x10), Some(Kind::Check));
    /// assert_eq!(Kind::from_code(0x7F), None);
    /// ```
    pub const fn from_code(code: u8) -> Option<Kind> {
        Kind::TABLE[code as usize]
    }
}

/// The algorithm of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs, reason = "named as everywhere in the field")]
pub enum AlgorithmCode {
    /// Also known as GCRA: two names of one algorithm.
    TokenBucket = 1,
    LeakyBucket = 2,
    FixedWindow = 3,
    SlidingLog = 4,
    SlidingCounter = 5,
    Concurrency = 6,
}

impl AlgorithmCode {
    /// Every algorithm: a key has at most one state under each.
    pub const ALL: [AlgorithmCode; 6] = [
        AlgorithmCode::TokenBucket,
        AlgorithmCode::LeakyBucket,
        AlgorithmCode::FixedWindow,
        AlgorithmCode::SlidingLog,
        AlgorithmCode::SlidingCounter,
        AlgorithmCode::Concurrency,
    ];

    /// The algorithm with this number, if there is one.
    pub fn from_code(code: u8) -> Option<AlgorithmCode> {
        AlgorithmCode::ALL.into_iter().find(|a| *a as u8 == code)
    }
}

/// What a token entitles its bearer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Role {
    /// Everything but operations on other people's state.
    Client = 1,
    /// The same, and reset.
    Admin = 2,
}

impl Role {
    /// The role with this number, if there is one.
    pub fn from_code(code: u8) -> Option<Role> {
        [Role::Client, Role::Admin].into_iter().find(|r| *r as u8 == code)
    }
}

/// Why a server ends a connection. What was on its way when it said so is still answered, for a moment, if it was draining.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum GoodbyeCode {
    /// The token of the hello is none of this server's.
    Unauthorized = 1,
    /// The hello speaks a protocol version that this server does not.
    Version = 2,
    /// The bytes are not frames of this protocol: the stream cannot be followed any further.
    Malformed = 3,
    /// The server is shutting down; connect elsewhere, or again later.
    Draining = 4,
    /// The hello did not arrive in time.
    Slow = 5,
    /// The server has as many connections as it accepts.
    Busy = 6,
}

impl GoodbyeCode {
    /// The code with this number, if there is one.
    pub fn from_code(code: u8) -> Option<GoodbyeCode> {
        use GoodbyeCode::*;
        [Unauthorized, Version, Malformed, Draining, Slow, Busy].into_iter().find(|c| *c as u8 == code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_number() {
        for kind in Kind::ALL {
            assert_eq!(Kind::from_code(kind as u8), Some(kind));
        }
        assert_eq!((0..=255).filter_map(Kind::from_code).count(), Kind::ALL.len());
    }

    #[test]
    fn an_unknown_number_is_no_algorithm_role_or_goodbye() {
        assert_eq!(AlgorithmCode::from_code(0), None);
        assert_eq!(AlgorithmCode::from_code(7), None);
        assert_eq!(Role::from_code(3), None);
        assert_eq!(GoodbyeCode::from_code(0), None);
    }
}
