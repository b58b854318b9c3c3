//! The response to a refused request: a problem for those who speak HTTP, a status for those who speak gRPC.

use std::time::Duration;

use http::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use http::request::Parts;
use http::{Response, StatusCode};
use tallyring_protocol::headers::retry_after_s;
use tallyring_protocol::problem::{PROBLEM_JSON, Problem};
use tallyring_protocol::rules::Action;

use super::answer::defaults;
use super::body::LimitedBody;
use crate::decision::{Decision, Source};
use crate::sys::random::SharedRandom;

const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");

/// When a gRPC client that retries may do so, in milliseconds; −1 = not at all (gRFC A6).
const GRPC_RETRY_PUSHBACK_MS: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");

/// What the sender of a request understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// A status, and a body that says more.
    Http,
    /// Status 200 and trailers, which a response without a body has among its headers. A gRPC client takes a plain 429
    /// for `UNAVAILABLE`, which many retry at once.
    Grpc,
}

impl Dialect {
    pub(super) fn of(request: &Parts) -> Dialect {
        let content_type = request.headers.get(CONTENT_TYPE).map_or(&[][..], HeaderValue::as_bytes);
        if content_type.starts_with(b"application/grpc") { Dialect::Grpc } else { Dialect::Http }
    }

    /// The response to a request that `decision` refuses, without the headers that every response has.
    pub(super) fn refusal<B>(self, decision: &Decision, random: &SharedRandom) -> Response<LimitedBody<B>> {
        let problem = problem(decision);
        let wait_s = wait_s(problem, decision, random);
        let mut response = match self {
            Dialect::Http => http_refusal(problem, decision),
            Dialect::Grpc => grpc_refusal(problem, wait_s),
        };
        if let Some(wait_s) = wait_s {
            response.headers_mut().insert(RETRY_AFTER, wait_s.into());
        }
        response
    }
}

fn http_refusal<B>(problem: Problem, decision: &Decision) -> Response<LimitedBody<B>> {
    let violated: Vec<&str> = decision.denied().map(|check| check.rule.id()).collect();
    let mut response = Response::new(LimitedBody::problem(problem.to_json(&violated)));
    *response.status_mut() = StatusCode::from_u16(problem.status()).expect("a problem's status is one");
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
    response
}

fn grpc_refusal<B>(problem: Problem, wait_s: Option<u64>) -> Response<LimitedBody<B>> {
    let mut response = Response::new(LimitedBody::empty());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert(GRPC_STATUS, problem.grpc_status().into());
    headers.insert(GRPC_MESSAGE, HeaderValue::from_static(problem.detail()));
    let pushback = wait_s.map_or(HeaderValue::from_static("-1"), |wait_s| wait_s.saturating_mul(1_000).into());
    headers.insert(GRPC_RETRY_PUSHBACK_MS, pushback);
    response
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

/// The seconds that a refused caller is told to wait, if that helps.
fn wait_s(problem: Problem, decision: &Decision, random: &SharedRandom) -> Option<u64> {
    let wait: Duration = match problem {
        Problem::QuotaExceeded | Problem::ReducedCapacity => decision.retry_after()?,
        Problem::NeverFits | Problem::Blocked => return None,
    };
    Some(retry_after_s(wait, defaults(decision)?.retry_jitter, |most| random.up_to(most)))
}
