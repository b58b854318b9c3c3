//! The load: callers that ask a gateway at a pace, each on a connection of its own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::report::Sample;

/// Connections that ask.
const CALLERS: u64 = 32;

/// From one request of a caller to its next: longer than any wait that a gateway may cost.
const PACE: Duration = Duration::from_millis(20);

/// Clients that ask until the store goes or comes; then others do.
pub(super) const CLIENTS: u64 = 200;

/// Bytes of one line of an answer, and of its body.
const ANSWER_BYTES_MAX: u64 = 64 * 1024;

/// Who asks, and what became of it.
#[derive(Debug, Default)]
pub(super) struct Callers {
    stop: AtomicBool,
    /// Which clients ask: new ones whenever the store goes or comes, with budgets that nobody has touched.
    era: AtomicU64,
    unanswered: AtomicU64,
}

impl Callers {
    /// Starts to ask the gateway at `address`.
    pub(super) fn start(self: &Arc<Callers>, address: SocketAddr) -> JoinSet<Vec<Sample>> {
        (0..CALLERS).map(|caller| Arc::clone(self).keep_asking(address, caller)).collect()
    }

    /// From now on other clients ask.
    pub(super) fn are_others(&self) {
        self.era.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends the load.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Requests that nobody answered, or in a way that is neither yes nor no.
    pub(super) fn unanswered(&self) -> u64 {
        self.unanswered.load(Ordering::Relaxed)
    }

    async fn keep_asking(self: Arc<Callers>, address: SocketAddr, caller: u64) -> Vec<Sample> {
        let mut samples = Vec::new();
        let mut connection = None;
        let mut pace = tokio::time::interval(PACE);
        for number in 0.. {
            pace.tick().await;
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let era = self.era.load(Ordering::Relaxed);
            let client = (caller + number * CALLERS) % CLIENTS;
            let sent = Instant::now();
            match ask(&mut connection, address, &format!("{era}-{client}")).await {
                Ok(200 | 429) => samples.push(Sample { sent, took: sent.elapsed() }),
                _ => {
                    connection = None;
                    self.unanswered.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        samples
    }
}

/// Asks once; the status of the answer.
async fn ask(connection: &mut Option<BufReader<TcpStream>>, address: SocketAddr, client: &str) -> std::io::Result<u16> {
    let stream = match connection {
        Some(stream) => stream,
        none => {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            none.insert(BufReader::new(stream))
        }
    };
    let request = format!("GET /hello HTTP/1.1\r\nHost: gateway\r\nX-Api-Key: {client}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    Ok(read_answer(stream).await?.0)
}

/// Asks for a page on a connection of its own.
pub(super) async fn get(address: SocketAddr, path: &str) -> std::io::Result<String> {
    let mut stream = BufReader::new(TcpStream::connect(address).await?);
    let request = format!("GET {path} HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    Ok(read_answer(&mut stream).await?.1)
}

/// The status and the body of one answer.
async fn read_answer(stream: &mut BufReader<TcpStream>) -> std::io::Result<(u16, String)> {
    let (mut status, mut body_len) = (0, 0);
    loop {
        let mut line = String::new();
        stream.take(ANSWER_BYTES_MAX).read_line(&mut line).await?;
        if line.trim().is_empty() {
            break;
        }
        let mut words = line.split_ascii_whitespace();
        match words.next().unwrap_or_default().to_ascii_lowercase().as_str() {
            "http/1.1" => status = words.next().and_then(|word| word.parse().ok()).unwrap_or(0),
            "content-length:" => body_len = words.next().and_then(|word| word.parse().ok()).unwrap_or(0),
            _ => {}
        }
    }
    let mut body = String::new();
    stream.take(std::cmp::min(body_len, ANSWER_BYTES_MAX)).read_to_string(&mut body).await?;
    Ok((status, body))
}
