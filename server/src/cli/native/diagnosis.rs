//! What is the matter with a store that does not get ready: a hello by hand, whose answer says it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use tallyring_protocol::bounds::REPLY_BYTES_MAX;
use tallyring_protocol::{GoodbyeCode, Hello, PROTOCOL_VERSION, Reply, frame};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::super::link::{self, Wire};
use super::super::trouble::Cause;

/// How long the answer to a hello may take.
const ANSWER_MAX: Duration = Duration::from_secs(2);

/// What is read at once; a goodbye is shorter.
const CHUNK_BYTES: usize = 4 * 1_024;

/// Who asks, and how.
#[derive(Debug)]
pub(super) struct Caller<'a> {
    pub(super) token: &'a str,
    pub(super) name: &'a str,
    pub(super) tls: Option<Arc<ClientConfig>>,
    /// Whether a certificate is shown.
    pub(super) shows: bool,
}

/// Why the store at an address does not serve.
pub(super) async fn diagnose(address: &str, caller: &Caller<'_>) -> Cause {
    let mut wire = match link::connect(address, caller.tls.clone(), caller.shows).await {
        Ok(wire) => wire,
        Err(cause) => return cause,
    };
    match timeout(ANSWER_MAX, greet(&mut wire, caller)).await {
        Err(_) => Cause::Silent,
        Ok(Ok(cause)) => cause,
        Ok(Err(error)) => match Cause::of_tls(&error, caller.shows) {
            Some(cause) => cause,
            None if caller.tls.is_none() && link::speaks_tls(address).await => Cause::SpeaksTls,
            None => Cause::Stranger(error.to_string()),
        },
    }
}

/// # Errors
/// The answer is none of this protocol, or there is none.
async fn greet(wire: &mut dyn Wire, caller: &Caller<'_>) -> io::Result<Cause> {
    let mut hello = Vec::new();
    let (instance, Caller { name, token, .. }) = (u128::from(std::process::id()), caller);
    Hello { version: PROTOCOL_VERSION, shard: 0, deadline_max_us: 0, instance, name, token }.encode(&mut hello);
    wire.write_all(&hello).await?;
    let mut heard = Vec::new();
    loop {
        let split = frame::split(&heard, REPLY_BYTES_MAX).map_err(io::Error::other)?;
        if let Some((frame, _)) = split {
            let reply = Reply::decode(&frame).map_err(io::Error::other)?;
            return Ok(cause(&reply, caller));
        }
        let mut chunk = [0; CHUNK_BYTES];
        match wire.read(&mut chunk).await? {
            0 => return Err(io::Error::other("it hangs up")),
            len => heard.extend_from_slice(&chunk[..len]),
        }
    }
}

/// What the answer to a hello says.
fn cause(reply: &Reply<'_>, caller: &Caller<'_>) -> Cause {
    match reply {
        Reply::Goodbye { code: GoodbyeCode::Unauthorized, .. } if caller.token.is_empty() => Cause::WantsToken,
        Reply::Goodbye { code: GoodbyeCode::Unauthorized, .. } => Cause::RefusesToken,
        Reply::Goodbye { reason, .. } => Cause::Goodbye(reason.to_string()),
        // It serves by now, or another shard of it does not.
        _ => Cause::Silent,
    }
}
