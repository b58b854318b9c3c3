//! A request is one charge, however long what comes of it lasts.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Response;
use axum::http::header::{CONNECTION, UPGRADE};
use axum::routing::get;
use http_body_util::BodyExt;
use hyper::body::{Bytes, Frame};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;

use crate::connection::Connection;
use crate::system::System;

const FRAMES: usize = 1_000;
const CHUNKS: usize = 1_000;
const FRAME_BYTES: usize = 4;

/// Where the backend finds the body of the next stream.
type Streams = Arc<tokio::sync::Mutex<mpsc::Receiver<Chunks>>>;

/// Upgrades those who ask for it and sends their frames back; streams to those who ask for that.
async fn backend(State(streams): State<Streams>, request: Request) -> Response<Body> {
    if request.headers().contains_key(UPGRADE) {
        tokio::spawn(echo(request));
        let response = Response::builder().status(101).header(UPGRADE, "echo").header(CONNECTION, "upgrade");
        return response.body(Body::empty()).unwrap();
    }
    if request.headers().contains_key("x-stream") {
        return Response::new(Body::new(streams.lock().await.recv().await.unwrap()));
    }
    Response::new("ok".into())
}

async fn echo(request: Request) {
    let mut stream = TokioIo::new(hyper::upgrade::on(request).await.unwrap());
    let mut frame = [0; FRAME_BYTES];
    while stream.read_exact(&mut frame).await.is_ok() {
        stream.write_all(&frame).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_and_a_stream_are_one_charge_each() {
    // http-ws-01
    let rule = r#"{"id":"five","key":["client"],"algorithm":"fixed_window","limit":5,"window":"60s"}"#;
    let system = System::start(&[rule]).await;
    let limiter = system.limiter();
    let (stream, streams) = mpsc::channel(1);
    let app = Router::new().route("/", get(backend)).with_state(Arc::new(tokio::sync::Mutex::new(streams)));
    let gateway = system.serve(limiter.clone(), app).await;

    let mut statuses = vec![upgrade(&mut Connection::open(gateway).await).await];
    let mut connection = Connection::open(gateway).await;
    statuses.push(read_stream(&mut connection, stream).await);
    for _ in 0..4 {
        statuses.push(connection.get().await.status());
    }
    assert_eq!(statuses, [101, 200, 200, 200, 200, 429]);
    assert_eq!(limiter.counts().store_allowed, 5);
}

/// Sends frames over an upgraded connection, and wants each of them back.
async fn upgrade(connection: &mut Connection) -> u16 {
    let response = connection.send(&[("upgrade", "echo"), ("connection", "upgrade")]).await;
    let status = response.status().as_u16();
    assert_eq!(response.headers()["ratelimit-remaining"], "4");
    let mut stream = TokioIo::new(hyper::upgrade::on(response).await.unwrap());
    for number in 0..FRAMES {
        let sent = u32::try_from(number).unwrap().to_le_bytes();
        let mut echoed = [0; FRAME_BYTES];
        stream.write_all(&sent).await.unwrap();
        stream.read_exact(&mut echoed).await.unwrap();
        assert_eq!(sent, echoed);
    }
    status
}

/// Reads a stream whose first chunk is not sent before its headers have been read.
async fn read_stream(connection: &mut Connection, streams: mpsc::Sender<Chunks>) -> u16 {
    let (sender, chunks) = mpsc::channel(1);
    streams.send(Chunks(chunks)).await.unwrap();
    let response = connection.send(&[("x-stream", "yes")]).await;
    let status = response.status().as_u16();
    assert_eq!(response.headers()["ratelimit-remaining"], "3");
    let feeding = tokio::spawn(async move {
        for _ in 0..CHUNKS {
            sender.send(Bytes::from_static(b"chunk")).await.unwrap();
        }
    });
    let body = response.into_body().collect().await.unwrap().to_bytes();
    feeding.await.unwrap();
    assert_eq!(body.len(), CHUNKS * "chunk".len());
    status
}

/// A body whose chunks come one by one.
struct Chunks(mpsc::Receiver<Bytes>);

impl http_body::Body for Chunks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let chunk = ready!(self.0.poll_recv(cx));
        Poll::Ready(chunk.map(|chunk| Ok(Frame::data(chunk))))
    }
}
