//! `/v1/keys/{raw key}`: one key, whichever rule counts it.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tallyring_protocol::{Key, Reply, shard_of};

use super::HttpDoor;
use super::caller::Admin;
use super::problem::Problem;
use crate::shard::Message;
use crate::shard::command::{Envelope, Errand};
use crate::shard::outlet::{Outgoing, Outlet};

/// How long a shard may take to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// What became of a reset.
#[derive(Serialize)]
struct Reset {
    /// Whether there was anything to forget.
    found: bool,
}

/// Gives a raw key its whole budget back, under every algorithm, and forgets its holders.
pub(super) async fn reset(
    State(door): State<Arc<HttpDoor>>,
    _: Admin,
    Path(raw): Path<String>,
) -> Result<Response, Problem> {
    let key = Key::raw(raw.as_bytes()).map_err(|error| Problem::field("key", error.to_string()))?;
    match door.ask(key).await {
        Some(Reply::ResetDone { found }) => Ok(Json(Reset { found }).into_response()),
        _ => {
            Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the key's shard has more to do than it can; try again"))
        }
    }
}

impl HttpDoor {
    /// Has a key's shard forget it; `None` if the shard does not answer in time.
    async fn ask(&self, key: Key) -> Option<Reply<'static>> {
        let shards = u16::try_from(self.mailboxes.len()).expect("a node has at most SHARDS_MAX shards");
        let shard = shard_of(self.seeds.placement.place(key.as_ref()), shards);
        let outlet = Arc::new(Outlet::default());
        let envelope = Envelope { errand: Errand::Reset(key), id: 1, reply_to: Arc::clone(&outlet) };
        self.mailboxes[usize::from(shard)].push(Message::Command(envelope)).ok()?;
        tokio::time::timeout(ANSWER_TIMEOUT, outlet.arrival()).await.ok()?;
        match outlet.pop()? {
            Outgoing::Reply(_, reply) => Some(reply),
            Outgoing::Push(_) | Outgoing::Goodbye(..) => None,
        }
    }
}
