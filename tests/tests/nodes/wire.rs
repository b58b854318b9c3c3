//! A native connection without a client's manners: it asks whom it was told to ask, and reads what it is answered.

use std::net::SocketAddr;

use tallyring_protocol::bounds::REPLY_BYTES_MAX;
use tallyring_protocol::{
    AlgorithmCode, Define, Hello, NodeId, PROTOCOL_VERSION, PeriodCode, Reply, Request, Topology, frame,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What a node said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    Topology(Topology),
    WrongOwner { epoch: u64, node: NodeId, address: String },
    Invalid(String),
    Else(String),
}

pub struct Wire {
    stream: TcpStream,
    inbox: Vec<u8>,
}

impl Wire {
    /// Says hello, and reads the welcome.
    pub async fn connect(address: SocketAddr) -> Wire {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let hello =
            Hello { version: PROTOCOL_VERSION, shard: 0, deadline_max_us: 5_000, instance: 7, name: "wire", token: "" };
        let mut bytes = Vec::new();
        hello.encode(&mut bytes);
        stream.write_all(&bytes).await.unwrap();
        let mut wire = Wire { stream, inbox: Vec::new() };
        assert!(matches!(wire.hear().await, Said::Else(_)), "the welcome");
        wire
    }

    /// Sends a request.
    pub async fn say(&mut self, request: &Request<'_>) {
        let mut bytes = Vec::new();
        request.encode(1, &mut bytes);
        self.stream.write_all(&bytes).await.unwrap();
    }

    /// Asks, and waits for the answer; pushes that come before it are skipped.
    pub async fn ask(&mut self, request: &Request<'_>) -> Said {
        self.say(request).await;
        loop {
            match self.frame().await {
                (0, _) => {}
                (_, said) => return said,
            }
        }
    }

    /// What comes next.
    pub async fn hear(&mut self) -> Said {
        self.frame().await.1
    }

    /// The next topology that is pushed.
    pub async fn topology(&mut self) -> Topology {
        loop {
            if let Said::Topology(topology) = self.hear().await {
                return topology;
            }
        }
    }

    /// Defines a bucket that regains nothing while a test runs, under handle 0.
    pub async fn define(&mut self, limit: u64) {
        let period = PeriodCode::Micros(400 * 86_400 * 1_000_000);
        let define = Define {
            handle: 0,
            algorithm: AlgorithmCode::TokenBucket,
            limit,
            period,
            burst: 0,
            rule_version: 0,
            keys_max: 0,
            shadow: false,
            sync: false,
            rule: "",
        };
        assert!(matches!(self.ask(&Request::Define(define)).await, Said::Else(_)));
    }

    async fn frame(&mut self) -> (u32, Said) {
        loop {
            if let Some((frame, len)) = frame::split(&self.inbox, REPLY_BYTES_MAX).unwrap() {
                let said = (frame.id, Said::of(Reply::decode(&frame).unwrap()));
                self.inbox.drain(..len);
                return said;
            }
            assert!(self.stream.read_buf(&mut self.inbox).await.unwrap() > 0, "the node hung up");
        }
    }
}

impl Said {
    fn of(reply: Reply<'_>) -> Said {
        match reply {
            Reply::Topology(json) => Said::Topology(Topology::from_json(&json).unwrap()),
            Reply::WrongOwner { epoch, node, address } => {
                Said::WrongOwner { epoch, node, address: address.into_owned() }
            }
            Reply::Invalid { field, .. } => Said::Invalid(field.into_owned()),
            other => Said::Else(format!("{other:?}")),
        }
    }
}
