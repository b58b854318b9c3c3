//! A target that has been spoken to: what can be done with it.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::accounts::{Accounts, Draw};
use super::args::Plan;
use super::bucket::{EXACT, LOAD};
use super::callers::Client;
use super::connection::Connection;
use super::dialect::{Dialect, cell, native, redis};
use super::error::BenchError;
use super::exact::{self, Exactness};
use super::feed::{Feed, Load, Sample, Walk};
use super::report::Setting;
use super::round::{self, Round};
use super::target::{Scheme, Target};

/// Calls of a connection that are under way at once while accounts are prepared.
const WALK_PIPELINE: usize = 64;

/// A target and how it is asked.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) target: Rc<Target>,
    /// What the target says it is.
    pub(super) version: Option<String>,
    load: Rc<Dialect>,
    exact: Rc<Dialect>,
    /// Through which the questions go, if not straight into sockets.
    client: Option<Client>,
    /// Forget accounts of the load and of the count, and how many there are: a Redis would keep them for weeks.
    forget: Vec<(Rc<Dialect>, u32)>,
}

/// Under which limit a question is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Load,
    Exact,
}

impl Subject {
    /// Gets to know the target.
    pub(super) async fn meet(target: Target, plan: &Plan) -> Result<Subject, BenchError> {
        let load = Accounts { prefix: "rl".to_owned(), count: plan.keys };
        let exact = Accounts { prefix: fresh_prefix(), count: exact::ACCOUNTS };
        if target.scheme == Scheme::Redis {
            return Subject::meet_redis(target, &load, &exact).await;
        }
        let client = match target.scheme {
            Scheme::Client => Some(Client::open(&target, &plan.token).await?),
            Scheme::Native | Scheme::Floor | Scheme::Resp | Scheme::Redis => None,
        };
        let dialect = if target.scheme == Scheme::Resp { cell::dialect } else { native::dialect };
        Ok(Subject {
            target: Rc::new(target),
            version: None,
            load: Rc::new(dialect(&plan.token, &load, LOAD)),
            exact: Rc::new(dialect(&plan.token, &exact, EXACT)),
            client,
            forget: Vec::new(),
        })
    }

    async fn meet_redis(target: Target, load: &Accounts, exact: &Accounts) -> Result<Subject, BenchError> {
        let known = Connection::ask_once(&target, &redis::introduce(), redis::introduction).await?;
        Ok(Subject {
            target: Rc::new(target),
            load: Rc::new(redis::dialect(&known, load, LOAD)),
            exact: Rc::new(redis::dialect(&known, exact, EXACT)),
            client: None,
            forget: [load, exact].map(|old| (Rc::new(redis::forgetting(old)), old.count)).into(),
            version: Some(known.version),
        })
    }

    /// Whether the target is asked in this way.
    pub(super) fn takes(&self, setting: Setting) -> bool {
        match setting {
            Setting::Pipeline(_) => self.client.is_none(),
            Setting::Callers(_) => self.client.is_some(),
        }
    }

    /// Asks for every account once, and empties one in four, so that rounds find the keys in place.
    pub(super) async fn fill(&self, plan: &Plan) -> Result<(), BenchError> {
        let walk = |number, _started| walk(&self.load, plan.keys, number, self.width(plan), self.depth(WALK_PIPELINE));
        self.talk(Purpose::Load, plan, walk).await.map(|_| ())
    }

    /// Makes the target forget the accounts again, if it would keep them.
    pub(super) async fn clean_up(&self, plan: &Plan) -> Result<(), BenchError> {
        for (forget, accounts) in &self.forget {
            let walk = |number, _started| walk(forget, *accounts, number, plan.connections, WALK_PIPELINE);
            round::run(&self.target, forget, plan.connections, walk).await?;
        }
        Ok(())
    }

    /// Lets the target decide for as long as a round takes. Rounds of one `number` ask all targets for the same accounts.
    pub(super) async fn round(&self, setting: Setting, number: u32, plan: &Plan) -> Result<Round, BenchError> {
        let pipeline = match setting {
            Setting::Pipeline(depth) => depth as usize,
            Setting::Callers(_) => 1,
        };
        let load = |connection, started| Load {
            dialect: self.load.clone(),
            accounts: plan.keys,
            draw: draw(number, connection),
            pipeline,
            until: started + plan.round(),
        };
        self.talk(Purpose::Load, plan, load).await
    }

    /// Compares what the target admits with what the limit allows.
    pub(super) async fn exactness(&self, plan: &Plan) -> Result<Exactness, BenchError> {
        let asked = Rc::new(RefCell::new(vec![0; exact::ACCOUNTS as usize]));
        let calls = exact::ACCOUNTS as usize * exact::CALLS_PER_ACCOUNT;
        let sample = |connection, _started| Sample {
            dialect: self.exact.clone(),
            draw: draw(0, connection),
            left: calls.div_ceil(self.width(plan) as usize),
            pipeline: self.depth(exact::PIPELINE),
            asked: asked.clone(),
        };
        let round = self.talk(Purpose::Exact, plan, sample).await?;
        let asked = asked.borrow();
        Ok(Exactness {
            asked: asked.iter().sum(),
            admitted: round.tally.allowed,
            exact: exact::due(EXACT, &asked),
            undecided: round.tally.undecided,
        })
    }

    /// Has every connection, or every caller of the client, ask what its feed asks.
    async fn talk<F: Feed + 'static>(
        &self,
        purpose: Purpose,
        plan: &Plan,
        feed: impl FnMut(u32, Instant) -> F,
    ) -> Result<Round, BenchError> {
        match (&self.client, purpose) {
            (None, Purpose::Load) => round::run(&self.target, &self.load, plan.connections, feed).await,
            (None, Purpose::Exact) => round::run(&self.target, &self.exact, plan.connections, feed).await,
            (Some(client), Purpose::Load) => Ok(client.run(&self.target, &client.load, plan.callers, feed).await),
            (Some(client), Purpose::Exact) => Ok(client.run(&self.target, &client.exact, plan.callers, feed).await),
        }
    }

    /// How many ask at once.
    fn width(&self, plan: &Plan) -> u32 {
        if self.client.is_some() { plan.callers } else { plan.connections }
    }

    /// How many calls each of them has under way: a caller waits for its answer.
    fn depth(&self, of_connection: usize) -> usize {
        if self.client.is_some() { 1 } else { of_connection }
    }
}

fn walk(dialect: &Rc<Dialect>, accounts: u32, next: u32, step: u32, pipeline: usize) -> Walk {
    Walk { dialect: dialect.clone(), accounts, next, step, pipeline }
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

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use clap::Parser;
    use tokio::runtime::{Builder, LocalOptions};

    use super::*;
    use crate::cli::bench::args::BenchArgs;
    use crate::cli::bench::{floor, servers};

    #[derive(Debug, Parser)]
    struct Program {
        #[command(flatten)]
        bench: BenchArgs,
    }

    fn plan(line: &str) -> Plan {
        Program::try_parse_from(line.split_whitespace()).unwrap().bench.plan()
    }

    /// A floor in a thread of this process, listening.
    fn listening_floor() -> SocketAddr {
        let addr = servers::free_addrs(1).unwrap()[0];
        std::thread::spawn(move || floor::serve(addr));
        while std::net::TcpStream::connect(addr).is_err() {
            std::thread::yield_now();
        }
        addr
    }

    fn with_floor<T>(plan: &Plan, test: impl AsyncFnOnce(&Subject) -> T) -> T {
        let addr = listening_floor();
        let target = Target { label: "floor".into(), scheme: Scheme::Floor, addr, pid: Some(std::process::id()) };
        let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default()).unwrap();
        runtime.block_on(async { test(&Subject::meet(target, plan).await.unwrap()).await })
    }

    #[test]
    fn a_target_that_admits_everything_is_found_out() {
        let plan = plan("bench --connections 3");
        let exactness = with_floor(&plan, async |subject| subject.exactness(&plan).await.unwrap());
        assert_eq!(exactness.admitted, exactness.asked);
        assert!(exactness.exact < exactness.asked && !exactness.is_exact(), "{exactness:?}");
    }

    #[test]
    fn a_round_counts_whole_batches_of_every_connection_and_reads_both_clocks() {
        let plan = Plan { round_ms: 50, ..plan("bench --connections 3 --keys 100") };
        let round = with_floor(&plan, async |subject| subject.round(Setting::Pipeline(7), 1, &plan).await.unwrap());
        let decisions = round.tally.decisions();
        assert!(decisions >= 21 && decisions.is_multiple_of(7), "{decisions}");
        assert_eq!(round.tally.latency_ns.len(), decisions);
        assert!(round.elapsed.as_millis() >= 50 && round.server_cpu_ns.is_some());
    }
}
