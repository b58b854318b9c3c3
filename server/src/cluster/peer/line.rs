//! A connection to another node, opened when there is something to ask and kept for the next question.

use std::io;
use std::time::Duration;

use tallyring_protocol::NodeId;

use super::frame::{self, FrameError};
use super::hello::{Greeting, Hello, Introduction, Purpose, Rejection};
use super::message::{Answer, Ask};
use crate::entrance::tls::Certificates;
use crate::sys::net::{Stream, TcpStream};

/// A line to one address. Questions are one after the other.
#[derive(Debug)]
pub struct Line {
    introduction: Introduction,
    to: Option<NodeId>,
    address: String,
    /// Taken away while a question is open: whoever gives it up leaves none behind.
    stream: Option<Stream>,
}

/// A question that got no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// None came in time.
    #[error("{address}: no answer within {} ms", within.as_millis())]
    Late {
        /// Who was asked.
        address: String,
        /// How long it was waited for.
        within: Duration,
    },
    /// The connection could not be made, or broke.
    #[error("{address}: {source}")]
    Broken {
        /// Who was asked.
        address: String,
        /// What is wrong.
        source: FrameError,
    },
    /// The call was not taken.
    #[error("{address}: {reason}")]
    Refused {
        /// Who was asked.
        address: String,
        /// Why.
        reason: Rejection,
    },
}

impl Line {
    /// A line to the node `to` at `address`, as `host:port`; it is opened by the first question.
    pub fn new(introduction: Introduction, to: Option<NodeId>, address: impl Into<String>) -> Line {
        Line { introduction, to, address: address.into(), stream: None }
    }

    /// Where it leads.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Asks, and waits for the answer, no longer than `within`.
    ///
    /// # Errors
    /// [`CallError`]. Unless it is [`CallError::Refused`], the question may have been heard all the same.
    pub async fn ask(&mut self, ask: &Ask, within: Duration) -> Result<Answer, CallError> {
        match tokio::time::timeout(within, self.ask_at_leisure(ask)).await {
            Ok(answered) => answered,
            Err(_) => Err(CallError::Late { address: self.address.clone(), within }),
        }
    }

    /// Says hello, unless the line is open.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn greet(&mut self, within: Duration) -> Result<(), CallError> {
        if self.stream.is_none() {
            let opened = tokio::time::timeout(within, self.open()).await;
            self.stream = Some(opened.map_err(|_| CallError::Late { address: self.address.clone(), within })??);
        }
        Ok(())
    }

    async fn ask_at_leisure(&mut self, ask: &Ask) -> Result<Answer, CallError> {
        if let Some(stream) = self.stream.take() {
            // It may be the end of a node that has restarted since: then a new one is worth a try.
            if let Ok(answer) = self.ask_over(stream, ask).await {
                return Ok(answer);
            }
        }
        let stream = self.open().await?;
        self.ask_over(stream, ask).await.map_err(|source| self.broken(source))
    }

    async fn ask_over(&mut self, mut stream: Stream, ask: &Ask) -> Result<Answer, FrameError> {
        frame::write(&mut stream, ask).await?;
        let answer = frame::read(&mut stream).await?;
        self.stream = Some(stream);
        Ok(answer)
    }

    async fn open(&self) -> Result<Stream, CallError> {
        call(&self.introduction, self.to, &self.address, Purpose::Control).await
    }

    fn broken(&self, source: FrameError) -> CallError {
        CallError::Broken { address: self.address.clone(), source }
    }
}

/// Calls `to` at `address`, and says hello.
///
/// # Errors
/// [`CallError::Broken`] or [`CallError::Refused`].
pub async fn call(
    introduction: &Introduction,
    to: Option<NodeId>,
    address: &str,
    purpose: Purpose,
) -> Result<Stream, CallError> {
    let broken = |source| CallError::Broken { address: address.to_owned(), source };
    match shake_hands(introduction, &introduction.hello(to, purpose), address).await.map_err(broken)? {
        (stream, Greeting::Welcome { .. }) => Ok(stream),
        (_, Greeting::Refused(reason)) => {
            if reason == Rejection::Left {
                introduction.dismissed.send_replace(true);
            }
            Err(CallError::Refused { address: address.to_owned(), reason })
        }
    }
}

async fn shake_hands(
    introduction: &Introduction,
    hello: &Hello,
    address: &str,
) -> Result<(Stream, Greeting), FrameError> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let mut stream = match &introduction.certificates {
        None => Stream::from(stream),
        Some(certificates) => encrypt(stream, certificates, address).await?,
    };
    frame::write(&mut stream, hello).await?;
    let greeting = frame::read(&mut stream).await?;
    Ok((stream, greeting))
}

async fn encrypt(stream: TcpStream, certificates: &Certificates, address: &str) -> io::Result<Stream> {
    let calling = certificates.of_peers().calling;
    Stream::encrypt_call(stream, calling, host_of(address)).await.map_err(|error| {
        let hint =
            if error.kind() == io::ErrorKind::UnexpectedEof { "; perhaps there is none spoken there" } else { "" };
        io::Error::new(error.kind(), format!("TLS: {error}{hint}"))
    })
}

/// The host of `host:port`: the name that its certificate is for.
fn host_of(address: &str) -> &str {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

impl CallError {
    /// Whether to call again would be of no use. A node that is not taken in yet may be a moment later.
    pub fn is_final(&self) -> bool {
        matches!(self, CallError::Refused { reason, .. } if !matches!(reason, Rejection::NotTakenIn { .. }))
    }

    /// Somebody who answers out of turn.
    pub fn out_of_turn(address: &str) -> CallError {
        let source = io::Error::new(io::ErrorKind::InvalidData, "an answer to another question").into();
        CallError::Broken { address: address.to_owned(), source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_for_the_host_of_an_address() {
        let check = |address, expect| assert_eq!(host_of(address), expect);
        check("store-1.internal:4174", "store-1.internal");
        check("10.0.0.7:4174", "10.0.0.7");
        check("[::1]:4174", "::1");
    }
}
