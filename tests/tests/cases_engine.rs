//! Faults that users of comparable software reported: the ones that concern decisions, each with its right answer.
//!
//! A case is written in its own words; [`Case::asked`] says them in ours. The model and the engine must both be right.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};
use tallyring::cli::trace::Trace;
use tallyring_tests::model::Model;

/// Long enough for every case that reserves without saying for how long.
const RESERVATION_TTL_US: u64 = 86_400_000_000;

/// Cases about decisions that stand under another area's name.
const OTHER_AREAS: &[&str] = &["ops-reload-02", "proto-nil-01"];

/// A window of 10^15 microseconds is over the bound of 400 days: the answer is that it is refused, not a wrapped timer.
const OVER_THE_BOUND: &str = "eng-ovf-03";

/// What is under test: an event in, a decision out.
type Decide = Box<dyn FnMut(&str) -> Option<String>>;

/// An event in our words, and what its answer must hold; names that are not there may have any value.
struct Asked {
    event: Value,
    expected: Value,
}

struct Case {
    id: String,
    input: Value,
    expected: Value,
}

fn cases() -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/cases.jsonl");
    let text = fs::read_to_string(path).expect("the cases are part of the crate");
    let cases = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a case a line"));
    let id = |case: &Value| case["id"].as_str().expect("a case has an id").to_owned();
    let is_ours = |case: &Value| case["area"] == "engine" || OTHER_AREAS.contains(&id(case).as_str());
    let case = |case: Value| Case { id: id(&case), input: case["input"].clone(), expected: case["expected"].clone() };
    cases.filter(is_ours).map(case).collect()
}

impl Case {
    /// The events of the case, each with what is to be checked of its answer.
    fn asked(&self) -> Vec<Asked> {
        match self.id.as_str() {
            "eng-multi-01" => self.all_or_nothing(),
            "eng-multi-03" => self.batches(),
            "eng-ttl-04" => self.forgotten(),
            "ops-reload-02" => self.reloaded(),
            "proto-nil-01" => self.nulls(),
            _ => self.one_key(),
        }
    }

    /// One key, one limit (which `set_limit` changes), and an answer for each event.
    fn one_key(&self) -> Vec<Asked> {
        let mut numbers = self.input.clone();
        let told = self.list("/input/events").iter().zip(self.list("/expected/events"));
        let asked = told.map(|(event, expected)| {
            if event["op"] == "set_limit" {
                merge(&mut numbers, event);
            }
            Asked { event: translated(event, &numbers), expected: self.answer(expected) }
        });
        asked.collect()
    }

    fn answer(&self, expected: &Value) -> Value {
        if self.id == OVER_THE_BOUND {
            return json!({"error": "invalid", "field": "period_us"});
        }
        translated_answer(expected)
    }

    /// Every call is charged to both limits or to none.
    fn all_or_nothing(&self) -> Vec<Asked> {
        let limits = self.list("/input/limits");
        let admitted = self.expected["admitted_total"].as_u64().expect("a count");
        let asked = self.list("/input/events").iter().zip(1..).map(|(event, call)| {
            let parts: Vec<Value> = limits.iter().map(|limit| part(limit, &limit["name"], &event["cost"])).collect();
            let is_admitted = call <= admitted;
            let parts_allowed = json!([{"allowed": is_admitted}, {"allowed": true}]);
            let expected = json!({"allowed": is_admitted, "checks": parts_allowed});
            Asked { event: json!({"t_us": event["t_us"], "op": "check_all", "checks": parts}), expected }
        });
        let mut asked: Vec<Asked> = asked.collect();
        let at_30s = &self.expected["at_30s"];
        asked.last_mut().expect("31 calls").expected["checks"] = json!([at_30s["burst"], at_30s["sustained"]]);
        asked
    }

    /// One counter named twice in a call is charged twice.
    fn batches(&self) -> Vec<Asked> {
        let told = self.list("/input/batches").iter().zip(self.list("/expected/batches"));
        let asked = told.map(|(batch, expected)| {
            let items = batch["items"].as_array().expect("a list of items");
            let parts: Vec<Value> = items.iter().map(|item| part(&self.input["limit"], &item[1], &item[2])).collect();
            let mut answers = vec![json!({}); parts.len()];
            answers[parts.len() - 1] = json!({"remaining": expected["remaining_after"]});
            Asked {
                event: json!({"t_us": batch["t_us"], "op": "check_all", "checks": parts}),
                expected: json!({"allowed": expected["allowed"], "checks": answers}),
            }
        });
        asked.collect()
    }

    /// What can be seen from outside of a swept key: it is like one that was never used.
    fn forgotten(&self) -> Vec<Asked> {
        let keys = self.input["keys"].as_u64().expect("a count");
        let event = |key: u64, t_us: &Value, cost: u64| {
            let event = json!({"t_us": t_us, "key": format!("k{key}"), "cost": cost});
            translated(&event, &self.input)
        };
        let touched = (0..keys).map(|key| Asked {
            event: event(key, &self.input["touch_at_us"], 1),
            expected: json!({"allowed": true, "remaining": 59, "reset_after_us": 60_000_000}),
        });
        let looked_at = (0..keys).map(|key| Asked {
            event: event(key, &self.input["sweep_at_us"], 0),
            expected: json!({"allowed": true, "remaining": 60, "reset_after_us": 0}),
        });
        touched.chain(looked_at).collect()
    }

    /// A raised limit counts what was used under the old one.
    fn reloaded(&self) -> Vec<Asked> {
        let rule = &self.input["rule"];
        let mut raised = rule.clone();
        merge(&mut raised, &json!({"limit": self.input["new_limit"]}));
        let used = translated(&json!({"t_us": 0, "cost": self.input["used"]}), rule);
        let next = translated(&json!({"t_us": 1, "cost": 1}), &raised);
        vec![
            Asked { event: used, expected: json!({"allowed": true}) },
            Asked { event: next, expected: translated_answer(&self.expected["next_call"]) },
        ]
    }

    /// Nulls are bad, not absent.
    fn nulls(&self) -> Vec<Asked> {
        let numbers = json!({"algo": "token_bucket", "limit": 1, "period_us": 1});
        let asked = self.list("/input/args").iter().map(|args| {
            let value =
                |index: usize| serde_json::from_str(args[index].as_str().expect("text")).unwrap_or(args[index].clone());
            let event = json!({"t_us": 0, "key": value(0), "cost": value(1)});
            Asked { event: translated(&event, &numbers), expected: json!({"error": "invalid"}) }
        });
        asked.collect()
    }

    fn list(&self, place: &str) -> &[Value] {
        let (root, inner) = place[1..].split_once('/').expect("two names");
        let root = if root == "input" { &self.input } else { &self.expected };
        root[inner].as_array().unwrap_or_else(|| panic!("{}: no list at {place}", self.id))
    }
}

/// A case's event in our words: `numbers` are those of its limit.
fn translated(event: &Value, numbers: &Value) -> Value {
    let is_slot = numbers["algo"] == "concurrency";
    let mut ours = json!({"key": "k"});
    let fields = event.as_object().expect("an event is an object").iter();
    let numbers = numbers.as_object().expect("numbers are an object").iter();
    for (name, value) in numbers.chain(fields) {
        match (name.as_str(), value.as_str()) {
            ("op", Some("renew")) => ours["op"] = json!("acquire"),
            ("op", Some("set_limit")) => ours["cost"] = json!(0), // the new numbers come with the next call: look
            ("op", Some("reserve")) => merge(&mut ours, &json!({"op": "reserve", "ttl_us": RESERVATION_TTL_US})),
            ("id", _) if is_slot => ours["holder"] = value.clone(),
            ("algo", _) => ours["algorithm"] = value.clone(),
            ("amount", _) => ours["cost"] = value.clone(),
            ("lease_us", _) => ours["ttl_us"] = value.clone(),
            ("events" | "keys" | "touch_at_us" | "sweep_at_us", _) => {}
            _ => ours[name] = value.clone(),
        }
    }
    ours
}

/// A case's answer in our words.
fn translated_answer(expected: &Value) -> Value {
    match expected["error"].as_str() {
        Some("cost_exceeds_capacity") => return json!({"allowed": false, "retry_after_us": null}),
        Some("unknown_reservation") => return json!({"settled": false}),
        _ => {}
    }
    let name = |name: &str| match name {
        "in_flight" => "in_use".to_owned(),
        "renewed" => "allowed".to_owned(),
        name => name.to_owned(),
    };
    let fields = expected.as_object().expect("an answer is an object").iter();
    Value::Object(fields.map(|(theirs, value)| (name(theirs), value.clone())).collect::<Map<String, Value>>())
}

fn part(limit: &Value, key: &Value, cost: &Value) -> Value {
    json!({"key": key, "algorithm": limit["algo"], "limit": limit["limit"], "period_us": limit["period_us"], "cost": cost})
}

fn merge(into: &mut Value, more: &Value) {
    for (name, value) in more.as_object().expect("an object") {
        into[name] = value.clone();
    }
}

/// Whether `found` has every value that `expected` names, lists part by part.
fn holds(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            expected.iter().all(|(name, value)| found.get(name).is_some_and(|found| holds(found, value)))
        }
        (Value::Array(found), Value::Array(expected)) => {
            found.len() == expected.len() && found.iter().zip(expected).all(|(found, expected)| holds(found, expected))
        }
        _ => found == expected,
    }
}

/// Plays every case on a subject of its own and names all that it answers wrongly.
fn check(subject: impl Fn() -> Decide) {
    let wrong: Vec<String> = cases().iter().filter_map(|case| first_wrong(case, subject())).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn first_wrong(case: &Case, mut decide: Decide) -> Option<String> {
    case.asked().iter().find_map(|asked| {
        let event = asked.event.to_string();
        let answer = decide(&event).expect("an event has an answer");
        let found = serde_json::from_str(&answer).expect("an answer is JSON");
        let is_right = holds(&found, &asked.expected);
        (!is_right).then(|| format!("{}: {event}\n   found {answer}\nexpected {}", case.id, asked.expected))
    })
}

#[test]
fn the_model_gives_the_right_answers() {
    check(|| {
        let mut model = Model::new();
        Box::new(move |event| model.line(event))
    });
}

#[test]
fn the_engine_gives_the_right_answers() {
    check(|| {
        let mut trace = Trace::new();
        Box::new(move |event| trace.line(event))
    });
}

#[test]
fn every_case_asks_something() {
    let cases = cases();
    assert_eq!(cases.len(), 46, "cases about decisions");
    for case in cases {
        assert!(!case.asked().is_empty(), "{} asks nothing", case.id);
    }
}

#[test]
fn a_right_answer_is_not_taken_for_a_wrong_one_nor_the_other_way() {
    let found = json!({"allowed": true, "checks": [{"remaining": 1, "limit": 2}]});
    assert!(holds(&found, &json!({"checks": [{"remaining": 1}]})));
    assert!(!holds(&found, &json!({"checks": [{"remaining": 2}]})));
    assert!(!holds(&found, &json!({"retry_after_us": 0})));
}
