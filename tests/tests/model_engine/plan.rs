//! Plans of traces: what proptest draws and shrinks, and [`script`](crate::script) writes out.
//!
//! Times and charges are relative, so that a shorter plan still aims at the edges that its own decisions announce.

use proptest::sample::Index;

/// A trace to be: where its clock starts, the limits that its steps choose from, the steps.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) start_us: u64,
    pub(crate) limits: Vec<Limit>,
    pub(crate) steps: Vec<Step>,
}

/// The numbers of a limit.
#[derive(Clone, Debug)]
pub(crate) struct Limit {
    pub(crate) algorithm: &'static str,
    pub(crate) limit: u64,
    pub(crate) window: Window,
    pub(crate) burst: Option<u64>,
}

/// The window of a limit.
#[derive(Clone, Debug)]
pub(crate) enum Window {
    PeriodUs(u64),
    Calendar(&'static str),
}

/// One event: the clock moves, then something is asked.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) clock: Clock,
    pub(crate) ask: Ask,
}

/// How the clock moves before an event.
#[derive(Clone, Debug)]
pub(crate) enum Clock {
    Stays,
    Ticks {
        us: u64,
    },
    /// A share of the window of the step's limit.
    Passes {
        percent: u64,
    },
    StepsBack {
        us: u64,
    },
    JumpsBack {
        percent: u64,
    },
    /// The moment at which the last decision said the call would pass, or a microsecond off.
    ToRetry {
        offset_us: i64,
    },
    /// The moment at which the last decision said all would be free, or a microsecond off.
    ToReset {
        offset_us: i64,
    },
}

/// What an event asks for.
#[derive(Clone, Debug)]
pub(crate) enum Ask {
    Check(Call),
    Take(Call),
    Refund {
        call: Call,
        charged: Charged,
    },
    Reserve {
        call: Call,
        id: u8,
        ttl_us: u64,
    },
    Settle {
        call: Call,
        id: u8,
        actual: Amount,
    },
    CheckAll(Vec<Part>),
    Acquire {
        key: u8,
        holder: u8,
        cost: Option<u64>,
        limit: u64,
        ttl_us: u64,
    },
    Release {
        key: u8,
        holder: u8,
    },
    /// An event with a field too many, or one said twice: often a bad one.
    Spoilt {
        ask: Box<Ask>,
        spoil: Spoil,
    },
    /// A line that need not be an event at all.
    Line(&'static str),
}

/// A key under one of the plan's limits, and how much of it.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) key: u8,
    pub(crate) limit: Index,
    pub(crate) cost: Option<Amount>,
    pub(crate) keep: Option<Amount>,
    pub(crate) force: Option<bool>,
}

/// A part of a `check_all`.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) call: Call,
    pub(crate) spoil: Option<Spoil>,
}

/// A field to be appended, the value as JSON text.
#[derive(Clone, Debug)]
pub(crate) struct Spoil {
    pub(crate) field: &'static str,
    pub(crate) value: String,
}

/// Units, outright or as a share of the limit's ceiling.
#[derive(Clone, Debug)]
pub(crate) enum Amount {
    Units(u64),
    Percent(u64),
}

/// When a refund says its units were charged.
#[derive(Clone, Debug)]
pub(crate) enum Charged {
    Unsaid,
    AtStep(Index),
    Earlier { percent: u64 },
    Later { percent: u64 },
}
