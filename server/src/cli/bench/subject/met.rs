//! Getting to know a target: which words it understands, and how it is asked about any accounts under any limit.

use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

use tallyring_client::Store;
use tallyring_engine::{Algorithm, Limit};

use super::{Subject, Way};
use crate::cli::bench::accounts::Accounts;
use crate::cli::bench::callers::{self, Askable, Callers, LimitOfStore, Limiter, Spelling};
use crate::cli::bench::connection::Connection;
use crate::cli::bench::dialect::{Dialect, door, http, native, redis};
use crate::cli::bench::error::BenchError;
use crate::cli::bench::plan::Plan;
use crate::cli::bench::sockets::Line;
use crate::cli::bench::target::{Scheme, Target};
use crate::cli::bench::{exact, numbers};

/// A target that has answered.
#[derive(Debug)]
pub(super) struct Met {
    pub(super) target: Rc<Target>,
    token: String,
    connections: u32,
    /// Of a target that is asked through the client crate.
    store: Option<Store>,
}

impl Met {
    pub(super) async fn meet(target: Target, plan: &Plan) -> Result<Met, BenchError> {
        let store = match target.scheme {
            Scheme::Client | Scheme::Limiter => Some(callers::open(&target, &plan.token).await?),
            Scheme::Native | Scheme::Redis | Scheme::Resp | Scheme::Http | Scheme::Floor => None,
        };
        let target = Rc::new(target);
        Ok(Met { target, token: plan.token.clone(), connections: plan.connections, store })
    }

    /// How these accounts are asked for under this limit.
    pub(super) async fn way(&self, accounts: &Accounts, limit: &Limit) -> Result<Way, BenchError> {
        let Some(store) = self.store.clone() else { return Ok(self.sockets(self.dialect(accounts, limit).await?)) };
        Ok(match self.target.scheme {
            Scheme::Limiter => {
                let limiter = Limiter::new(store, limit).expect("the benchmark's rules are as rules must be");
                Way::Limiter(self.callers(limiter, accounts, limit))
            }
            _ => {
                let limit_of_store = LimitOfStore::new(store, *limit).expect("a new client has room for a few limits");
                Way::Client(self.callers(limit_of_store, accounts, limit))
            }
        })
    }

    async fn dialect(&self, accounts: &Accounts, limit: &Limit) -> Result<Dialect, BenchError> {
        let token = self.token.as_str();
        Ok(match self.target.scheme {
            Scheme::Redis => redis::dialect(&self.introduction(limit.algorithm()).await?, accounts, limit),
            Scheme::Resp => door::dialect(token, accounts, limit),
            Scheme::Http => http::dialect(&self.target.addr.to_string(), token, accounts, limit),
            Scheme::Native | Scheme::Floor | Scheme::Client | Scheme::Limiter => {
                native::dialect(token, accounts, limit)
            }
        })
    }

    async fn introduction(&self, algorithm: Algorithm) -> Result<redis::Introduction, BenchError> {
        let script = redis::script(algorithm).expect("nobody asks a target for what it does not speak");
        Connection::ask_once(&self.target, &redis::introduce(script), redis::introduction).await
    }

    /// What the target says it is, and by which command it is asked.
    async fn version(&self, algorithm: Algorithm) -> Result<Option<String>, BenchError> {
        Ok(match self.target.scheme {
            Scheme::Redis => {
                let version = self.introduction(algorithm).await?.version;
                Some(format!("{version}, EVALSHA of the same {}", algorithm.name()))
            }
            Scheme::Resp => Some(door::command(algorithm).to_owned()),
            Scheme::Http => Some("POST /v1/limit".to_owned()),
            Scheme::Native | Scheme::Floor | Scheme::Client | Scheme::Limiter => None,
        })
    }

    /// Makes a target forget accounts that it would keep for weeks, if it is such a one.
    pub(super) fn forgetting(&self, accounts: &Accounts) -> Option<Line> {
        (self.target.scheme == Scheme::Redis).then(|| self.line(redis::forgetting(accounts)))
    }

    fn sockets(&self, dialect: Dialect) -> Way {
        Way::Sockets(self.line(dialect))
    }

    fn line(&self, dialect: Dialect) -> Line {
        Line { target: self.target.clone(), dialect: Rc::new(dialect), connections: self.connections }
    }

    fn callers<A: Askable>(&self, asked: A, accounts: &Accounts, limit: &Limit) -> Callers<A> {
        let spelling = Rc::new(Spelling::new(accounts, limit.ceiling()));
        Callers { target: self.target.clone(), asked, spelling }
    }
}

impl Subject {
    /// Gets to know the target.
    pub(in crate::cli::bench) async fn meet(
        target: Target,
        algorithm: Algorithm,
        plan: &Plan,
    ) -> Result<Subject, BenchError> {
        let load = Accounts { prefix: "rl".to_owned(), count: plan.accounts() };
        let exact = Accounts { prefix: fresh_prefix("exact"), count: exact::ACCOUNTS };
        let met = Met::meet(target, plan).await?;
        Ok(Subject {
            algorithm,
            version: met.version(algorithm).await?,
            load: met.way(&load, &numbers::load(algorithm, plan.mix)).await?,
            exact: met.way(&exact, &numbers::exact(algorithm)).await?,
            callers: plan.callers,
            forget: [load, exact].iter().filter_map(|old| Some((met.forgetting(old)?, old.count))).collect(),
            met,
        })
    }
}

/// A prefix that no earlier run had: its accounts are fresh on any target.
pub(in crate::cli::bench) fn fresh_prefix(purpose: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{purpose}-{:x}-{:x}", now.as_micros(), std::process::id())
}
