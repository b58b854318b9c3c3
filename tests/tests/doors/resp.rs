//! RESP: commands in bursts. All keys of a trace have one tag, so one shard decides everything; each trace is played once over
//! a connection that this shard has, and once over another's, which forwards every command and keeps the answers in order.
//!
//! What RESP has no command for, a joint check, is asked over the native protocol in between.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tallyring_tests::resp::{Answer, Connection, command};

use crate::door::Door;
use crate::native::Native;
use crate::play;
use crate::tag::tagged;

/// Shards of the node, and connections that each trace is played over.
const SHARDS: u16 = 2;

pub(crate) async fn check(name: &'static str) {
    for connection in 0..SHARDS {
        play::check(name, SHARDS, |node| {
            let (resp, native) = (node.resp_addr(), node.native_addr());
            Box::new(move || Resp::open(resp, native, connection))
        })
        .await;
    }
}

/// The same of a node that does not own the keys.
pub(crate) async fn check_forwarded(name: &'static str) {
    play::check_forwarded(name, |asked, owner| {
        let (resp, native) = (asked.resp_addr(), owner.native_addr());
        Box::new(move || Resp::open(resp, native, 0))
    })
    .await;
}

struct Resp {
    connection: Connection,
    native: Native,
    events: Vec<Value>,
    /// They went to the shards before this one's.
    _others: Vec<Connection>,
}

impl Resp {
    fn open(resp: SocketAddr, native: SocketAddr, others: u16) -> Resp {
        let others = (0..others).map(|_| Connection::open(resp)).collect();
        let (connection, native) = (Connection::open(resp), Native::open(native, 0));
        Resp { connection, native, events: Vec::new(), _others: others }
    }

    /// Asks a run of events in one write.
    fn ask_run(&mut self, events: &[Value]) -> Vec<Value> {
        let commands: Vec<Vec<u8>> = events.iter().map(|event| command(&words(event).unwrap())).collect();
        self.connection.send(&commands.concat());
        events.iter().map(|event| found(event, &self.connection.answer())).collect()
    }
}

impl Door for Resp {
    fn put(&mut self, event: &Value) -> Option<()> {
        let event = tagged(event);
        let can_be_said = if is_joint(&event) { self.native.can_say(&event) } else { words(&event).is_some() };
        can_be_said.then(|| self.events.push(event))
    }

    fn ask(&mut self, now_us: u64) -> Vec<Value> {
        let events = std::mem::take(&mut self.events);
        let mut answers = Vec::new();
        for run in events.chunk_by(|a, b| is_joint(a) == is_joint(b)) {
            if is_joint(&run[0]) {
                run.iter().for_each(|event| self.native.put(event).expect("it was found that this can be said"));
                answers.extend(self.native.ask(now_us));
            } else {
                answers.extend(self.ask_run(run));
            }
        }
        answers
    }

    fn worded(recorded: Value) -> Value {
        // Several checks at once have no command of their own: they are asked of the native door.
        if recorded.get("checks").is_some() { Native::worded(recorded) } else { positional(recorded) }
    }
}

fn op(event: &Value) -> Option<&str> {
    event.get("op").map_or(Some("check"), Value::as_str)
}

fn is_joint(event: &Value) -> bool {
    op(event) == Some("check_all")
}

/// The words of a command; `None` if no command can say it.
fn words(event: &Value) -> Option<Vec<String>> {
    let text = |field: &str| event.get(field)?.as_str().map(str::to_owned);
    let key = text("key")?;
    let said = match op(event)? {
        "check" => {
            [vec!["TR.CHECK".into(), key], numbers(event)?, options(event, &["burst", "cost", "keep", "force"])?]
        }
        "take" => [vec!["TR.TAKE".into(), key], numbers(event)?, options(&costly(event), &["burst", "cost", "keep"])?],
        "refund" => {
            let options = options(&costly(event), &["burst", "cost", "charged_at_us"])?;
            [vec!["TR.REFUND".into(), key], numbers(event)?, options]
        }
        "reserve" => {
            let reserve = vec!["TR.RESERVE".into(), key, text("id")?, number(event.get("ttl_us")?)?];
            [reserve, numbers(event)?, options(event, &["burst", "cost", "keep", "force"])?]
        }
        "settle" => [vec!["TR.SETTLE".into(), key], vec![text("id")?, number(event.get("actual")?)?], vec![]],
        "acquire" => {
            let numbers = vec![number(event.get("limit")?)?, number(event.get("ttl_us")?)?];
            [vec!["TR.ACQUIRE".into(), key, text("holder")?], numbers, options(event, &["cost"])?]
        }
        "release" => [vec!["TR.RELEASE".into(), key], vec![text("holder")?], vec![]],
        _ => return None,
    };
    Some(said.concat())
}

/// Algorithm, limit and period.
fn numbers(event: &Value) -> Option<Vec<String>> {
    let period = match (event.get("calendar"), event.get("period_us")) {
        (None, Some(period_us)) => number(period_us)?,
        (Some(calendar), None) => format!("CAL.{}", calendar.as_str()?.to_uppercase()),
        _ => return None,
    };
    Some(vec![event.get("algorithm")?.as_str()?.to_owned(), number(event.get("limit")?)?, period])
}

/// The event with the cost that it leaves out, where RESP wants it said.
fn costly(event: &Value) -> Value {
    let mut event = event.clone();
    event.as_object_mut().expect("an event is an object").entry("cost").or_insert(json!(1));
    event
}

/// A number as it is written; also what is none, for that is to be refused. Text would read as what it spells.
fn number(value: &Value) -> Option<String> {
    (!value.is_string()).then(|| value.to_string()).filter(|text| !text.is_empty())
}

fn options(event: &Value, fields: &[&str]) -> Option<Vec<String>> {
    let mut words = Vec::new();
    for field in fields {
        match (*field, event.get(field)) {
            (_, None) => {}
            ("force", Some(force)) => words.extend(force.as_bool()?.then(|| "FORCE".to_owned())),
            ("charged_at_us", Some(at)) => words.extend(["AT".to_owned(), number(at)?]),
            (_, Some(value)) => words.extend([field.to_uppercase(), number(value)?]),
        }
    }
    Some(words)
}

/// What a decision has behind its five numbers: known by their order alone.
const MORE: &str = "more";

/// A recorded decision with what only some have, the delay of a queue and then what a forced call charged, by its order.
fn positional(mut recorded: Value) -> Value {
    if let Some(fields) = recorded.as_object_mut()
        && fields.contains_key("reset_after_us")
        && fields.contains_key("allowed")
    {
        let more: Vec<Value> = ["delay_us", "charged"].iter().filter_map(|name| fields.remove(*name)).collect();
        fields.insert(MORE.to_owned(), Value::Array(more));
    }
    recorded
}

/// An answer in the words of a trace.
fn found(event: &Value, answer: &Answer) -> Value {
    if let Answer::Error(text) = answer {
        return error(text);
    }
    let numbers = answer.integers();
    let wait = |wait: i64| if wait < 0 { Value::Null } else { json!(wait) };
    match (op(event).unwrap_or_default(), &numbers[..]) {
        ("settle", [0, -1, -1]) => json!({ "settled": false }),
        ("settle", [1, remaining, reset]) => {
            json!({ "settled": true, "remaining": remaining, "reset_after_us": reset })
        }
        ("take", [granted, remaining, reset]) => {
            json!({ "granted": granted, "remaining": remaining, "reset_after_us": reset })
        }
        ("acquire", [allowed, limit, in_use, retry]) => {
            let (allowed, retry) = (*allowed == 1, wait(*retry));
            json!({ "allowed": allowed, "limit": limit, "in_use": in_use, "retry_after_us": retry })
        }
        ("release", [released, in_use]) => json!({ "released": *released == 1, "in_use": in_use }),
        ("check" | "refund" | "reserve", [allowed, limit, remaining, retry, reset, more @ ..]) => {
            let retry = wait(*retry);
            json!({
                "allowed": *allowed == 1,
                "limit": limit,
                "remaining": remaining,
                "retry_after_us": retry,
                "reset_after_us": reset,
                MORE: more,
            })
        }
        other => panic!("no answer: {other:?}"),
    }
}

/// The field is named behind the command.
fn error(text: &str) -> Value {
    if text.starts_with("FULL ") {
        return json!({ "error": "full" });
    }
    let field = text.split(": ").nth(1).unwrap_or_else(|| panic!("it names no field: {text}"));
    json!({ "error": "invalid", "field": field })
}
