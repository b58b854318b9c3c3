//! A limiter in front of any tower service: axum, hyper, tonic.
//!
//! ```text
//!  request ─► preflight? ─► identify ─► RateLimiter::check ─► (hold) ─► service ─► headers ─► body, slots held ─► end
//!                 └ passes                     └ refused: 429, 503 or 403, with headers and a problem
//! ```
//!
//! A request is counted once, when it arrives, however long its body or its response streams, and whatever it is upgraded
//! to. Every response says what is left, in the families that the rules name; the writer is
//! [`tallyring_protocol::headers`]. What the rules decided travels with the request as an extension: a [`Level`] for an
//! application that degrades before it refuses, and the whole [`Decision`].
//!
//! | what refused | status | to a gRPC client | `Retry-After` |
//! |---|---|---|---|
//! | a limit | 429 | `RESOURCE_EXHAUSTED` | the longest wait, jittered |
//! | a limit that the request can never fit | 429 | `RESOURCE_EXHAUSTED` | none: waiting does not help |
//! | a rule whose mode is to deny while the store is gone | 503: the client has done nothing wrong | `UNAVAILABLE` | a second, jittered |
//! | a rule that blocks | 403 | `PERMISSION_DENIED` | none |
//!
//! A slot of a rule that limits concurrency is held until the response's body has ended. A connection that is upgraded
//! outlives its response: whoever serves it keeps a clone of [`Decision::held`] as long as it lasts.
//!
//! Not here: which rules apply and what they decide ([`RateLimiter`]).

mod answer;
mod body;
mod forwarded;
mod identity;
mod refusal;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::ACCESS_CONTROL_REQUEST_METHOD;
use http::request::Parts;
use http::{Method, Request, Response};
use http_body::Body;
use tallyring_protocol::rules::Subject;
use tower::{Layer, Service};

use self::answer::{Verdict, is_refused_further_in};
pub use self::body::LimitedBody;
use self::forwarded::client_address;
pub use self::identity::{Identity, bearer_digest, header};
use self::refusal::Dialect;
use crate::decision::{Decision, Level};
use crate::limiter::{Call, GroupFilter, RateLimiter};
use crate::sys::random::SharedRandom;

/// Puts a limiter in front of a service.
///
/// ```no_run
/// # async fn example(limiter: tallyring_client::RateLimiter) -> std::io::Result<()> {
/// use axum::{Router, http::request::Parts, routing::get};
/// use tallyring_client::middleware::{Identity, RateLimitLayer, header};
///
/// fn whose(request: &Parts) -> Identity<'_> {
///     Identity { client: header(request, "x-api-key"), ..Identity::default() }
/// }
///
/// let app: Router = Router::new().route("/", get(|| async { "hello" })).layer(RateLimitLayer::new(limiter, whose));
/// # Ok(()) }
/// ```
///
/// Two layers may share a limiter: one for the rules that need no authentication, before it, and one for the others,
/// behind it. The responses then say what both decided; a request that the second refuses gets back what the first took.
///
/// ```no_run
/// # use axum::{Router, http::request::Parts};
/// # use tallyring_client::{RateLimiter, middleware::{Identity, RateLimitLayer}};
/// # fn example(app: Router, limiter: RateLimiter, peer: fn(&Parts) -> Identity<'_>, account: fn(&Parts) -> Identity<'_>) -> Router {
/// app.layer(RateLimitLayer::new(limiter.clone(), account).without_groups(["ip"]))
///     // .layer(authentication)
///     .layer(RateLimitLayer::new(limiter, peer).groups(["ip"])) // the layer that is added last comes first
/// # }
/// ```
#[derive(Debug)]
pub struct RateLimitLayer<F> {
    limiter: RateLimiter,
    identify: Arc<F>,
    groups: GroupFilter,
    preflights: Preflights,
    leaky: Leaky,
}

/// What becomes of a browser's question whether a request would be welcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Preflights {
    Pass,
    Count,
}

/// What becomes of the delay that a leaky bucket asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaky {
    Tell,
    Hold,
}

impl<F> RateLimitLayer<F>
where
    F: for<'r> Fn(&'r Parts) -> Identity<'r>,
{
    /// Limits every request by the rules that apply to whom `identify` finds.
    pub fn new(limiter: RateLimiter, identify: F) -> RateLimitLayer<F> {
        let (groups, preflights, leaky) = (GroupFilter::All, Preflights::Pass, Leaky::Tell);
        RateLimitLayer { limiter, identify: Arc::new(identify), groups, preflights, leaky }
    }

    /// Asks the rules of these groups alone.
    #[must_use]
    pub fn groups<S: Into<String>>(self, groups: impl IntoIterator<Item = S>) -> RateLimitLayer<F> {
        RateLimitLayer { groups: GroupFilter::only(groups), ..self }
    }

    /// Asks the rules of all groups but these.
    #[must_use]
    pub fn without_groups<S: Into<String>>(self, groups: impl IntoIterator<Item = S>) -> RateLimitLayer<F> {
        RateLimitLayer { groups: GroupFilter::without(groups), ..self }
    }

    /// Counts CORS preflights too: `OPTIONS` with an `Access-Control-Request-Method`. Without this they pass, uncounted
    /// and without headers, since a browser sends them on its own and cannot wait.
    #[must_use]
    pub fn counting_preflights(self) -> RateLimitLayer<F> {
        RateLimitLayer { preflights: Preflights::Count, ..self }
    }

    /// Holds each request as long as its leaky buckets ask for, so that what reaches the service keeps their rate.
    /// Without this the delay is only told: [`Decision::delay`], in the request's extensions.
    #[must_use]
    pub fn holding(self) -> RateLimitLayer<F> {
        RateLimitLayer { leaky: Leaky::Hold, ..self }
    }
}

impl<F> Clone for RateLimitLayer<F> {
    fn clone(&self) -> RateLimitLayer<F> {
        let RateLimitLayer { limiter, identify, groups, preflights, leaky } = self;
        let (limiter, identify, groups) = (limiter.clone(), Arc::clone(identify), groups.clone());
        RateLimitLayer { limiter, identify, groups, preflights: *preflights, leaky: *leaky }
    }
}

impl<S, F> Layer<S> for RateLimitLayer<F> {
    type Service = RateLimited<S, F>;

    fn layer(&self, inner: S) -> RateLimited<S, F> {
        let (layer, random) = (self.clone(), SharedRandom::from_os());
        RateLimited { inner, gate: Arc::new(Gate { layer, random, has_warned: AtomicBool::new(false) }) }
    }
}

/// A service behind a limiter: made by [`RateLimitLayer`].
#[derive(Debug)]
pub struct RateLimited<S, F> {
    inner: S,
    gate: Arc<Gate<F>>,
}

/// What the clones of a limited service share.
#[derive(Debug)]
struct Gate<F> {
    layer: RateLimitLayer<F>,
    random: SharedRandom,
    has_warned: AtomicBool,
}

impl<S: Clone, F> Clone for RateLimited<S, F> {
    fn clone(&self) -> RateLimited<S, F> {
        RateLimited { inner: self.inner.clone(), gate: Arc::clone(&self.gate) }
    }
}

/// What a limited service returns.
type Answer<R, E> = Pin<Box<dyn Future<Output = Result<Response<LimitedBody<R>>, E>> + Send>>;

impl<S, F, B, R> Service<Request<B>> for RateLimited<S, F>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    F: for<'r> Fn(&'r Parts) -> Identity<'r> + Send + Sync + 'static,
    B: Send + 'static,
    R: Body<Data = Bytes> + Send,
{
    type Response = Response<LimitedBody<R>>;
    type Error = S::Error;
    type Future = Answer<R, S::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // The clone that stays behind is not ready yet; the one that was polled ready is the one to call.
        let waiting = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, waiting);
        let gate = Arc::clone(&self.gate);
        Box::pin(async move {
            if gate.passes(&request) {
                return Ok(inner.call(request).await?.map(LimitedBody::free));
            }
            let (mut parts, body) = request.into_parts();
            let verdict = gate.decide(&parts).await;
            if !verdict.decision.allowed {
                let mut response = Dialect::of(&parts).refusal(&verdict.decision, &gate.random);
                verdict.announce(&mut response);
                return Ok(response);
            }
            gate.hold(&verdict.decision).await;
            tell(&mut parts, &verdict.decision);
            let mut response = inner.call(Request::from_parts(parts, body)).await?;
            let held = verdict.decision.held().clone();
            let verdict = if is_refused_further_in(&response) { gate.give_back(verdict).await } else { verdict };
            verdict.announce(&mut response);
            Ok(response.map(|body| LimitedBody::holding(body, held)))
        })
    }
}

impl<F> Gate<F>
where
    F: for<'r> Fn(&'r Parts) -> Identity<'r>,
{
    /// Whether a request is none of the limiter's business.
    fn passes<B>(&self, request: &Request<B>) -> bool {
        self.layer.preflights == Preflights::Pass
            && request.method() == Method::OPTIONS
            && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD)
    }

    /// Asks the rules. What `identify` borrowed is not needed any more once this has returned its future.
    fn decide(&self, request: &Parts) -> impl Future<Output = Verdict> + Send + use<'_, F> {
        let RateLimitLayer { limiter, identify, groups, .. } = &self.layer;
        let identity = identify(request);
        let rules = limiter.rules();
        let trusted = &rules.defaults().trusted_proxies;
        let subject = Subject {
            client: identity.client.as_deref(),
            tenant: identity.tenant.as_deref(),
            tier: identity.tier.as_deref(),
            ip: identity.peer.map(|peer| client_address(&request.headers, peer, trusted)),
            method: request.method.as_str(),
            path: request.uri.path(),
            headers: &identity::Headers(&request.headers),
            attributes: &identity.attributes,
        };
        if identity.peer.is_none() {
            self.warn_once();
        }
        let call = Call { subject, cost: identity.cost, priority: identity.priority.as_deref() };
        let deciding = limiter.check_groups(&call, groups);
        async move { Verdict::now(deciding.await) }
    }

    /// Gives back what a request has taken here that a layer further in has refused: refused by one, charged by none.
    async fn give_back(&self, verdict: Verdict) -> Verdict {
        self.layer.limiter.refund(&verdict.decision).await;
        verdict.given_back()
    }

    /// Waits as long as the leaky buckets ask for, if it is for this layer to do.
    async fn hold(&self, decision: &Decision) {
        let delay = decision.delay();
        if self.layer.leaky == Leaky::Hold && !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
    }

    /// A rule by address that silently limits nobody is a trap: somebody has forgotten to say where the peer is.
    fn warn_once(&self) {
        if !self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!("a request has no peer address: rules by ip do not apply to it");
        }
    }
}

/// Lets the application know what was decided, by all layers that the request has passed.
fn tell(request: &mut Parts, decision: &Decision) {
    let before = request.extensions.remove::<Decision>();
    let decision = before.map_or_else(|| decision.clone(), |before| before.and(decision));
    request.extensions.insert::<Level>(decision.level);
    request.extensions.insert(decision);
}
