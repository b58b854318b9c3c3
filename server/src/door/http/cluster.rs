//! `/v1/cluster`: who is in the cluster, how the keys are shared, and changes of both.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use tallyring_protocol::NodeId;

use super::HttpDoor;
use super::caller::{Admin, Reader};
use super::line::Json;
use super::problem::{Named, Problem};
use crate::cluster::control::change::What;
use crate::cluster::control::desk::ProposeError;
use crate::cluster::control::outcome::{Outcome, Refusal};
use crate::cluster::status::{Seen, Status};
use crate::door::json;

/// Says how this node sees the cluster.
pub(super) async fn status(State(door): State<Arc<HttpDoor>>, _: Reader) -> Json<Status> {
    Json(Status::of(&Seen {
        node: door.node,
        state: &door.control.state(),
        standing: &door.control.standing(),
        topology: door.view.territory().topology(),
        clock_behind_us: door.clock_gauge.behind_us(),
        is_draining: door.draining.is_cancelled(),
    }))
}

/// What became of a change of the members.
#[derive(Serialize)]
pub(super) struct Changed {
    /// The epoch of the ring from now on.
    epoch: u64,
}

/// What can be changed of a member.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    weight: u32,
}

/// Has a member leave for good.
pub(super) async fn leave(State(door): State<Arc<HttpDoor>>, _: Admin, id: Named) -> Result<Json<Changed>, Problem> {
    door.change(What::Leave(node(id)?)).await
}

/// Changes a member's share of the ring.
pub(super) async fn reweigh(
    State(door): State<Arc<HttpDoor>>,
    _: Admin,
    id: Named,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Changed>, Problem> {
    let body = super::body::read(&headers, body).await?;
    let Wanted { weight } = json::parse(&body)?;
    door.change(What::Reweigh { node: node(id)?, weight }).await
}

fn node(id: Named) -> Result<NodeId, Problem> {
    let id = id?.0;
    id.parse().map(NodeId).map_err(|_| Problem::field("id", format!("{id:?} is not the number of a node")))
}

impl HttpDoor {
    async fn change(&self, what: What) -> Result<Json<Changed>, Problem> {
        match self.control.propose(what).await? {
            Outcome::Done { epoch } => Ok(Json(Changed { epoch })),
            Outcome::Refused(refusal) => Err(refusal.into()),
            Outcome::Published { .. } | Outcome::Nothing => Err(Refusal::Damaged.into()),
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Problem {
        let status = match refusal {
            Refusal::NotAMember { .. } => StatusCode::NOT_FOUND,
            Refusal::Malformed { rule } => return Problem::field("weight", rule),
            _ => StatusCode::CONFLICT,
        };
        Problem::new(status, refusal.to_string())
    }
}

impl From<ProposeError> for Problem {
    fn from(error: ProposeError) -> Problem {
        Problem::not_agreed(error.to_string())
    }
}
