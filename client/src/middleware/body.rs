//! The body of a response that has passed a limiter.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use crate::held::Held;

pin_project! {
    /// A service's body, or the problem that a refused request is answered with.
    ///
    /// Slots of rules that limit concurrency are held until it has ended, or is dropped because the client has gone.
    #[derive(Debug)]
    pub struct LimitedBody<B> {
        #[pin]
        body: Content<B>,
        held: Held,
    }
}

pin_project! {
    #[project = ContentProjection]
    #[derive(Debug)]
    enum Content<B> {
        Service { #[pin] body: B },
        Problem { problem: Option<Bytes> },
    }
}

impl<B> LimitedBody<B> {
    /// A body that nothing is held for.
    pub(super) fn free(body: B) -> LimitedBody<B> {
        LimitedBody::holding(body, Held::default())
    }

    /// A body until whose end slots are held.
    pub(super) fn holding(body: B, held: Held) -> LimitedBody<B> {
        LimitedBody { body: Content::Service { body }, held }
    }

    /// The problem of a refused request.
    pub(super) fn problem(problem: String) -> LimitedBody<B> {
        LimitedBody { body: Content::Problem { problem: Some(problem.into()) }, held: Held::default() }
    }

    /// A response that says everything in its headers.
    pub(super) fn empty() -> LimitedBody<B> {
        LimitedBody { body: Content::Problem { problem: None }, held: Held::default() }
    }
}

impl<B: Body<Data = Bytes>> Body for LimitedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.project();
        let polled = match this.body.project() {
            ContentProjection::Service { body } => body.poll_frame(cx),
            ContentProjection::Problem { problem } => Poll::Ready(problem.take().map(|bytes| Ok(Frame::data(bytes)))),
        };
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            *this.held = Held::default();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        match &self.body {
            Content::Service { body } => body.is_end_stream(),
            Content::Problem { problem } => problem.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.body {
            Content::Service { body } => body.size_hint(),
            Content::Problem { problem } => {
                SizeHint::with_exact(problem.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
        }
    }
}
