//! A target that has been spoken to: what can be done with it.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

use super::accounts::{Accounts, Draw};
use super::args::Plan;
use super::bucket::{EXACT, LOAD};
use super::connection::Connection;
use super::dialect::{Dialect, native, redis};
use super::error::BenchError;
use super::exact::{self, Exactness};
use super::feed::{Load, Sample, Walk};
use super::report::Setting;
use super::round::{self, Round};
use super::target::{Scheme, Target};

/// Calls of a connection that are under way at once while accounts are prepared.
const WALK_PIPELINE: usize = 64;

/// A target and the languages in which it is asked.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) target: Rc<Target>,
    /// What the target says it is.
    pub(super) version: Option<String>,
    load: Rc<Dialect>,
    exact: Rc<Dialect>,
    /// Forget accounts of the load and of the count, and how many there are: a Redis would keep them for weeks.
    forget: Vec<(Rc<Dialect>, u32)>,
}

impl Subject {
    /// Gets to know the target.
    pub(super) async fn meet(target: Target, plan: &Plan) -> Result<Subject, BenchError> {
        let load = Accounts { prefix: "rl".to_owned(), count: plan.keys };
        let exact = Accounts { prefix: fresh_prefix(), count: exact::ACCOUNTS };
        match target.scheme {
            Scheme::Native | Scheme::Client | Scheme::Floor => Ok(Subject {
                load: Rc::new(native::dialect(&plan.token, &load, LOAD)),
                exact: Rc::new(native::dialect(&plan.token, &exact, EXACT)),
                target: Rc::new(target),
                version: None,
                forget: Vec::new(),
            }),
            Scheme::Redis => {
                let known = Connection::ask_once(&target, &redis::introduce(), redis::introduction).await?;
                Ok(Subject {
                    load: Rc::new(redis::dialect(&known, &load, LOAD)),
                    exact: Rc::new(redis::dialect(&known, &exact, EXACT)),
                    target: Rc::new(target),
                    forget: [load, exact].map(|old| (Rc::new(redis::forgetting(&old)), old.count)).into(),
                    version: Some(known.version),
                })
            }
        }
    }

    /// Whether the target is asked in this way.
    pub(super) fn takes(&self, setting: Setting) -> bool {
        match setting {
            Setting::Pipeline(_) => self.target.scheme != Scheme::Client,
            Setting::Callers(_) => self.target.scheme == Scheme::Client,
        }
    }

    /// Asks for every account once, and empties one in four, so that rounds find the keys in place.
    pub(super) async fn fill(&self, plan: &Plan) -> Result<(), BenchError> {
        self.walk(&self.load, plan.keys, plan).await
    }

    /// Makes the target forget the accounts again, if it would keep them.
    pub(super) async fn clean_up(&self, plan: &Plan) -> Result<(), BenchError> {
        for (forget, accounts) in &self.forget {
            self.walk(forget, *accounts, plan).await?;
        }
        Ok(())
    }

    async fn walk(&self, dialect: &Rc<Dialect>, accounts: u32, plan: &Plan) -> Result<(), BenchError> {
        let walk = |number, _started| Walk {
            dialect: dialect.clone(),
            accounts,
            next: number,
            step: plan.connections,
            pipeline: WALK_PIPELINE,
        };
        round::run(&self.target, dialect, plan.connections, walk).await.map(|_| ())
    }

    /// Lets the target decide for as long as a round takes. Rounds of one `number` ask all targets for the same accounts.
    pub(super) async fn round(&self, setting: Setting, number: u32, plan: &Plan) -> Result<Round, BenchError> {
        let pipeline = match setting {
            Setting::Pipeline(depth) | Setting::Callers(depth) => depth as usize,
        };
        let load = |connection, started| Load {
            dialect: self.load.clone(),
            accounts: plan.keys,
            draw: draw(number, connection),
            pipeline,
            until: started + plan.round(),
        };
        round::run(&self.target, &self.load, plan.connections, load).await
    }

    /// Compares what the target admits with what the limit allows.
    pub(super) async fn exactness(&self, plan: &Plan) -> Result<Exactness, BenchError> {
        let asked = Rc::new(RefCell::new(vec![0; exact::ACCOUNTS as usize]));
        let calls = exact::ACCOUNTS as usize * exact::CALLS_PER_ACCOUNT;
        let sample = |connection, _started| Sample {
            dialect: self.exact.clone(),
            draw: draw(0, connection),
            left: calls.div_ceil(plan.connections as usize),
            pipeline: exact::PIPELINE,
            asked: asked.clone(),
        };
        let round = round::run(&self.target, &self.exact, plan.connections, sample).await?;
        let asked = asked.borrow();
        Ok(Exactness {
            asked: asked.iter().sum(),
            admitted: round.tally.allowed,
            exact: exact::due(EXACT, &asked),
            undecided: round.tally.undecided,
        })
    }
}

/// Repeatable, and different for every connection of every round.
fn draw(round: u32, connection: u32) -> Draw {
    Draw::new(u64::from(round) << 32 | u64::from(connection))
}

/// A prefix that no earlier run had: its accounts are fresh on any target.
fn fresh_prefix() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("exact-{:x}-{}", now.as_micros(), std::process::id())
}
