//! What every response says about the decision: its headers.

use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, Response};
use tallyring_protocol::headers::{Budget, Policy, Told};
use tallyring_protocol::rules::Defaults;

use crate::decision::{Decision, RuleDecision};
use crate::sys::clock;

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

    /// Writes the headers of a response that comes from the service or from a layer behind this one, in place of those of
    /// the same names that are there.
    pub(super) fn announce<B>(self, response: &mut Response<B>) {
        let own = self.decision.without_held();
        let decision = match response.extensions_mut().remove::<Announced>() {
            Some(Announced(behind)) => own.and(&behind),
            None => own,
        };
        write(response.headers_mut(), &decision, self.at_us);
        response.extensions_mut().insert(Announced(decision));
    }
}

/// Whether a layer behind this one has refused the request.
pub(super) fn is_refused_further_in<B>(response: &Response<B>) -> bool {
    response.extensions().get::<Announced>().is_some_and(|Announced(behind)| !behind.allowed)
}

/// What holds for all rules, as it stood when the decision was made; `None` if no rule applies.
pub(super) fn defaults(decision: &Decision) -> Option<&Defaults> {
    decision.checks.first().map(|check| check.rule.rules().defaults())
}

fn write(headers: &mut HeaderMap, decision: &Decision, now_us: u64) {
    let Some(defaults) = defaults(decision) else { return };
    let budgets: Vec<Budget<'_>> = decision.checks.iter().filter_map(budget).collect();
    let speaker = decision.speaker().map(|speaker| speaker.rule.id());
    let speaker = budgets.iter().position(|budget| Some(budget.policy.name) == speaker);
    Told { budgets: &budgets, speaker, now_us }.write(&defaults.headers, |name, value| {
        let value = HeaderValue::try_from(value).expect("the writer writes printable ASCII");
        headers.insert(HeaderName::from_static(name.lower), value);
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
