//! A limiter in front of any tower service: axum, hyper, tonic.
//!
//! A request is counted once, when it arrives, however long its body or its response streams. Every response says what
//! is left; a refused one is 429 with a problem (RFC 9457). When the limiter's mode is to deny and the store is gone,
//! the answer is 503: the client has done nothing wrong.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode};
use serde_json::json;
use tower::{Layer, Service};

pub use crate::address::{AddressKey, Either, HeaderKey, KeyExtractor, Network, NetworkError, client_address};
use crate::decision::Source;
pub use crate::headers::HeaderFamily;
use crate::headers::{self, Policy};
use crate::limiter::{Call, RateLimiter};
use crate::{RuleDecision, Subject};

/// The problem of a client that has used up its quota, in IANA's registry of problem types.
const QUOTA_EXCEEDED: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";

/// The problem of a server that can do less than usual, in the same registry.
const REDUCED_CAPACITY: &str = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";

/// Puts a limiter in front of a service.
///
/// ```no_run
/// # async fn example(limiter: tallyring_client::RateLimiter) -> std::io::Result<()> {
/// use axum::{Router, routing::get};
/// use tallyring_client::middleware::{HeaderKey, RateLimitLayer};
///
/// let layer = RateLimitLayer::new(limiter, HeaderKey::AUTHORIZATION);
/// let app: Router = Router::new().route("/", get(|| async { "hello" })).layer(layer);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct RateLimitLayer<K> {
    shared: Arc<Shared<K>>,
}

#[derive(Debug)]
struct Shared<K> {
    limiter: RateLimiter,
    extractor: K,
    families: Vec<HeaderFamily>,
    has_warned: AtomicBool,
}

impl<K: KeyExtractor> RateLimitLayer<K> {
    /// Limits every request by the key that `extractor` finds, and sends every header family.
    pub fn new(limiter: RateLimiter, extractor: K) -> RateLimitLayer<K> {
        RateLimitLayer::with_headers(limiter, extractor, &HeaderFamily::ALL)
    }

    /// As [`RateLimitLayer::new`], but sends these families only.
    pub fn with_headers(limiter: RateLimiter, extractor: K, families: &[HeaderFamily]) -> RateLimitLayer<K> {
        let (families, has_warned) = (families.to_vec(), AtomicBool::new(false));
        RateLimitLayer { shared: Arc::new(Shared { limiter, extractor, families, has_warned }) }
    }
}

impl<K> Clone for RateLimitLayer<K> {
    fn clone(&self) -> RateLimitLayer<K> {
        RateLimitLayer { shared: Arc::clone(&self.shared) }
    }
}

impl<S, K> Layer<S> for RateLimitLayer<K> {
    type Service = RateLimited<S, K>;

    fn layer(&self, inner: S) -> RateLimited<S, K> {
        RateLimited { inner, shared: Arc::clone(&self.shared) }
    }
}

/// A service behind a limiter: made by [`RateLimitLayer`].
#[derive(Debug)]
pub struct RateLimited<S, K> {
    inner: S,
    shared: Arc<Shared<K>>,
}

impl<S: Clone, K> Clone for RateLimited<S, K> {
    fn clone(&self) -> RateLimited<S, K> {
        RateLimited { inner: self.inner.clone(), shared: Arc::clone(&self.shared) }
    }
}

/// What a limited service returns.
type Answer<R, E> = Pin<Box<dyn Future<Output = Result<Response<R>, E>> + Send>>;

impl<S, K, B, R> Service<Request<B>> for RateLimited<S, K>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    K: KeyExtractor + Send + Sync + 'static,
    B: Send + 'static,
    R: From<Bytes>,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Answer<R, S::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // The clone that stays behind is not ready yet; the one that was polled ready is the one to call.
        let waiting = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, waiting);
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let Some(key) = shared.extractor.key(&parts) else {
                shared.warn_once();
                return inner.call(Request::from_parts(parts, body)).await;
            };
            let client = String::from_utf8_lossy(key.as_ref().tag()).into_owned();
            let subject = Subject { client: Some(&client), ..Subject::new(parts.method.as_str(), parts.uri.path()) };
            let deciding = shared.limiter.check(&Call::new(subject));
            let decision = deciding.await;
            let Some(speaker) = decision.speaker() else {
                return inner.call(Request::from_parts(parts, body)).await;
            };
            let mut response =
                if decision.allowed { inner.call(Request::from_parts(parts, body)).await? } else { refusal(speaker) };
            let policy = Policy::new(speaker.rule.id(), speaker.rule.limited().limit());
            headers::write(response.headers_mut(), &policy, &speaker.into(), &shared.families);
            Ok(response)
        })
    }
}

impl<K> Shared<K> {
    /// A limiter that silently limits nothing is a trap: somebody has forgotten to say where the key is.
    fn warn_once(&self) {
        if !self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!("a request has no key and is not limited");
        }
    }
}

/// The response to a refused request, without the headers that every response has.
fn refusal<R: From<Bytes>>(decision: &RuleDecision) -> Response<R> {
    let (status, problem) = match decision.source {
        _ if decision.source != Source::Mode => {
            (StatusCode::TOO_MANY_REQUESTS, quota_exceeded(decision.rule.id(), decision))
        }
        _ => (StatusCode::SERVICE_UNAVAILABLE, reduced_capacity()),
    };
    let mut response = Response::new(R::from(Bytes::from(problem.to_string())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    response
}

fn quota_exceeded(policy: &str, decision: &RuleDecision) -> serde_json::Value {
    let detail = match decision.retry_after {
        Some(_) => "Wait as long as Retry-After says, then try again.",
        None => "This request asks for more than the quota can ever give: waiting does not help.",
    };
    json!({
        "type": QUOTA_EXCEEDED,
        "title": "Request cannot be satisfied as assigned quota has been exceeded",
        "status": 429,
        "detail": detail,
        "violated-policies": [policy],
    })
}

fn reduced_capacity() -> serde_json::Value {
    json!({
        "type": REDUCED_CAPACITY,
        "title": "Request cannot be satisfied due to temporary server capacity constraints",
        "status": 503,
        "detail": "The quota cannot be looked up at the moment. Try again after Retry-After.",
    })
}
