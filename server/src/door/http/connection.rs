//! An HTTP connection: one request after the other, each of bounded size and in bounded time, for as long as the peer
//! asks for something.
//!
//! | what | bound |
//! |---|---|
//! | silence, and the head of a request behind it | [`HEAD_TIMEOUT`], [`HEAD_BYTES_MAX`] |
//! | the body | `body::BODY_TIMEOUT`, and its bytes |
//! | what a handler does | by what it asks: shards and the disk have times of their own |
//! | the reading of the answer | `patient::ANSWER_TIMEOUT` |
//!
//! So a peer that sends its head a byte a minute holds a place for a minute; and whoever holds one for nothing makes room
//! for those who come (`entrance`).

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::coop;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use super::caller::Peer;
use super::patient::Patient;
use crate::entrance::{Host, Place, Visitor};
use crate::sys::net::Stream;

/// How long a peer may be silent between two requests, the head of the second included.
pub(super) const HEAD_TIMEOUT: Duration = Duration::from_secs(60);

/// Bytes of a request's head; one with more is answered 431.
const HEAD_BYTES_MAX: usize = 16 * 1_024;

/// Fields of a request's head; one with more is answered 431.
const HEADERS_MAX: usize = 64;

/// How long a draining node goes on with the request that a connection is at.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// What one request may use of what a task may do in a turn, of which tokio gives it 128 units: whoever sends a hundred
/// requests at once has them answered in turn with other people's.
const UNITS_PER_REQUEST: usize = 16;

/// Who answers requests.
pub(super) trait Answer: 'static {
    /// Answers one.
    fn answer(&self, request: Request<Incoming>, peer: Peer) -> impl Future<Output = Response<Body>>;
}

impl Answer for Router {
    async fn answer(&self, mut request: Request<Incoming>, peer: Peer) -> Response<Body> {
        request.extensions_mut().insert(peer);
        let Ok(answer) = self.clone().oneshot(request).await;
        answer
    }
}

/// Those who serve HTTP connections.
pub(super) struct Hall<A> {
    pub(super) desk: A,
    /// Requests that are being answered: the shards wait for them before they end.
    pub(super) answering: Arc<AtomicUsize>,
    pub(super) draining: CancellationToken,
    pub(super) connections: TaskTracker,
}

impl<A: Answer> Host for Hall<A> {
    async fn receive(&self, Visitor { stream, place }: Visitor, peer: SocketAddr) {
        self.connections.track_future(self.serve(stream, place, Peer(peer))).await;
    }

    /// Nobody is: whoever is idle makes room.
    async fn turn_away(&self, stream: Stream) {
        drop(stream);
    }
}

impl<A: Answer> Hall<A> {
    /// Answers one request after the other.
    async fn serve(&self, io: impl AsyncRead + AsyncWrite + Unpin, place: Place, peer: Peer) {
        let answer = service_fn(|request| self.answer(request, &place, peer));
        let served = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .max_buf_size(HEAD_BYTES_MAX)
            .max_headers(HEADERS_MAX)
            // Who has closed their side may still read what they asked for.
            .half_close(true)
            .serve_connection(TokioIo::new(Patient::new(io)), answer);
        let mut served = pin!(served);
        // An error here is the peer's: it was told, if it could be.
        tokio::select! {
            biased;
            () = place.ousted() => {}
            () = self.draining.cancelled() => {
                served.as_mut().graceful_shutdown();
                let _ = timeout(DRAIN_TIMEOUT, served).await;
            }
            _ = served.as_mut() => {}
        }
    }

    async fn answer(
        &self,
        request: Request<Incoming>,
        place: &Place,
        peer: Peer,
    ) -> Result<Response<Body>, Infallible> {
        let _one_more = OneMore::of(&self.answering);
        place.show();
        for _ in 0..UNITS_PER_REQUEST {
            coop::consume_budget().await;
        }
        let answer = self.desk.answer(request, peer).await;
        place.show();
        Ok(answer)
    }
}

/// Counted in a number while it lives.
struct OneMore<'a>(&'a AtomicUsize);

impl OneMore<'_> {
    fn of(count: &AtomicUsize) -> OneMore<'_> {
        count.fetch_add(1, Ordering::AcqRel);
        OneMore(count)
    }
}

impl Drop for OneMore<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use axum::http::HeaderMap;
    use axum::routing::{get, post};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
    use tokio::task::{JoinHandle, LocalSet};
    use tokio::time::{Instant, sleep};

    use super::super::body;
    use super::*;
    use crate::entrance::{Crowd, CrowdBounds, WhenFull};
    use crate::observe::door::{Door, DoorTally};

    const SECOND: Duration = Duration::from_secs(1);

    /// Bytes that are on their way at most: what a peer does not read stays where it is.
    const WIRE_BYTES: usize = 1_024;

    fn hall() -> Hall<Router> {
        let desk = Router::new()
            .route("/small", get(async || "yes"))
            .route("/large", get(async || "x".repeat(100 * WIRE_BYTES)))
            .route(
                "/count",
                post(async |headers: HeaderMap, sent: Body| {
                    body::read(&headers, sent).await.map(|bytes| bytes.len().to_string())
                }),
            );
        let (answering, draining, connections) = Default::default();
        Hall { desk, answering, draining, connections }
    }

    fn crowd() -> Arc<Crowd> {
        let tally = Arc::new(DoorTally::new(Door::Http));
        let bounds = CrowdBounds { total_max: 9, per_address_max: 9 };
        Arc::new(Crowd::new(bounds, WhenFull::OustIdlest, tally))
    }

    /// A connection whose peer is the test.
    struct Served {
        hall: Arc<Hall<Router>>,
        stream: DuplexStream,
        task: JoinHandle<()>,
    }

    impl Served {
        fn start() -> Served {
            let place = crowd().enter([127, 0, 0, 1].into()).unwrap();
            let (stream, theirs) = duplex(WIRE_BYTES);
            let (hall, peer) = (Arc::new(hall()), Peer(([127, 0, 0, 1], 9).into()));
            let host = Arc::clone(&hall);
            let task = tokio::task::spawn_local(async move { host.serve(theirs, place, peer).await });
            Served { hall, stream, task }
        }

        async fn say(&mut self, text: &str) {
            self.stream.write_all(text.as_bytes()).await.unwrap();
        }

        /// Reads an answer that ends with `end`.
        async fn hear(&mut self, end: &str) -> String {
            let mut heard = String::new();
            while !heard.ends_with(end) {
                let mut chunk = [0; 256];
                let len = self.stream.read(&mut chunk).await.unwrap();
                assert!(len > 0, "closed behind {heard:?}");
                heard.push_str(std::str::from_utf8(&chunk[..len]).unwrap());
            }
            heard
        }

        /// Reads until the connection is closed.
        async fn rest(&mut self) -> String {
            let mut rest = String::new();
            self.stream.read_to_string(&mut rest).await.unwrap();
            rest
        }
    }

    /// Plays on a clock that jumps to whatever is waited for.
    async fn play(with: impl AsyncFnOnce(Served)) {
        LocalSet::new().run_until(async { with(Served::start()).await }).await;
    }

    const SMALL: &str = "GET /small HTTP/1.1\r\nHost: x\r\n\r\n";

    #[tokio::test(start_paused = true)]
    async fn a_busy_connection_lives_for_hours() {
        play(async |mut served| {
            for _ in 0..200 {
                served.say(SMALL).await;
                assert!(served.hear("yes").await.starts_with("HTTP/1.1 200 "));
                sleep(HEAD_TIMEOUT - SECOND).await;
            }
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_asks_for_nothing_ends() {
        play(async |mut served| {
            let began = Instant::now();
            served.say(SMALL).await;
            served.hear("yes").await;
            assert_eq!(served.rest().await, "");
            assert_eq!(began.elapsed().as_secs(), HEAD_TIMEOUT.as_secs());
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_trickles_does_not_win_time() {
        play(async |mut served| {
            let began = Instant::now();
            let trickle = async {
                for byte in SMALL.bytes().cycle().take(10_000) {
                    sleep(10 * SECOND).await;
                    if served.stream.write_all(&[byte]).await.is_err() {
                        return;
                    }
                }
            };
            trickle.await;
            served.task.await.unwrap();
            assert!(began.elapsed() < HEAD_TIMEOUT + 20 * SECOND);
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_trickles_is_told_so_and_ends() {
        play(async |mut served| {
            let began = Instant::now();
            served.say("POST /count HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n").await;
            let (mut reading, mut writing) = tokio::io::split(served.stream);
            let trickle = tokio::task::spawn_local(async move {
                while writing.write_all(b" ").await.is_ok() {
                    sleep(SECOND).await;
                }
            });
            let mut answer = String::new();
            reading.read_to_string(&mut answer).await.unwrap();
            assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
            assert!(answer.contains("connection: close\r\n"), "{answer}");
            assert!(began.elapsed() < body::BODY_TIMEOUT + 2 * SECOND);
            trickle.abort();
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_is_too_large_is_told_so_while_it_is_sent() {
        play(async |mut served| {
            served.say("POST /count HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n").await;
            served.say(&"x".repeat(1_000_000)).await;
            let answer = served.rest().await;
            assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_does_not_read_its_answer_is_cut_off() {
        play(async |mut served| {
            let began = Instant::now();
            served.say("GET /large HTTP/1.1\r\nHost: x\r\n\r\n").await;
            served.task.await.unwrap();
            assert_eq!(began.elapsed().as_secs(), super::super::patient::ANSWER_TIMEOUT.as_secs());
        })
        .await;
    }

    /// A desk that writes down who asks.
    #[derive(Clone, Default)]
    struct Book(Rc<RefCell<Vec<u16>>>);

    impl Answer for Book {
        async fn answer(&self, _: Request<Incoming>, peer: Peer) -> Response<Body> {
            self.0.borrow_mut().push(peer.0.port());
            Response::new(Body::empty())
        }
    }

    #[tokio::test]
    async fn who_asks_for_much_at_once_is_answered_in_turn_with_others() {
        let (asked, per_turn_max) = (100, 128 / UNITS_PER_REQUEST);
        let in_a_row_max = 2 * per_turn_max; // a turn may follow the last one of the same connection
        let book = Book::default();
        let (answering, draining, connections) = Default::default();
        let hall = Rc::new(Hall { desk: book.clone(), answering, draining, connections });
        let serve = |port| {
            let (hall, place) = (Rc::clone(&hall), crowd().enter([127, 0, 0, 1].into()).unwrap());
            let (mut stream, theirs) = duplex(asked * 1_024);
            let reading = async move {
                stream.write_all(SMALL.repeat(asked).as_bytes()).await.unwrap();
                stream.shutdown().await.unwrap();
                stream.read_to_end(&mut Vec::new()).await.unwrap()
            };
            tokio::task::spawn_local(reading);
            tokio::task::spawn_local(async move {
                hall.serve(theirs, place, Peer(([127, 0, 0, 1], port).into())).await;
            })
        };
        let both = async { tokio::try_join!(serve(1), serve(2)) };
        LocalSet::new().run_until(both).await.unwrap();
        let ports = book.0.borrow();
        let longest = ports.chunk_by(|one, next| one == next).map(<[u16]>::len).max();
        assert_eq!(ports.len(), 2 * asked);
        assert!(longest <= Some(in_a_row_max), "{ports:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_has_closed_its_side_is_still_answered() {
        play(async |mut served| {
            served.say(SMALL).await;
            served.stream.shutdown().await.unwrap();
            assert!(served.rest().await.ends_with("yes"));
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_draining_node_answers_what_it_was_asked() {
        play(async |mut served| {
            served.say("POST /count HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n12").await;
            while served.hall.answering.load(Ordering::Relaxed) == 0 {
                tokio::task::yield_now().await;
            }
            served.hall.draining.cancel();
            served.say("3").await;
            let answer = served.rest().await;
            assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n3"), "{answer}");
            assert_eq!(served.hall.answering.load(Ordering::Relaxed), 0);
        })
        .await;
    }
}
