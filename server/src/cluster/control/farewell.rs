//! Whether this node is still a member: one that was stopped or cut off when it left has not heard of it.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::desk::Desk;
use crate::cluster::peer::hello::Rejection;
use crate::cluster::peer::line::{CallError, Line};

/// Members that are asked at once.
const ASKED_MAX: usize = 8;

/// How long they are waited for.
const WITHIN: Duration = Duration::from_millis(500);

/// How often a node asks. Whoever calls others meanwhile, as voters do, learns of it at once.
const ASK_EVERY: Duration = Duration::from_secs(10);

/// Asks other members whether this node has left; `false` also if nobody answers.
pub(super) async fn has_left(desk: &Desk) -> bool {
    let me = desk.introduction.identity.node;
    let state = desk.introduction.states.borrow().clone();
    let mut asked = JoinSet::new();
    for other in state.members().values().filter(|other| other.id != me).take(ASKED_MAX) {
        let mut line = Line::new(desk.introduction.clone(), Some(other.id), &other.addresses.peer);
        asked.spawn(async move { line.greet(WITHIN).await });
    }
    while let Some(greeted) = asked.join_next().await {
        if matches!(greeted, Ok(Err(CallError::Refused { reason: Rejection::Left, .. }))) {
            return true;
        }
    }
    false
}

/// Asks now and then, until `draining`: to ask is enough, since a line that is refused says so to all.
pub(super) async fn watch(desk: Desk, draining: CancellationToken) {
    loop {
        tokio::select! {
            biased;
            () = draining.cancelled() => return,
            () = tokio::time::sleep(ASK_EVERY) => {}
        }
        if has_left(&desk).await {
            return;
        }
    }
}
