//! From an event of a trace to the frames that ask the same.

use std::collections::BTreeMap;

use serde_json::Value;
use tallyring_protocol::{
    Acquire, AlgorithmCode, Charge, Define, Key, KeyRef, Parts, PeriodCode, Refund, Release, Request, Reserve, Settle,
};

/// The tag of every key, so that one shard has them all.
const TAG: &[u8] = b"trace";

/// What identifies a definition: algorithm, limit, unit of the period, its length, burst.
type Numbers = (u8, u64, u8, u64, u64);

/// What the reply to a frame is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// The limit of an event, or of a part of it.
    Limit { event: usize, part: Option<usize>, handle: u16 },
    /// The event itself.
    Event { event: usize },
}

/// The frames of some events that were not sent yet, and the handles that were defined so far.
#[derive(Debug, Default)]
pub(super) struct Frames {
    handles: BTreeMap<Numbers, u16>,
    next_handle: u16,
    pub(super) bytes: Vec<u8>,
    /// What each frame is about; a frame's id is its place here, from 1 on.
    pub(super) subjects: Vec<Subject>,
    pub(super) events: usize,
}

impl Frames {
    /// Adds the frames of one event; `None`, and none is added, if no frame can say it.
    pub(super) fn put(&mut self, event: &Value) -> Option<()> {
        let (len, frames) = (self.bytes.len(), self.subjects.len());
        let said = self.put_event(event);
        match said {
            Some(()) => self.events += 1,
            None => {
                // Handles of the event are forgotten with their frames.
                let frames = self.subjects.split_off(frames);
                self.handles.retain(|_, handle| !frames.iter().any(|frame| frame.defines(*handle)));
                self.bytes.truncate(len);
            }
        }
        said
    }

    /// A limit was refused: its handle stands for nothing.
    pub(super) fn forget(&mut self, handle: u16) {
        self.handles.retain(|_, known| *known != handle);
    }

    fn put_event(&mut self, event: &Value) -> Option<()> {
        let op = event.get("op").map_or(Some("check"), Value::as_str)?;
        if op == "check_all" {
            return self.put_check_all(event);
        }
        let key = key(event)?;
        let key = key.as_ref();
        let request = match op {
            "check" => Request::Check(self.charge(event, key, None)?),
            "take" => Request::Take(Charge { force: false, ..self.charge(&without(event, "force"), key, None)? }),
            "refund" => {
                let Charge { handle, cost, .. } = self.charge(&without(&without(event, "force"), "keep"), key, None)?;
                Request::Refund(Refund { handle, cost, charged_at_us: optional(event, "charged_at_us")?, key })
            }
            "reserve" => {
                let charge = self.charge(event, key, None)?;
                Request::Reserve(Reserve { charge, ttl_us: number(event, "ttl_us")?, id: name(event, "id")? })
            }
            "settle" => Request::Settle(Settle { actual: number(event, "actual")?, id: name(event, "id")?, key }),
            "acquire" => Request::Acquire(Acquire {
                limit: number(event, "limit")?,
                ttl_us: number(event, "ttl_us")?,
                cost: optional(event, "cost")?.unwrap_or(1),
                holder: name(event, "holder")?,
                key,
            }),
            "release" => Request::Release(Release { holder: name(event, "holder")?, key }),
            _ => return None,
        };
        self.push(&request, Subject::Event { event: self.events });
        Some(())
    }

    fn put_check_all(&mut self, event: &Value) -> Option<()> {
        let parts = event.get("checks")?.as_array().filter(|parts| (1..=16).contains(&parts.len()))?;
        let keys = parts.iter().map(key).collect::<Option<Vec<Key>>>()?;
        let charges = parts.iter().zip(&keys).enumerate();
        let charges = charges.map(|(no, (part, key))| self.charge(part, key.as_ref(), Some(no)));
        let block = Parts::encode(charges.collect::<Option<Vec<Charge<'_>>>>()?);
        let request = Request::CheckAll(Parts::from_block(&block).unwrap());
        self.push(&request, Subject::Event { event: self.events });
        Some(())
    }

    fn charge<'a>(&mut self, event: &Value, key: KeyRef<'a>, part: Option<usize>) -> Option<Charge<'a>> {
        let cost = optional(event, "cost")?.unwrap_or(1);
        let keep = optional(event, "keep")?.unwrap_or(0);
        let force = event.get("force").map_or(Some(false), Value::as_bool)?;
        Some(Charge { handle: self.handle(event, part)?, cost, keep, force, key })
    }

    /// The handle of an event's limit, which is defined if it is new.
    fn handle(&mut self, event: &Value, part: Option<usize>) -> Option<u16> {
        let algorithm = algorithm(event.get("algorithm")?.as_str()?)?;
        let limit = number(event, "limit")?;
        let period = period(event)?;
        // 0 says on the wire that there is none.
        let burst = optional(event, "burst")?.map_or(Some(0), |burst| (burst > 0).then_some(burst))?;
        let (unit, micros) = match period {
            PeriodCode::Micros(micros) => (0, micros),
            PeriodCode::Day => (1, 0),
            PeriodCode::Week => (2, 0),
            PeriodCode::Month => (3, 0),
        };
        let numbers = (algorithm as u8, limit, unit, micros, burst);
        if let Some(handle) = self.handles.get(&numbers) {
            return Some(*handle);
        }
        let handle = self.next_handle;
        self.next_handle += 1;
        self.handles.insert(numbers, handle);
        let (shadow, sync, rule_version, keys_max, rule) = (false, false, 0, 0, "");
        let define = Define { handle, algorithm, limit, period, burst, shadow, sync, rule_version, keys_max, rule };
        self.push(&Request::Define(define), Subject::Limit { event: self.events, part, handle });
        Some(handle)
    }

    fn push(&mut self, request: &Request<'_>, subject: Subject) {
        self.subjects.push(subject);
        request.encode(self.subjects.len() as u32, &mut self.bytes);
    }
}

impl Subject {
    fn defines(&self, handle: u16) -> bool {
        matches!(self, Subject::Limit { handle: defined, .. } if *defined == handle)
    }
}

fn algorithm(name: &str) -> Option<AlgorithmCode> {
    match name {
        "token_bucket" | "gcra" => Some(AlgorithmCode::TokenBucket),
        "leaky_bucket" => Some(AlgorithmCode::LeakyBucket),
        "fixed_window" => Some(AlgorithmCode::FixedWindow),
        "sliding_log" => Some(AlgorithmCode::SlidingLog),
        "sliding_counter" => Some(AlgorithmCode::SlidingCounter),
        "concurrency" => Some(AlgorithmCode::Concurrency),
        _ => None,
    }
}

fn period(event: &Value) -> Option<PeriodCode> {
    match (event.get("calendar"), event.get("period_us")) {
        (None, Some(_)) => number(event, "period_us").map(PeriodCode::Micros),
        (Some(calendar), None) => match calendar.as_str()? {
            "day" => Some(PeriodCode::Day),
            "week" => Some(PeriodCode::Week),
            "month" => Some(PeriodCode::Month),
            _ => None,
        },
        _ => None,
    }
}

fn key(event: &Value) -> Option<Key> {
    Key::new(TAG, event.get("key")?.as_str()?.as_bytes()).ok()
}

fn name<'a>(event: &'a Value, field: &str) -> Option<&'a [u8]> {
    let name = event.get(field)?.as_str()?.as_bytes();
    (1..=128).contains(&name.len()).then_some(name)
}

fn number(event: &Value, field: &str) -> Option<u64> {
    event.get(field)?.as_u64()
}

/// `Some(None)` if the field is not there, `None` if no frame can say it.
fn optional(event: &Value, field: &str) -> Option<Option<u64>> {
    event.get(field).map_or(Some(None), |value| value.as_u64().map(Some))
}

/// The event without a field that its operation has no use for.
fn without(event: &Value, field: &str) -> Value {
    let mut event = event.clone();
    event.as_object_mut().map(|fields| fields.remove(field));
    event
}
