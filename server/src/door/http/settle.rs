//! `/v1/settle`: what a reservation really used, told to every rule that it was made under.

use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::line::Json;
use super::problem::Problem;
use super::{HttpDoor, milliseconds};
use crate::door::judge::{SettledRule, Settlement};
use crate::door::question::Question;

/// The answer.
#[derive(Serialize)]
pub(super) struct Answer<'a> {
    /// Whether there was anything to settle.
    settled: bool,
    version: u64,
    checks: Vec<Check<'a>>,
}

/// What became of one rule's reservation.
#[derive(Serialize)]
struct Check<'a> {
    rule: &'a str,
    group: &'a str,
    settled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    remaining: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reset_after_ms: Option<u64>,
}

/// Settles.
pub(super) async fn settle(door: &HttpDoor, body: &[u8]) -> Result<Response, Problem> {
    let question = Question::parse(body)?;
    let correction = question.correction()?;
    let settlement = door.judge.settle(&question.subject(), correction.id, correction.actual).await?;
    Ok(Json(Answer::of(&settlement)).into_response())
}

impl<'a> Answer<'a> {
    fn of(settlement: &'a Settlement) -> Answer<'a> {
        Answer {
            settled: settlement.rules.iter().any(|rule| rule.left.is_some()),
            version: settlement.bench.live().version.version,
            checks: settlement.rules.iter().map(|rule| Check::of(settlement, rule)).collect(),
        }
    }
}

impl<'a> Check<'a> {
    fn of(settlement: &'a Settlement, settled: &SettledRule) -> Check<'a> {
        let rule = settlement.bench.rule(settled.order);
        Check {
            rule: rule.id(),
            group: rule.group(),
            settled: settled.left.is_some(),
            remaining: settled.left.map(|left| left.remaining),
            reset_after_ms: settled.left.and_then(|left| left.reset_after).map(milliseconds::of),
        }
    }
}
