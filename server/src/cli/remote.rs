//! A node at the other end of HTTP, encrypted or not, as commands talk to it: one request a connection, bounded in time and
//! size.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use clap::Args;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use serde::Deserialize;
use tallyring_protocol::bounds::RULES_BYTES_MAX;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::access::AccessArgs;
use super::exit::Failure;
use crate::rules::text::Fault;

/// How long a node may take to accept a connection.
const CONNECT_MAX: Duration = Duration::from_secs(5);

/// How long a node may take to answer: a push of ten thousand rules waits for its disk.
const ANSWER_MAX: Duration = Duration::from_secs(15);

/// Longest answer, in bytes: the longest document, or a history.
const ANSWER_BYTES_MAX: usize = 2 * RULES_BYTES_MAX;

/// Where a node is.
#[derive(Debug, Args)]
pub(super) struct HttpArgs {
    /// Where the node answers HTTP; https:// in front, or --tls-ca, is for a node with TLS
    #[arg(long, env = "TALLYRING_HTTP_ADDR", value_name = "HOST:PORT", default_value = "127.0.0.1:4171")]
    http_addr: String,
}

/// Which node, and how to come in.
#[derive(Debug, Args)]
pub(super) struct RemoteArgs {
    #[command(flatten)]
    http: HttpArgs,
    #[command(flatten)]
    access: AccessArgs,
}

/// A node.
#[derive(Debug)]
pub(super) struct Remote {
    address: String,
    token: Option<String>,
    tls: Option<Arc<ClientConfig>>,
}

/// What a node answered, if it did what it was asked for.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

/// What a node answers if it refuses.
#[derive(Debug, Deserialize)]
pub(super) struct Refusal {
    pub(super) detail: String,
    #[serde(default)]
    pub(super) errors: Vec<Fault>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum RemoteError {
    /// Nobody answers there.
    Unreachable(String),
    /// The node refuses.
    Refused(StatusCode, Refusal),
}

impl From<RemoteError> for Failure {
    fn from(error: RemoteError) -> Failure {
        match error {
            RemoteError::Unreachable(reason) => Failure::unreachable(reason),
            RemoteError::Refused(_, refusal) => Failure::invalid(refusal.detail),
        }
    }
}

impl RemoteArgs {
    /// The node, with the token and the certificates read.
    pub(super) fn remote(&self) -> Result<Remote, Failure> {
        self.http.remote(&self.access)
    }
}

impl HttpArgs {
    /// The node, with the token and the certificates read.
    ///
    /// # Errors
    /// One of them is no good, or the address asks for TLS and nobody says whom to trust.
    pub(super) fn remote(&self, access: &AccessArgs) -> Result<Remote, Failure> {
        let (scheme, address) = self.http_addr.split_once("://").unwrap_or(("", &self.http_addr));
        let tls = access.tls.http()?;
        match (scheme, &tls) {
            ("" | "https", Some(_)) | ("" | "http", None) => {}
            ("http", Some(_)) => {
                return Err(Failure::usage("http-addr: http:// is not encrypted, and --tls-ca is there"));
            }
            ("https", None) => {
                let whom = "https:// needs --tls-ca FILE, the roots to trust: those of the system are not asked";
                return Err(Failure::usage(format!("http-addr: {whom}")));
            }
            _ => return Err(Failure::usage(format!("http-addr: {scheme:?} is neither http nor https"))),
        }
        Ok(Remote { address: address.trim_end_matches('/').to_owned(), token: access.token.read()?, tls })
    }
}

impl Remote {
    /// Asks for something and waits for the answer. `path` is the target as it stands in the request's first line.
    pub(super) fn ask(
        &self,
        method: Method,
        path: &str,
        headers: &[(header::HeaderName, &str)],
        body: &str,
    ) -> Result<Answer, RemoteError> {
        let request = self.request(method, path, headers, body);
        let request = request.map_err(|error| RemoteError::Unreachable(format!("{}: {error}", self.address)))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| RemoteError::Unreachable(error.to_string()))?;
        let answered = runtime.block_on(async {
            let patience =
                tokio::time::timeout(CONNECT_MAX + ANSWER_MAX, exchange(&self.address, self.tls.clone(), request));
            patience.await.unwrap_or_else(|_| Err("it does not answer in time".to_owned()))
        });
        let (status, answer) =
            answered.map_err(|reason| RemoteError::Unreachable(format!("{}: {reason}", self.address)))?;
        if status.is_success() { Ok(answer) } else { Err(refused(status, &answer.body)) }
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        headers: &[(header::HeaderName, &str)],
        body: &str,
    ) -> Result<Request<Full<Bytes>>, axum::http::Error> {
        let mut request = Request::builder().method(method).uri(path).header(header::HOST, &self.address);
        for (name, value) in headers {
            request = request.header(name, *value);
        }
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        request.body(Full::from(body.to_owned()))
    }
}

/// # Errors
/// Why nobody has answered.
async fn exchange(
    address: &str,
    tls: Option<Arc<ClientConfig>>,
    request: Request<Full<Bytes>>,
) -> Result<(StatusCode, Answer), String> {
    let connected = tokio::time::timeout(CONNECT_MAX, TcpStream::connect(address)).await;
    let stream = connected.map_err(|_| "it does not accept the connection".to_owned())?;
    let stream = stream.map_err(|error| error.to_string())?;
    let Some(tls) = tls else { return ask_over(stream, request).await };
    let host = address.rsplit_once(':').map_or(address, |(host, _port)| host).trim_matches(['[', ']']);
    let name = ServerName::try_from(host.to_owned()).map_err(|error| error.to_string())?;
    let agreed = tokio::time::timeout(CONNECT_MAX, TlsConnector::from(tls).connect(name, stream)).await;
    let stream = agreed.map_err(|_| "it does not agree on keys".to_owned())?;
    ask_over(stream.map_err(|error| format!("TLS: {error}"))?, request).await
}

async fn ask_over(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    request: Request<Full<Bytes>>,
) -> Result<(StatusCode, Answer), String> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
    tokio::spawn(connection);
    let response = sender.send_request(request).await;
    let response = response.map_err(|error| format!("no answer in HTTP, if it speaks TLS say --tls-ca: {error}"))?;
    let (parts, body) = response.into_parts();
    let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await.map_err(|error| error.to_string())?.to_bytes();
    let body = String::from_utf8(body.into()).map_err(|_| "the answer is not text".to_owned())?;
    Ok((parts.status, Answer { headers: parts.headers, body }))
}

fn refused(status: StatusCode, body: &str) -> RemoteError {
    let refusal = serde_json::from_str(body);
    let bare = || Refusal { detail: format!("the node answers {status}"), errors: Vec::new() };
    RemoteError::Refused(status, refusal.unwrap_or_else(|_| bare()))
}

/// A text as it stands in a path or a query: only what is reserved nowhere stays as it is.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => escaped.push(char::from(byte)),
            _ => escaped += &format!("%{byte:02X}"),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reserved_somewhere_is_escaped() {
        assert_eq!(escaped("a-b_c.d~e"), "a-b_c.d~e");
        assert_eq!(escaped("{acct 7}:ä/?&%"), "%7Bacct%207%7D%3A%C3%A4%2F%3F%26%25");
    }
}
