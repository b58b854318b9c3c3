//! `/v1/keys/{raw key}`: one key, whichever rule counts it.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tallyring_engine::{Algorithm, Period, Stock, saturating_us};
use tallyring_protocol::bounds::KEY_BYTES_MAX;
use tallyring_protocol::{Key, Reply};

use super::caller::{Admin, Reader};
use super::line::Json;
use super::problem::{Named, Problem};
use super::{HttpDoor, milliseconds};
use crate::door::shards::Refusal;
use crate::shard::command::Errand;

/// What became of a reset.
#[derive(Serialize)]
pub(super) struct Reset {
    /// Whether there was anything to forget.
    found: bool,
}

/// What a key has.
#[derive(Serialize)]
pub(super) struct Held<'a> {
    key: &'a str,
    /// Its budgets that are not whole, by algorithm; a key without any has used nothing that still counts.
    budgets: Vec<Budget>,
}

/// What is left of one budget, under the numbers that it was last charged with.
#[derive(Serialize)]
struct Budget {
    algorithm: &'static str,
    limit: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    period_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calendar: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    burst: Option<u64>,
    remaining: u64,
    reset_after_ms: u64,
}

/// Says what a raw key has; looking costs nothing.
pub(super) async fn peek(State(door): State<Arc<HttpDoor>>, _: Reader, raw: Named) -> Result<Response, Problem> {
    let Path(raw) = raw?;
    let stocks = door.shards.peek(key(&raw)?).await?;
    Ok(Json(Held { key: &raw, budgets: stocks.iter().map(Budget::of).collect() }).into_response())
}

/// Gives a raw key its whole budget back, under every algorithm, and forgets its holders.
pub(super) async fn reset(State(door): State<Arc<HttpDoor>>, _: Admin, raw: Named) -> Result<Response, Problem> {
    let Path(raw) = raw?;
    let key = key(&raw)?;
    match door.shards.ask(door.shards.of(key.as_ref()), Errand::Reset(key)).await? {
        Reply::ResetDone { found } => Ok(Json(Reset { found }).into_response()),
        _ => Err(Refusal::Unavailable.into()),
    }
}

fn key(raw: &str) -> Result<Key, Problem> {
    Key::raw(raw.as_bytes()).map_err(|error| {
        let reason = format!("{} bytes is not in 1 ..= {KEY_BYTES_MAX}", error.len);
        Problem::field("key", reason)
    })
}

impl Budget {
    fn of(stock: &Stock) -> Budget {
        let Stock { limit, remaining, reset_after_us } = *stock;
        let (period_us, calendar) = match limit.period() {
            // Each holder of slots brings its own time.
            Period::Micros(_) if limit.algorithm() == Algorithm::Concurrency => (None, None),
            Period::Micros(us) => (Some(us), None),
            Period::Calendar(calendar) => (None, Some(calendar.name())),
        };
        let reset_after_ms = milliseconds::of(Duration::from_micros(saturating_us(reset_after_us)));
        let (algorithm, burst) = (limit.algorithm().name(), limit.burst());
        Budget { algorithm, limit: limit.limit(), period_us, calendar, burst, remaining, reset_after_ms }
    }
}
