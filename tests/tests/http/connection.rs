//! One HTTP connection of a caller.

use std::net::SocketAddr;

use axum::http::{Request, Response};
use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

pub struct Connection(SendRequest<Empty<Bytes>>);

/// A response that has been read to its end.
pub struct Answer {
    pub response: Response<()>,
    pub body: Bytes,
}

impl Connection {
    pub async fn open(gateway: SocketAddr) -> Connection {
        let stream = TcpStream::connect(gateway).await.unwrap();
        let (sender, connection) = handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection.with_upgrades());
        Connection(sender)
    }

    /// Sends a request and returns as soon as the head of the response is there.
    pub async fn send(&mut self, headers: &[(&str, &str)]) -> Response<Incoming> {
        let request = Request::get("/").header("host", "gateway").header("x-api-key", "k");
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        self.0.ready().await.unwrap();
        self.0.send_request(request.body(Empty::new()).unwrap()).await.unwrap()
    }

    pub async fn get(&mut self) -> Answer {
        let (head, body) = self.send(&[]).await.into_parts();
        Answer { response: Response::from_parts(head, ()), body: body.collect().await.unwrap().to_bytes() }
    }
}

impl Answer {
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name).map(|value| value.to_str().unwrap())
    }
}

/// One request on a connection of its own.
pub async fn get(gateway: SocketAddr) -> Answer {
    Connection::open(gateway).await.get().await
}
