//! What gateways ask again and again. It does not go through the router: its layers would cost as much as the answer.

use std::error::Error;
use std::sync::Arc;

use axum::body::{Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::{Method, Request as RequestOf};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, post};

use super::problem::Problem;
use super::{HttpDoor, body, check, limit, settle};

/// A question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// May this request pass?
    Check,
    /// This is what it used.
    Settle,
    /// One operation on explicit numbers.
    Limit,
}

impl Asked {
    /// All of them.
    pub(super) const ALL: [Asked; 3] = [Asked::Check, Asked::Settle, Asked::Limit];

    /// Where it is asked.
    pub(super) fn path(self) -> &'static str {
        match self {
            Asked::Check => "/v1/check",
            Asked::Settle => "/v1/settle",
            Asked::Limit => "/v1/limit",
        }
    }

    /// Which one a request is, if it is any.
    pub(super) fn of<B>(request: &RequestOf<B>) -> Option<Asked> {
        let is_asked = |asked: &Asked| request.uri().path() == asked.path();
        Asked::ALL.into_iter().find(is_asked).filter(|_| request.method() == Method::POST)
    }

    /// The same for the router, which knows what else might have been meant.
    pub(super) fn route(self) -> MethodRouter<Arc<HttpDoor>> {
        post(async move |State(door): State<Arc<HttpDoor>>, request: Request| door.reply(self, request).await)
    }
}

impl HttpDoor {
    /// Answers a question of somebody who may ask.
    pub(super) async fn reply<B>(&self, asked: Asked, request: RequestOf<B>) -> Response
    where
        B: HttpBody<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>>,
    {
        self.decide(asked, request).await.unwrap_or_else(Problem::into_response)
    }

    async fn decide<B>(&self, asked: Asked, request: RequestOf<B>) -> Result<Response, Problem>
    where
        B: HttpBody<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>>,
    {
        let (head, body) = request.into_parts();
        self.role_of(&head.headers)?;
        let body = body::read(&head.headers, body).await?;
        match asked {
            Asked::Check => check::check(self, &body).await,
            Asked::Settle => settle::settle(self, &body).await,
            Asked::Limit => limit::limit(self, &body).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(method: Method, target: &str, expect: Option<Asked>) {
        let request = RequestOf::builder().method(method).uri(target).body(()).unwrap();
        assert_eq!(Asked::of(&request), expect, "{target}");
    }

    #[test]
    fn a_question_is_known_by_its_path_alone_and_posted() {
        for asked in Asked::ALL {
            check(Method::POST, asked.path(), Some(asked));
            check(Method::POST, &format!("http://localhost:4171{}?pretty", asked.path()), Some(asked));
            check(Method::GET, asked.path(), None);
            check(Method::POST, &format!("{}/", asked.path()), None);
        }
        check(Method::POST, "/v1/rules", None);
    }
}
