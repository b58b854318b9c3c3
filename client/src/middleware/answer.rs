//! What a response says about the decision: its headers, and for a refused request all of it.

use std::time::Duration;

use http::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use http::{HeaderMap, Response, StatusCode};
use tallyring_protocol::headers::{Budget, Policy, Told, retry_after_s};
use tallyring_protocol::problem::{PROBLEM_JSON, Problem};
use tallyring_protocol::rules::{Action, Defaults};

use super::body::LimitedBody;
use crate::decision::{Decision, RuleDecision, Source};
use crate::sys::clock;
use crate::sys::random::SharedRandom;

/// A decision, and when it was made.
#[derive(Clone, Debug)]
pub(super) struct Verdict {
    pub(super) decision: Decision,
    /// Microseconds since the Unix epoch.
    at_us: u64,
}

/// What a layer further in has said, for one further out to add to: the headers of a response are one whole.
#[derive(Clone, Debug)]
struct Announced(Decision);

impl Verdict {
    pub(super) fn now(decision: Decision) -> Verdict {
        Verdict { decision, at_us: clock::wall_us() }
    }

    /// The same, after what it charged was given back.
    pub(super) fn given_back(self) -> Verdict {
        Verdict { decision: self.decision.given_back(), ..self }
    }

    /// Writes the headers of a response that comes from the service, or from a layer behind this one.
    pub(super) fn announce<B>(self, response: &mut Response<B>) {
        let behind = response.extensions_mut().remove::<Announced>();
        let own = self.decision.without_held();
        let decision = behind.map_or_else(|| own.clone(), |Announced(behind)| own.and(&behind));
        write(response.headers_mut(), &decision, self.at_us);
        response.extensions_mut().insert(Announced(decision));
    }

    /// The response to a refused request.
    pub(super) fn refusal<B>(self, random: &SharedRandom) -> Response<LimitedBody<B>> {
        let problem = problem(&self.decision);
        let violated: Vec<&str> = self.decision.denied().map(|check| check.rule.id()).collect();
        let mut response = Response::new(LimitedBody::problem(problem.to_json(&violated)));
        *response.status_mut() = StatusCode::from_u16(problem.status()).expect("a problem's status is one");
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        if let (Some(wait), Some(defaults)) = (wait(problem, &self.decision), defaults(&self.decision)) {
            let seconds = retry_after_s(wait, defaults.retry_jitter, |most| random.up_to(most));
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        self.announce(&mut response);
        response
    }
}

/// Whether a layer behind this one has refused the request.
pub(super) fn is_refused_further_in<B>(response: &Response<B>) -> bool {
    response.extensions().get::<Announced>().is_some_and(|Announced(behind)| !behind.allowed)
}

/// How long a refused caller is to wait, if that helps.
fn wait(problem: Problem, decision: &Decision) -> Option<Duration> {
    match problem {
        Problem::QuotaExceeded | Problem::ReducedCapacity => decision.retry_after(),
        Problem::NeverFits | Problem::Blocked => None,
    }
}

fn problem(decision: &Decision) -> Problem {
    if decision.denied().any(|check| check.rule.action() == Action::Block) {
        Problem::Blocked
    } else if decision.denied().all(|check| check.source == Source::Mode) {
        Problem::ReducedCapacity
    } else if decision.retry_after().is_none() {
        Problem::NeverFits
    } else {
        Problem::QuotaExceeded
    }
}

/// What holds for all rules, as it stood when the decision was made; `None` if no rule applies.
fn defaults(decision: &Decision) -> Option<&Defaults> {
    decision.checks.first().map(|check| check.rule.rules().defaults())
}

fn write(headers: &mut HeaderMap, decision: &Decision, now_us: u64) {
    let Some(defaults) = defaults(decision) else { return };
    let budgets: Vec<Budget<'_>> = decision.checks.iter().filter_map(budget).collect();
    let speaker = decision.speaker().map(|speaker| speaker.rule.id());
    let speaker = budgets.iter().position(|budget| Some(budget.policy.name) == speaker);
    Told { budgets: &budgets, speaker, now_us }.write(&defaults.headers, |name, value| {
        let value = HeaderValue::try_from(value).expect("the writer writes printable ASCII");
        headers.insert(HeaderName::from_static(name), value);
    });
}

/// Where a rule that counts stands.
fn budget(check: &RuleDecision) -> Option<Budget<'_>> {
    let more_after = if check.allowed { Some(check.reset_after) } else { check.retry_after };
    Some(Budget {
        policy: Policy::of(&check.rule)?,
        limit: check.limit,
        remaining: check.remaining,
        more_after,
        reset_after: check.reset_after,
    })
}
