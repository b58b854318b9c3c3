//! From a plan to a trace: the model plays along, so that a step can aim at what the last decision announced.

use serde_json::{Value, json};
use tallyring_tests::model::Model;

use crate::plan::{Amount, Ask, Call, Charged, Clock, Limit, Part, Plan, Window};

const T_US_MAX: i128 = (1 << 53) - 1;
const UNITS_MAX: u64 = 1_000_000_000_000;
const MONTH_US: u64 = 30 * 86_400_000_000;

/// An event and the model's answer to it.
pub(crate) struct Line {
    pub(crate) event: String,
    pub(crate) answer: Option<String>,
}

/// Plays the plan on a fresh model.
pub(crate) fn lines(plan: &Plan) -> Vec<Line> {
    let mut script =
        Script { plan, model: Model::new(), clock_us: plan.start_us.into(), seen_us: Vec::new(), last: Value::Null };
    plan.steps.iter().map(|step| script.line(&step.clock, &step.ask)).collect()
}

struct Script<'a> {
    plan: &'a Plan,
    model: Model,
    clock_us: i128,
    /// The instants of the steps so far.
    seen_us: Vec<i128>,
    /// The last decision.
    last: Value,
}

impl Script<'_> {
    fn line(&mut self, clock: &Clock, ask: &Ask) -> Line {
        self.clock_us = (self.clock_us + self.elapsed_us(clock, ask)).clamp(0, T_US_MAX);
        self.seen_us.push(self.clock_us);
        let event = self.event(ask);
        let answer = self.model.line(&event);
        self.last =
            answer.as_deref().map_or(Value::Null, |answer| serde_json::from_str(answer).expect("answers are JSON"));
        Line { event, answer }
    }

    fn elapsed_us(&self, clock: &Clock, ask: &Ask) -> i128 {
        let window_us = self.window_us(ask);
        match clock {
            Clock::Stays => 0,
            Clock::Ticks { us } => (*us).into(),
            Clock::Passes { percent } => share(window_us, *percent),
            Clock::StepsBack { us } => -i128::from(*us),
            Clock::JumpsBack { percent } => -share(window_us, *percent),
            Clock::ToRetry { offset_us } => self.told("retry_after_us") + i128::from(*offset_us),
            Clock::ToReset { offset_us } => self.told("reset_after_us") + i128::from(*offset_us),
        }
    }

    /// A wait that the last decision named; 0 if it named none, or one that lasts longer than the clock can show.
    fn told(&self, name: &str) -> i128 {
        self.last[name].as_u64().filter(|wait_us| i128::from(*wait_us) < T_US_MAX).unwrap_or(0).into()
    }

    fn window_us(&self, ask: &Ask) -> u64 {
        match ask {
            Ask::Check(call) | Ask::Take(call) | Ask::Refund { call, .. } => self.limit(call).window_us(),
            Ask::Reserve { call, .. } | Ask::Settle { call, .. } => self.limit(call).window_us(),
            Ask::CheckAll(parts) => parts.first().map_or(1, |part| self.limit(&part.call).window_us()),
            Ask::Acquire { ttl_us, .. } => *ttl_us,
            Ask::Spoilt { ask, .. } => self.window_us(ask),
            Ask::Release { .. } | Ask::Line(_) => 10,
        }
    }

    fn limit(&self, call: &Call) -> &Limit {
        call.limit.get(&self.plan.limits)
    }

    fn event(&self, ask: &Ask) -> String {
        match ask {
            Ask::Line(line) => (*line).to_owned(),
            Ask::Spoilt { ask, spoil } => spoilt(&self.event(ask), spoil.field, &spoil.value),
            Ask::CheckAll(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.part(part)).collect();
                format!(r#"{{"t_us":{},"op":"check_all","checks":[{}]}}"#, self.clock_us, parts.join(","))
            }
            ask => self.fields(ask).to_string(),
        }
    }

    fn part(&self, part: &Part) -> String {
        let text = self.call(&part.call).to_string();
        part.spoil.as_ref().map_or(text.clone(), |spoil| spoilt(&text, spoil.field, &spoil.value))
    }

    fn fields(&self, ask: &Ask) -> Value {
        let fields = match ask {
            Ask::Check(call) => self.call(call),
            Ask::Take(call) => with(self.call(call), json!({"op": "take"})),
            Ask::Refund { call, charged } => {
                with(with(self.call(call), json!({"op": "refund"})), self.charged_at(call, charged))
            }
            Ask::Reserve { call, id, ttl_us } => {
                with(self.call(call), json!({"op": "reserve", "id": format!("r{id}"), "ttl_us": ttl_us}))
            }
            Ask::Settle { call, id, actual } => {
                let actual = actual.units(self.limit(call));
                json!({"op": "settle", "key": key(call.key), "id": format!("r{id}"), "actual": actual})
            }
            Ask::Acquire { key: slot, holder, cost, limit, ttl_us } => {
                let cost = cost.map_or(json!({}), |cost| json!({"cost": cost}));
                let fields =
                    json!({"key": key(*slot), "holder": format!("h{holder}"), "limit": limit, "ttl_us": ttl_us});
                with(with(fields, json!({"op": "acquire"})), cost)
            }
            Ask::Release { key: slot, holder } => {
                json!({"op": "release", "key": key(*slot), "holder": format!("h{holder}")})
            }
            Ask::CheckAll(_) | Ask::Spoilt { .. } | Ask::Line(_) => unreachable!("{ask:?} is written as text"),
        };
        with(fields, json!({"t_us": u64::try_from(self.clock_us).expect("clamped")}))
    }

    fn call(&self, call: &Call) -> Value {
        let limit = self.limit(call);
        let mut fields = json!({"key": key(call.key), "algorithm": limit.algorithm, "limit": limit.limit});
        let said = [
            ("burst", limit.burst.map(Value::from)),
            ("cost", call.cost.as_ref().map(|cost| cost.units(limit).into())),
            ("keep", call.keep.as_ref().map(|keep| keep.units(limit).into())),
            ("force", call.force.map(Value::from)),
        ];
        for (name, value) in said.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            fields[name] = value;
        }
        with(fields, limit.window.field())
    }

    fn charged_at(&self, call: &Call, charged: &Charged) -> Value {
        let window_us = self.limit(call).window_us();
        let t_us = match charged {
            Charged::Unsaid => return json!({}),
            Charged::AtStep(index) => *index.get(&self.seen_us),
            Charged::Earlier { percent } => self.clock_us - share(window_us, *percent),
            Charged::Later { percent } => self.clock_us + share(window_us, *percent),
        };
        json!({"charged_at_us": u64::try_from(t_us.clamp(0, T_US_MAX)).expect("clamped")})
    }
}

impl Limit {
    fn window_us(&self) -> u64 {
        match self.window {
            Window::PeriodUs(period_us) => period_us,
            Window::Calendar(_) => MONTH_US,
        }
    }

    fn ceiling(&self) -> u64 {
        self.burst.unwrap_or(self.limit)
    }
}

impl Window {
    fn field(&self) -> Value {
        match self {
            Self::PeriodUs(period_us) => json!({"period_us": period_us}),
            Self::Calendar(name) => json!({"calendar": name}),
        }
    }
}

impl Amount {
    fn units(&self, limit: &Limit) -> u64 {
        match self {
            Self::Units(units) => *units,
            Self::Percent(percent) => (limit.ceiling() * percent / 100).min(UNITS_MAX),
        }
    }
}

fn key(number: u8) -> String {
    format!("k{number}")
}

fn share(window_us: u64, percent: u64) -> i128 {
    i128::from(window_us) * i128::from(percent) / 100
}

/// Both objects' fields in one.
fn with(mut fields: Value, more: Value) -> Value {
    let (Value::Object(into), Value::Object(more)) = (&mut fields, more) else { unreachable!("both are objects") };
    into.extend(more);
    fields
}

/// The object with one field more at its end; of a name said twice the last counts.
fn spoilt(object: &str, field: &str, value: &str) -> String {
    match object.strip_suffix('}') {
        Some(open) => format!(r#"{open},"{field}":{value}}}"#),
        None => object.to_owned(),
    }
}
