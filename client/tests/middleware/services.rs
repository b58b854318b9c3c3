//! Services that are not axum's.

use std::convert::Infallible;

use axum::http::{Request, Response};
use http_body::Body as _;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use tallyring_client::middleware::RateLimitLayer;
use tower::{Layer, ServiceExt, service_fn};

use crate::gateway::{TWO_AT_ONCE, limiter, nowhere, whose};

#[tokio::test(start_paused = true)]
async fn any_service_can_be_limited_whatever_its_bodies_are() {
    let backend = service_fn(|request: Request<&'static str>| async move {
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(*request.body()))))
    });
    let service = RateLimitLayer::new(limiter(&nowhere(), &[TWO_AT_ONCE]), whose).layer(backend);
    for status in [200, 200, 429] {
        let request = Request::builder().header("x-api-key", "k").body("ping").unwrap();
        let response = service.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status().as_u16(), status);
        let said = response.body().size_hint().exact().unwrap();
        assert!(!response.body().is_end_stream());
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body.len() as u64, said);
        assert_eq!(body == "ping", status == 200);
    }
}
