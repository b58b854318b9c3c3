//! A node at the other end of HTTP, encrypted or not, as commands talk to it: one request a connection, bounded in time and
//! size.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use clap::Args;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use serde::Deserialize;
use tallyring_protocol::bounds::RULES_BYTES_MAX;

use super::access::AccessArgs;
use super::exit::Failure;
use super::link::{self, CONNECT_MAX, Wire};
use super::trouble::{Cause, Trouble};
use crate::rules::text::Fault;

/// The flag that says where a node answers HTTP.
const FLAG: &str = "http-addr";

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
    /// Whether a certificate is shown.
    shows: bool,
}

/// What a node answered, if it did what it was asked for.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

impl Answer {
    /// The body as it is shown to programs: it ends with one line's end.
    pub(super) fn into_line(self) -> String {
        self.body.trim_end().to_owned() + "\n"
    }
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
    /// It is of no use.
    Trouble(Trouble),
    /// The node refuses.
    Refused(StatusCode, Refusal),
}

impl From<RemoteError> for Failure {
    fn from(error: RemoteError) -> Failure {
        match error {
            RemoteError::Trouble(trouble) => trouble.into(),
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
        let (address, shows) = (address.trim_end_matches('/').to_owned(), access.tls.shows());
        Ok(Remote { address, token: access.token.read()?, tls, shows })
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
        let request = request.map_err(|error| self.trouble(Cause::Unreached(error.to_string())))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| self.trouble(Cause::Unreached(error.to_string())))?;
        let answered = runtime.block_on(async {
            let patience = tokio::time::timeout(CONNECT_MAX + ANSWER_MAX, self.exchange(request));
            patience.await.unwrap_or(Err(Cause::Silent))
        });
        let (status, answer) = answered.map_err(|cause| self.trouble(cause))?;
        if status.is_success() { Ok(answer) } else { Err(self.refused(status, &answer.body)) }
    }

    /// What to say of an answer that no node of ours gives.
    pub(super) fn stranger(&self, reason: &str) -> Failure {
        self.trouble(Cause::Stranger(reason.to_owned())).into()
    }

    fn trouble(&self, cause: Cause) -> RemoteError {
        RemoteError::Trouble(Trouble { address: self.address.clone(), flag: FLAG, cause })
    }

    fn refused(&self, status: StatusCode, body: &str) -> RemoteError {
        match (status, serde_json::from_str(body)) {
            (StatusCode::UNAUTHORIZED, Ok(Refusal { .. })) if self.token.is_none() => self.trouble(Cause::WantsToken),
            (StatusCode::UNAUTHORIZED, Ok(_)) => self.trouble(Cause::RefusesToken),
            (_, Ok(refusal)) => RemoteError::Refused(status, refusal),
            (_, Err(_)) => self.trouble(Cause::Stranger(format!("it says {status}"))),
        }
    }

    /// # Errors
    /// Why nobody has answered.
    async fn exchange(&self, request: Request<Full<Bytes>>) -> Result<(StatusCode, Answer), Cause> {
        let wire = link::connect(&self.address, self.tls.clone(), self.shows).await?;
        match ask_over(wire, request).await {
            Ok(answered) => Ok(answered),
            Err(error) => match Cause::of_tls(&*error, self.shows) {
                Some(cause) => Err(cause),
                None if self.tls.is_none() && link::speaks_tls(&self.address).await => Err(Cause::SpeaksTls),
                None => Err(Cause::Stranger(error.to_string())),
            },
        }
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
/// What came is no answer in HTTP.
async fn ask_over(
    wire: Box<dyn Wire>,
    request: Request<Full<Bytes>>,
) -> Result<(StatusCode, Answer), Box<dyn Error + Send + Sync>> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(wire)).await?;
    let connection = tokio::spawn(connection);
    let response = match sender.send_request(request).await {
        Ok(response) => response,
        // Which of the two knows why depends on who was first.
        Err(error) => match connection.await {
            Ok(Err(ended)) if error.is_canceled() => return Err(ended.into()),
            _ => return Err(error.into()),
        },
    };
    let (parts, body) = response.into_parts();
    let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await?.to_bytes();
    Ok((parts.status, Answer { headers: parts.headers, body: String::from_utf8(body.into())? }))
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
