//! A stream whose peer has to read what it is told, and gets the time to.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tallyring_protocol::bounds::RULES_BYTES_MAX;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// How long a peer may take to read an answer, from the first byte that it would not take to the last.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// How long, and how much, is read from a peer behind its last answer: closing a socket with unread bytes resets it, and a
/// reset overtakes what was said last, such as that a body is too large.
const LINGER_TIMEOUT: Duration = Duration::from_secs(2);
const LINGER_BYTES_MAX: usize = 2 * RULES_BYTES_MAX;

/// Bytes that are thrown away at once.
const CHUNK_BYTES: usize = 4 * 1_024;

/// The stream. Reading is bounded elsewhere, by what is read.
pub(super) struct Patient<S> {
    stream: S,
    /// The end of patience, while the peer has something to read.
    end: Option<Pin<Box<Sleep>>>,
    /// Once our side is closed: how long the peer is still listened to, and how many bytes.
    lingering: Option<(Pin<Box<Sleep>>, usize)>,
}

impl<S: Unpin> Patient<S> {
    pub(super) fn new(stream: S) -> Patient<S> {
        Patient { stream, end: None, lingering: None }
    }

    /// What the stream is ready with, or the end of patience.
    fn or_end<T>(&mut self, cx: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if polled.is_pending() {
            let end = self.end.get_or_insert_with(|| Box::pin(sleep(ANSWER_TIMEOUT)));
            ready!(end.as_mut().poll(cx));
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        polled
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.or_end(cx, polled)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(cx);
        if polled.is_ready() {
            self.end = None; // a flush comes behind the last byte there is
        }
        self.or_end(cx, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.lingering.is_none() {
            let polled = Pin::new(&mut self.stream).poll_shutdown(cx);
            ready!(self.or_end(cx, polled))?;
            self.lingering = Some((Box::pin(sleep(LINGER_TIMEOUT)), LINGER_BYTES_MAX));
        }
        self.poll_linger(cx).map(Ok)
    }
}

impl<S: AsyncRead + Unpin> Patient<S> {
    /// Throws away what the peer still sends, until it closes its side or has had its time.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some((end, left)) = &mut self.lingering else { return Poll::Ready(()) };
        let mut chunk = [0; CHUNK_BYTES];
        while *left > 0 {
            let mut chunk = ReadBuf::new(&mut chunk);
            match Pin::new(&mut self.stream).poll_read(cx, &mut chunk) {
                Poll::Ready(Ok(())) if !chunk.filled().is_empty() => *left = left.saturating_sub(chunk.filled().len()),
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return end.as_mut().poll(cx),
            }
        }
        Poll::Ready(())
    }
}
