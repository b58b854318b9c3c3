//! What a gateway asks: may this request pass? The body of `/v1/check` and of `/v1/settle`.

mod ip;
mod names;
mod text;
mod units;

use serde::Deserialize;
use tallyring_protocol::rules::Subject;

use self::ip::Ip;
use self::names::{Attributes, Headers};
use self::text::{Id, Text};
use self::units::{Millis, Units};
use super::json::{self, BadField};
use super::judge::{Booking, Charge, Manner};

const MICROS_PER_MILLI: u64 = 1_000;

/// A request, as its gateway describes it. What is not said is not known: rules that need it do not apply.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a JSON object")]
pub struct Question<'a> {
    #[serde(borrow)]
    client: Option<Text<'a>>,
    #[serde(borrow)]
    tenant: Option<Text<'a>>,
    #[serde(borrow)]
    tier: Option<Text<'a>>,
    ip: Option<Ip>,
    #[serde(borrow)]
    method: Text<'a>,
    #[serde(borrow)]
    path: Text<'a>,
    #[serde(borrow)]
    headers: Headers<'a>,
    #[serde(borrow)]
    attributes: Attributes<'a>,
    #[serde(borrow)]
    priority: Option<Text<'a>>,
    cost: Units,
    #[serde(borrow)]
    reserve: Option<Reserve<'a>>,
    /// Of a settle: the reservation.
    #[serde(borrow)]
    id: Option<Id<'a>>,
    /// Of a settle: what was used.
    actual: Option<Units>,
}

/// A reservation that is to be made.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with id and ttl_ms")]
struct Reserve<'a> {
    #[serde(borrow)]
    id: Id<'a>,
    ttl_ms: Millis,
}

/// What a settle corrects, and to what.
#[derive(Clone, Copy, Debug)]
pub struct Correction<'q> {
    /// The reservation.
    pub id: &'q [u8],
    /// Units that were used.
    pub actual: u64,
}

impl<'a> Question<'a> {
    /// The question that a body is.
    ///
    /// # Errors
    /// The first field that is wrong.
    pub fn parse(body: &'a [u8]) -> Result<Question<'a>, BadField> {
        let question: Question<'a> = json::parse(body)?;
        check_method(&question.method.0)?;
        check_path(&question.path.0)?;
        Ok(question)
    }

    /// What the rules are asked about.
    pub fn subject(&self) -> Subject<'_> {
        Subject {
            client: text(&self.client),
            tenant: text(&self.tenant),
            tier: text(&self.tier),
            ip: self.ip.map(|ip| ip.0),
            method: &self.method.0,
            path: &self.path.0,
            headers: &self.headers,
            attributes: &self.attributes,
        }
    }

    /// What is charged.
    ///
    /// # Errors
    /// A field that has no place in a check, or that makes no sense beside another.
    pub fn charge(&self) -> Result<Charge<'_>, BadField> {
        if self.id.is_some() {
            return Err(BadField::new("id", "a reservation's id stands in reserve; to settle one, ask /v1/settle"));
        }
        if self.actual.is_some() {
            return Err(BadField::new("actual", "what was used is told to /v1/settle"));
        }
        let manner = self.reserve.as_ref().map_or(Ok(Manner::Check), |reserve| self.reservation(reserve))?;
        Ok(Charge { cost: self.cost.0, priority: text(&self.priority), manner })
    }

    fn reservation(&self, reserve: &Reserve<'_>) -> Result<Manner, BadField> {
        if self.cost.0 == 0 {
            return Err(BadField::new("cost", "a reservation reserves at least 1"));
        }
        Ok(Manner::Reserve(Booking { id: reserve.id.0.as_bytes().into(), ttl_us: reserve.ttl_ms.0 * MICROS_PER_MILLI }))
    }

    /// What is corrected.
    ///
    /// # Errors
    /// A field that a settle needs is missing.
    pub fn correction(&self) -> Result<Correction<'_>, BadField> {
        let id = self.id.as_ref().ok_or_else(|| BadField::new("id", "the reservation to settle is missing"))?;
        let actual = self.actual.as_ref().ok_or_else(|| BadField::new("actual", "what was used is missing"))?;
        Ok(Correction { id: id.0.as_bytes(), actual: actual.0 })
    }
}

/// A rule names methods as HTTP does, in capitals; another spelling would be a method that no rule knows.
fn check_method(method: &str) -> Result<(), BadField> {
    if method.bytes().any(|byte| byte.is_ascii_lowercase()) {
        return Err(BadField::new("method", format!("{method:?}: methods are written in capitals, as in \"POST\"")));
    }
    Ok(())
}

/// A path is what follows the host; a whole URL would be a path that no rule knows.
fn check_path(path: &str) -> Result<(), BadField> {
    if path.is_empty() || path.starts_with('/') || path == "*" {
        return Ok(());
    }
    Err(BadField::new("path", format!("{path:?} does not begin with a slash, as in \"/v1/charges\"")))
}

fn text<'t>(text: &'t Option<Text<'_>>) -> Option<&'t str> {
    text.as_ref().map(|text| &*text.0)
}

#[cfg(test)]
mod tests;
