//! `/v1/limit`: one operation on explicit numbers, an event of `tallyring trace` without its instant.

mod answer;

use axum::http::HeaderName;
use axum::response::{IntoResponse, Response};
use tallyring_engine::Ask;
use tallyring_protocol::Key;

use self::answer::{Answer, Limits};
use super::HttpDoor;
use super::line::Json;
use super::problem::Problem;
use crate::door::shards::{Refusal, Seat, Shards};
use crate::event::field::{self, BadField, Fields};
use crate::event::stranger::stranger;
use crate::event::{self, Check, Operation, Subject};
use crate::limits::code_of;
use crate::shard::command::{Booking, Claim, Errand, ForeignPart, Op};

/// The instant of the decision, in microseconds of the node's clock: what a refund names as `charged_at_us`.
const AT_US: HeaderName = HeaderName::from_static("tallyring-at-us");

/// What a shard is asked for an event, and the numbers that its answer does not repeat.
struct Asked {
    seat: Seat,
    errand: Errand,
    limits: Limits,
}

/// Does what the event asks for.
pub(super) async fn limit(door: &HttpDoor, body: &[u8]) -> Result<Response, Problem> {
    let fields = fields(body)?;
    let op = event::op(&fields)?;
    if let Some(stranger) = stranger(op, &fields) {
        return Err(Problem::field(&stranger.path, stranger.reason));
    }
    let operation = event::operation(op, &fields)?;
    let Asked { seat, errand, limits } = door.shards.asked(&operation)?;
    let answered = door.shards.ask_ceiling(seat, errand).await;
    let (reply, ceiling) = answered.map_err(|refusal| told(op, refusal))?;
    let limits = ceiling.map_or(limits, |ceiling| Limits::from_iter([ceiling]));
    let Some((answer, at_us)) = Answer::of(&reply, &limits) else { return Err(Refusal::Unavailable.into()) };
    Ok(match at_us {
        Some(at_us) => ([(AT_US, at_us.to_string())], Json(answer)).into_response(),
        None => Json(answer).into_response(),
    })
}

/// A refusal that says what is full: the store's memory, or what one key or one shard may have.
fn told(op: event::Op, refusal: Refusal) -> Problem {
    let what = match (op, &refusal) {
        (event::Op::Acquire, Refusal::Full) => "the key has 10,000 holders",
        (event::Op::Reserve, Refusal::Full) => "the shard has 100,000 reservations",
        _ => return refusal.into(),
    };
    Problem::from(refusal).detailed(format!("full: {what}, or there is no room for another key; nothing was charged"))
}

fn fields(body: &[u8]) -> Result<Fields, BadField> {
    field::parse(std::str::from_utf8(body).map_err(|_| BadField::line())?)
}

impl Shards {
    fn asked(&self, operation: &Operation<'_>) -> Result<Asked, Problem> {
        match *operation {
            Operation::Check(Check { subject, ask }) => self.on_budget(subject, Op::Check(ask)),
            Operation::CheckAll(ref checks) => self.together(checks),
            Operation::Take { subject, cost, keep } => self.on_budget(subject, Op::Take { cost, keep }),
            Operation::Refund { subject, cost, charged_at } => self.on_budget(subject, Op::Refund { cost, charged_at }),
            Operation::Reserve { check: Check { subject, ask }, id, ttl_us } => self.booked(subject, ask, id, ttl_us),
            Operation::Settle { key, id, actual } => {
                let key = raw(key)?;
                let reservation = self.seeds().reservation(key.as_ref(), id.as_bytes());
                let errand = Errand::Settle { reservation, actual };
                Ok(Asked { seat: self.of(key.as_ref()), errand, limits: Limits::new() })
            }
            Operation::Acquire { subject: Subject { key, limit }, holder, cost, ttl_us } => {
                let key = raw(key)?;
                let holder = self.seeds().holder(key.as_ref(), holder.as_bytes());
                let errand = Errand::Acquire(Box::new(Claim { holder, limit, cost, ttl_us }));
                Ok(Asked { seat: self.of(key.as_ref()), errand, limits: Limits::from_iter([limit.limit()]) })
            }
            Operation::Release { key, holder } => {
                let key = raw(key)?;
                let errand = Errand::Release(self.seeds().holder(key.as_ref(), holder.as_bytes()));
                Ok(Asked { seat: self.of(key.as_ref()), errand, limits: Limits::new() })
            }
        }
    }

    fn on_budget(&self, Subject { key, limit }: Subject<'_>, op: Op) -> Result<Asked, Problem> {
        let (key, limits) = (raw(key)?, Limits::from_iter([limit.ceiling()]));
        let seat = self.of(key.as_ref());
        Ok(Asked { seat, errand: Errand::Decide(key, self.definition(limit), op), limits })
    }

    fn booked(&self, Subject { key, limit }: Subject<'_>, ask: Ask, id: &str, ttl_us: u64) -> Result<Asked, Problem> {
        let (key, limits) = (raw(key)?, Limits::from_iter([limit.ceiling()]));
        let key = key.as_ref();
        let counter = self.seeds().identify(key, code_of(limit.algorithm()));
        let booking = Booking { counter, reservation: self.seeds().reservation(key, id.as_bytes()), ask, ttl_us };
        let errand = Errand::Reserve(self.definition(limit), Box::new(booking));
        Ok(Asked { seat: self.of(key), errand, limits })
    }

    fn together(&self, checks: &[Check<'_>]) -> Result<Asked, Problem> {
        let parts = checks.iter().map(|check| self.part(check)).collect::<Result<Vec<_>, Problem>>()?;
        let (seats, parts): (Vec<Seat>, Vec<ForeignPart>) = parts.into_iter().unzip();
        let [seat, others @ ..] = &seats[..] else { return Err(BadField::named("checks").into()) };
        if others.iter().any(|other| other != seat) {
            let reason = "cross_shard: their keys live on several shards; keys with the same {tag} share one";
            return Err(Problem::field("checks", reason));
        }
        let limits = checks.iter().map(|check| check.subject.limit.ceiling()).collect();
        Ok(Asked { seat: *seat, errand: Errand::CheckAll(parts.into()), limits })
    }

    fn part(&self, Check { subject: Subject { key, limit }, ask }: &Check<'_>) -> Result<(Seat, ForeignPart), Problem> {
        let key = raw(key)?;
        let identity = self.seeds().identify(key.as_ref(), code_of(limit.algorithm()));
        let part = ForeignPart { definition: self.definition(*limit), identity, ask: *ask };
        Ok((self.of(key.as_ref()), part))
    }
}

fn raw(key: &str) -> Result<Key, Problem> {
    Key::raw(key.as_bytes()).map_err(|error| Problem::field("key", error.to_string()))
}
