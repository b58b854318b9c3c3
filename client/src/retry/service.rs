//! [`Attempts`] as a policy of [`tower::retry`].

use http::{Request, Response, StatusCode};
use tokio::time::{Sleep, sleep};
use tower::retry::Policy;

use super::outcome::Outcome;
use super::policy::Attempts;
use crate::sys::clock;

/// Around any HTTP client that is a tower service, each request with attempts of its own:
///
/// ```no_run
/// # use http::{Request, Response};
/// # use tower::{Service, ServiceBuilder, ServiceExt, retry::RetryLayer};
/// # async fn example<C>(client: C) -> Result<(), C::Error>
/// # where C: Service<Request<String>, Response = Response<String>> + Clone {
/// use tallyring_client::retry::{RetryConfig, RetryPolicy};
///
/// let policy = RetryPolicy::new(RetryConfig::default());
/// let client = ServiceBuilder::new().layer(RetryLayer::new(policy.start())).service(client);
/// # let _ = client.oneshot(Request::new(String::new())).await?;
/// # Ok(()) }
/// ```
///
/// What the server refused (429, 503) it has not carried out, so it may be sent again. A request that failed otherwise is
/// repeated only if its method allows that (RFC 9110, 9.2.2): a `POST` that got no answer may have been carried out.
impl<B: Clone, R, E> Policy<Request<B>, Response<R>, E> for Attempts {
    type Future = Sleep;

    fn retry(&mut self, request: &mut Request<B>, result: &mut Result<Response<R>, E>) -> Option<Sleep> {
        let outcome = match result {
            Ok(response) => Outcome::of(response.status(), response.headers(), clock::wall()),
            Err(_) => Outcome::Failed,
        };
        let may_have_run = outcome == Outcome::Failed && !result.as_ref().is_ok_and(is_refusal);
        let outcome = if may_have_run && !request.method().is_idempotent() { Outcome::Final } else { outcome };
        self.next(outcome).map(sleep)
    }

    fn clone_request(&mut self, request: &Request<B>) -> Option<Request<B>> {
        Some(request.clone())
    }
}

fn is_refusal<R>(response: &Response<R>) -> bool {
    matches!(response.status(), StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE)
}
