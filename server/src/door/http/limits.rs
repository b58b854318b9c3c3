//! `/v1/limits/{tier}`: the rules that match one tier alone.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use tallyring_protocol::rules::Syntax;

use super::HttpDoor;
use super::caller::{Admin, Reader};
use super::problem::{Named, Problem};
use super::pushing::{ReasonQuery, read_text};
use super::rules::present;
use crate::rules::live::Live;
use crate::rules::publish::Change;
use crate::rules::text::Text;
use crate::rules::tier::Tier;

/// Answers with the rules of a tier, as a document of their own; a tier that no rule names has none.
pub(super) async fn read(
    State(door): State<Arc<HttpDoor>>,
    _: Reader,
    tier: Named,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let tier = Tier::new(tier?.0);
    let write = move |live: &Live, syntax| Text::of(&tier.of(live), syntax).line();
    present(&headers, door.rules.live(), Syntax::Toml, write).await
}

/// Replaces the rules of a tier by those of a document; the other rules stay as they are.
pub(super) async fn publish(
    State(door): State<Arc<HttpDoor>>,
    admin: Admin,
    tier: Named,
    reason: ReasonQuery,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let text = read_text(&headers, body).await?;
    door.push(admin, &headers, reason, Change::Tier(Tier::new(tier?.0), text)).await
}
