//! `/v1/cluster`: who is in the cluster, and how the keys are shared.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;

use super::HttpDoor;
use super::caller::Reader;
use crate::cluster::status::{self, Status};

/// Says how this node sees the cluster.
pub(super) async fn status(State(door): State<Arc<HttpDoor>>, _: Reader) -> Json<Status> {
    let is_draining = door.draining.is_cancelled();
    let state = if is_draining { status::State::Draining } else { status::State::Serving };
    Json(Status::of(door.view.territory().topology(), door.node, state))
}
