//! `/v1/check`: may this request pass, by the rules that are live?

use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tallyring_protocol::{LocalCounts, Report};

use super::announced::Headers;
use super::line::Json;
use super::problem::Problem;
use super::{HttpDoor, milliseconds};
use crate::door::judge::{Decision, Level, RuleDecision};
use crate::door::question::Question;

/// Who decided: a node is the store.
const SOURCE: &str = "store";

/// The answer. What would be the speaker's is null if no rule applies.
#[derive(Serialize)]
pub(super) struct Answer<'a> {
    allowed: bool,
    rule: Option<&'a str>,
    limit: Option<u64>,
    remaining: Option<u64>,
    /// `None` = never.
    retry_after_ms: Option<u64>,
    reset_after_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay_ms: Option<u64>,
    level: Level,
    source: &'static str,
    version: u64,
    checks: Vec<Check<'a>>,
    headers: Headers,
}

/// What one rule decided.
#[derive(Serialize)]
struct Check<'a> {
    rule: &'a str,
    group: &'a str,
    allowed: bool,
    limit: u64,
    remaining: u64,
    /// `None` = never.
    retry_after_ms: Option<u64>,
    reset_after_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay_ms: Option<u64>,
}

/// Decides, and charges what is allowed.
pub(super) async fn check(door: &HttpDoor, body: &[u8]) -> Result<Response, Problem> {
    let question = Question::parse(body)?;
    let decision = door.judge.check(&question.subject(), &question.charge()?).await?;
    door.count(&decision);
    let now_us = decision.at_us.unwrap_or_else(|| door.clock.now_us());
    Ok(Json(Answer::of(&decision, now_us)).into_response())
}

impl HttpDoor {
    /// Counts what no shard knows: which rules blocked, and which are near their end.
    fn count(&self, decision: &Decision) {
        let soft = decision.soft().map(|rule| (rule, LocalCounts { soft: 1, ..LocalCounts::default() }));
        let blocked = decision.blocked().map(|rule| (rule, LocalCounts { blocked: 1, ..LocalCounts::default() }));
        for (rule, counts) in soft.chain(blocked) {
            self.locals.lock().add(&Report { rule: rule.id(), shadow: false, counts });
        }
    }
}

impl<'a> Answer<'a> {
    fn of(decision: &'a Decision, now_us: u64) -> Answer<'a> {
        let speaker = decision.speaker().map(|speaker| Check::of(decision, speaker));
        let speaker = speaker.as_ref();
        Answer {
            allowed: decision.allowed,
            rule: speaker.map(|speaker| speaker.rule),
            limit: speaker.map(|speaker| speaker.limit),
            remaining: speaker.map(|speaker| speaker.remaining),
            retry_after_ms: speaker.map_or(Some(0), |speaker| speaker.retry_after_ms),
            reset_after_ms: speaker.map_or(0, |speaker| speaker.reset_after_ms),
            delay_ms: decision.delay().map(milliseconds::of),
            level: decision.level,
            source: SOURCE,
            version: decision.bench().live().version.version,
            checks: decision.checks.iter().map(|check| Check::of(decision, check)).collect(),
            headers: Headers::of(decision, now_us),
        }
    }
}

impl<'a> Check<'a> {
    fn of(decision: &'a Decision, check: &RuleDecision) -> Check<'a> {
        let rule = decision.rule(check);
        Check {
            rule: rule.id(),
            group: rule.group(),
            allowed: check.allowed,
            limit: check.limit,
            remaining: check.remaining,
            retry_after_ms: check.retry_after.map(milliseconds::of),
            reset_after_ms: milliseconds::of(check.reset_after),
            delay_ms: check.delay.map(milliseconds::of),
        }
    }
}
