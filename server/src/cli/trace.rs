//! `tallyring trace`: events in, decisions out, on a virtual clock.
//!
//! The engine that serves traffic, without I/O: what a trace says is what a node would have said. One event a line, one
//! decision a line; a line that is no event gets the name of its first bad field and changes nothing.
//!
//! The path of a line: [`event`](mod@crate::event) checks its fields → [`Trace`] asks the engine → [`answer`] writes the decision.

mod answer;
mod name;

use std::collections::BTreeSet;
use std::io::{self, BufRead, Read, Write};

use tallyring_engine::{Bounds, Decision, Engine, Full, Identity, JointError, Limit, LimitId, Part, Timestamp};

use self::name::Name;
use crate::event::field::{self, BadField};
use crate::event::stranger::{Stranger, stranger};
use crate::event::{self, Check, Head, Operation, Subject};
use crate::rules::visible::visible;

/// The longest line that is read, in bytes: sixteen parts with the longest keys, every character escaped, fit in it.
const LINE_BYTES_MAX: u64 = 1 << 20;
/// Entries looked at for expiry on each event, so that a long trace does not keep what it no longer needs.
const EXPIRIES_PER_EVENT_MAX: usize = 4;
/// Fields that no event has and that are told of, each once.
const STRANGERS_MAX: usize = 16;

/// A virtual clock and the counters that it moves.
///
/// ```
/// use tallyring::cli::trace::Trace;
///
/// let mut trace = Trace::new();
/// let event = r#"{"t_us":1,"key":"k","algorithm":"token_bucket","limit":1,"period_us":10}"#;
/// let decision = r#"{"allowed":true,"limit":1,"remaining":0,"retry_after_us":0,"reset_after_us":10}"#;
/// assert_eq!(trace.line(event).as_deref(), Some(decision));
/// assert_eq!(trace.line(""), None);
/// ```
#[derive(Debug)]
pub struct Trace {
    engine: Engine,
    decisions: Vec<Decision>,
    strangers: BTreeSet<String>,
}

impl Default for Trace {
    fn default() -> Trace {
        Trace::new()
    }
}

impl Trace {
    /// No counters, at the epoch.
    pub fn new() -> Trace {
        Trace { engine: Engine::new(Bounds::default()), decisions: Vec::new(), strangers: BTreeSet::new() }
    }

    /// The decision on one event, as one line of JSON; `None` for an empty line.
    pub fn line(&mut self, line: &str) -> Option<String> {
        if line.trim().is_empty() {
            return None;
        }
        Some(self.event(line).unwrap_or_else(|refusal| refusal.to_json()))
    }

    fn event(&mut self, line: &str) -> Result<String, Refusal> {
        let fields = field::parse(line)?;
        let Head { op, t } = event::head(&fields)?;
        self.note(stranger(op, &fields));
        let now = self.engine.advance(t);
        self.engine.expire(now, EXPIRIES_PER_EVENT_MAX);
        match event::operation(op, &fields)? {
            Operation::Check(check) => self.check(now, check),
            Operation::CheckAll(checks) => self.check_all(now, &checks),
            Operation::Take { subject, cost, keep } => self.take(now, subject, cost, keep),
            Operation::Refund { subject, cost, charged_at } => self.refund(now, subject, cost, charged_at),
            Operation::Reserve { check, id, ttl_us } => self.reserve(now, check, id, ttl_us),
            Operation::Settle { key, id, actual } => self.settle(now, Name(key), id, actual),
            Operation::Acquire { subject, holder, cost, ttl_us } => self.acquire(now, subject, holder, cost, ttl_us),
            Operation::Release { key, holder } => self.release(now, Name(key), holder),
        }
    }

    /// Fields that no event has, as they were met: they changed nothing, and may be misspelt ones that should have.
    pub fn strangers(&self) -> impl Iterator<Item = &str> {
        self.strangers.iter().map(String::as_str)
    }

    fn note(&mut self, stranger: Option<Stranger>) {
        if let Some(stranger) = stranger.filter(|_| self.strangers.len() < STRANGERS_MAX) {
            self.strangers.insert(stranger.to_string());
        }
    }

    fn check(&mut self, now: Timestamp, Check { subject, ask }: Check<'_>) -> Result<String, Refusal> {
        let identity = identity(subject);
        let decision = self.under(subject.limit, |engine, limit| engine.check(now, identity, limit, ask))?;
        Ok(answer::decision(&decision))
    }

    fn check_all(&mut self, now: Timestamp, checks: &[Check<'_>]) -> Result<String, Refusal> {
        let parts = self.intern_parts(checks)?;
        let joint = self.engine.check_all(now, &parts, &mut self.decisions);
        parts.iter().for_each(|part| self.engine.release(part.limit));
        Ok(answer::joint(&joint?, &self.decisions))
    }

    fn take(&mut self, now: Timestamp, subject: Subject<'_>, cost: u64, keep: u64) -> Result<String, Refusal> {
        let identity = identity(subject);
        let grant = self.under(subject.limit, |engine, limit| engine.take(now, identity, limit, cost, keep))?;
        Ok(answer::grant(&grant))
    }

    fn refund(
        &mut self,
        now: Timestamp,
        subject: Subject<'_>,
        cost: u64,
        charged_at: Option<Timestamp>,
    ) -> Result<String, Refusal> {
        let identity = identity(subject);
        let decision =
            self.under(subject.limit, |engine, limit| Ok(engine.refund(now, identity, limit, cost, charged_at)))?;
        Ok(answer::decision(&decision))
    }

    fn reserve(
        &mut self,
        now: Timestamp,
        Check { subject, ask }: Check<'_>,
        id: &str,
        ttl_us: u64,
    ) -> Result<String, Refusal> {
        let (identity, reservation) = (identity(subject), Name(subject.key).reservation(id));
        let decision =
            self.under(subject.limit, |engine, limit| engine.reserve(now, identity, reservation, limit, ask, ttl_us))?;
        Ok(answer::decision(&decision))
    }

    fn settle(&mut self, now: Timestamp, key: Name<'_>, id: &str, actual: u64) -> Result<String, Refusal> {
        let settled = self.engine.settle(now, key.reservation(id), actual)?;
        Ok(answer::settled(settled))
    }

    fn acquire(
        &mut self,
        now: Timestamp,
        subject: Subject<'_>,
        holder: &str,
        cost: u64,
        ttl_us: u64,
    ) -> Result<String, Refusal> {
        let (identity, holder) = (identity(subject), Name(subject.key).holder(holder));
        let slots =
            self.under(subject.limit, |engine, limit| engine.acquire(now, identity, holder, limit, cost, ttl_us))?;
        Ok(answer::slots(&slots))
    }

    fn release(&mut self, now: Timestamp, key: Name<'_>, holder: &str) -> Result<String, Refusal> {
        let identity = key.identity(tallyring_engine::Algorithm::Concurrency);
        Ok(answer::released(self.engine.release_slot(now, identity, key.holder(holder))))
    }

    /// Runs one operation under numbers that are interned for as long as it takes.
    fn under<T>(
        &mut self,
        limit: Limit,
        operation: impl FnOnce(&mut Engine, LimitId) -> Result<T, Full>,
    ) -> Result<T, Refusal> {
        let id = self.engine.intern("", limit).map_err(|_| Refusal::Full)?;
        let answer = operation(&mut self.engine, id);
        self.engine.release(id);
        Ok(answer?)
    }

    fn intern_parts(&mut self, checks: &[Check<'_>]) -> Result<Vec<Part>, Refusal> {
        let mut parts = Vec::with_capacity(checks.len());
        for Check { subject, ask } in checks {
            match self.engine.intern("", subject.limit) {
                Ok(limit) => parts.push(Part { identity: identity(*subject), limit, ask: *ask }),
                Err(_) => {
                    parts.iter().for_each(|part: &Part| self.engine.release(part.limit));
                    return Err(Refusal::Full);
                }
            }
        }
        Ok(parts)
    }
}

fn identity(subject: Subject<'_>) -> Identity {
    Name(subject.key).identity(subject.limit.algorithm())
}

/// Reads events until the input ends and writes a decision for each. Fields that no event has are told of on stderr.
///
/// # Errors
/// Reading or writing failed, or a line is over 1 MiB.
pub fn run(mut input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut trace = Trace::new();
    let mut line = Vec::new();
    while read_line(&mut input, &mut line)? {
        // Bytes that are no UTF-8 are no JSON either; the replacement character outside of a string says so.
        let answer = match std::str::from_utf8(&line) {
            Ok(text) => trace.line(text),
            Err(_) => Some(Refusal::from(BadField::line()).to_json()),
        };
        if let Some(answer) = answer {
            writeln!(output, "{answer}")?;
        }
    }
    for stranger in trace.strangers() {
        eprintln!("{}", visible(&format!("tallyring: trace: warning: {stranger}")));
    }
    output.flush()
}

fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let read = input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', line)?;
    if read as u64 == LINE_BYTES_MAX && line.last() != Some(&b'\n') {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is longer than 1 MiB"));
    }
    Ok(read > 0)
}

/// Why an event was not decided.
#[derive(Debug)]
enum Refusal {
    Invalid(BadField),
    Full,
}

impl Refusal {
    fn to_json(&self) -> String {
        match self {
            Refusal::Invalid(bad) => answer::invalid(bad),
            Refusal::Full => answer::FULL.to_owned(),
        }
    }
}

impl From<BadField> for Refusal {
    fn from(bad: BadField) -> Refusal {
        Refusal::Invalid(bad)
    }
}

impl From<Full> for Refusal {
    fn from(_: Full) -> Refusal {
        Refusal::Full
    }
}

impl From<JointError> for Refusal {
    fn from(error: JointError) -> Refusal {
        match error {
            JointError::Full(_) => Refusal::Full,
            JointError::TwoLimits { part } => BadField::in_part("limit", part).into(),
        }
    }
}

#[cfg(test)]
mod tests;
