//! A target that has been spoken to, under one algorithm: what can be done with it.

mod met;
mod way;

use std::cell::RefCell;
use std::rc::Rc;

use tallyring_engine::{Algorithm, Limit};

use super::accounts::Accounts;
use super::arrivals::Arrivals;
use super::draw::Draw;
use super::error::BenchError;
use super::exact::{self, Exactness};
use super::feed::{Feed, Load, Sample, Until, Walk};
use super::mix::Pick;
use super::numbers;
use super::plan::Plan;
use super::round::Round;
use super::setting::Shape;
use super::sockets::Line;
use super::target::{Scheme, Target};
use met::Met;
use way::Way;

pub(super) use met::fresh_prefix;

/// Calls of a connection that are under way at once while accounts are prepared.
const WALK_PIPELINE: usize = 64;

/// A target and how it is asked.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) algorithm: Algorithm,
    /// What the target says it is, and by which command it is asked.
    pub(super) version: Option<String>,
    met: Met,
    /// Asks for the accounts of the load, and for those where admissions are counted.
    load: Way,
    exact: Way,
    /// How many callers there are, where there are callers.
    callers: u32,
    /// Forget accounts of the load and of the count, and how many there are: a Redis would keep them for weeks.
    forget: Vec<(Line, u32)>,
}

impl Subject {
    pub(super) fn target(&self) -> &Target {
        &self.met.target
    }

    /// Whether the target is asked in this way.
    pub(super) fn takes(&self, shape: Shape) -> bool {
        match (&self.load, shape) {
            // What clients of HTTP call pipelining nobody uses.
            (Way::Sockets(_), Shape::Pipeline(depth)) => self.target().scheme != Scheme::Http || depth == 1,
            (Way::Client(_) | Way::Limiter(_), Shape::Callers(_)) => true,
            _ => false,
        }
    }

    /// Whether it decides anything.
    pub(super) fn decides(&self) -> bool {
        self.target().scheme != Scheme::Floor
    }

    /// Asks for every account once, and empties one in four, so that rounds find the keys in place.
    pub(super) async fn fill(&self, plan: &Plan) -> Result<(), BenchError> {
        self.walk(&self.load, 0..plan.accounts(), true).await
    }

    /// Asks for some of these accounts once each, under this limit.
    pub(super) async fn spread(
        &self,
        accounts: &Accounts,
        range: std::ops::Range<u32>,
        limit: &Limit,
    ) -> Result<(), BenchError> {
        let way = self.met.way(accounts, limit).await?;
        self.walk(&way, range, false).await
    }

    async fn walk(&self, way: &Way, range: std::ops::Range<u32>, empties: bool) -> Result<(), BenchError> {
        let step = way.width(self.callers);
        let walk = |number, _started| Walk { accounts: range.end, next: range.start + number, step, empties };
        way.converse(self.depth(WALK_PIPELINE), self.callers, walk).await.map(|_| ())
    }

    /// Makes the target forget everything that was asked for, if it would keep it.
    pub(super) async fn clean_up(&self) -> Result<(), BenchError> {
        for (line, accounts) in &self.forget {
            forget(line, *accounts).await?;
        }
        Ok(())
    }

    /// The same for other accounts.
    pub(super) async fn forget(&self, accounts: &Accounts) -> Result<(), BenchError> {
        match self.met.forgetting(accounts) {
            Some(line) => forget(&line, accounts.count).await,
            None => Ok(()),
        }
    }

    /// A closed loop, for as long as a round takes. Rounds of one `number` ask all targets for the same accounts.
    pub(super) async fn round(&self, shape: Shape, number: u32, plan: &Plan, pick: &Pick) -> Result<Round, BenchError> {
        let load = |connection, started| Until { feed: load(number, connection, pick), end: started + plan.round() };
        self.load.converse(shape.batch() as usize, self.callers, load).await
    }

    /// An open loop of the load.
    pub(super) async fn pace(&self, arrivals: Arrivals, number: u32, pick: &Pick) -> Result<Round, BenchError> {
        self.load.pace(arrivals, load(number, 0, pick)).await
    }

    /// An open loop that asks for other accounts, in order.
    pub(super) async fn pace_through(
        &self,
        arrivals: Arrivals,
        accounts: &Accounts,
        range: std::ops::Range<u32>,
        limit: &Limit,
    ) -> Result<Round, BenchError> {
        let way = self.met.way(accounts, limit).await?;
        way.pace(arrivals, Walk { accounts: range.end, next: range.start, step: 1, empties: false }).await
    }

    /// Compares what the target admits with what the limit allows.
    pub(super) async fn exactness(&self) -> Result<Exactness, BenchError> {
        let asked = Rc::new(RefCell::new(vec![0; exact::ACCOUNTS as usize]));
        let calls = exact::ACCOUNTS as usize * exact::CALLS_PER_ACCOUNT;
        let left = calls.div_ceil(self.exact.width(self.callers) as usize);
        let sample = |connection, _started| Sample { draw: draw(0, connection), left, asked: asked.clone() };
        let round = self.exact.converse(self.depth(exact::PIPELINE), self.callers, sample).await?;
        let asked = asked.borrow();
        Ok(Exactness {
            asked: asked.iter().sum(),
            admitted: round.tally.allowed,
            exact: exact::due(&numbers::exact(self.algorithm), &asked),
            undecided: round.tally.undecided,
        })
    }

    /// How many calls a connection has under way: who speaks HTTP waits for the answer, as a caller does.
    fn depth(&self, of_connection: usize) -> usize {
        if self.takes(Shape::Pipeline(u32::MAX)) { of_connection } else { 1 }
    }
}

async fn forget(line: &Line, accounts: u32) -> Result<(), BenchError> {
    let step = line.connections;
    let walk = |next, _started| Walk { accounts, next, step, empties: false };
    line.converse(WALK_PIPELINE, walk).await.map(|_| ())
}

fn load(round: u32, connection: u32, pick: &Pick) -> impl Feed + use<> {
    Load { pick: pick.clone(), draw: draw(round, connection) }
}

/// Repeatable, and different for every connection of every round.
fn draw(round: u32, connection: u32) -> Draw {
    Draw::new(u64::from(round) << 32 | u64::from(connection))
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::time::Duration;

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
        runtime.block_on(async { test(&Subject::meet(target, Algorithm::TokenBucket, plan).await.unwrap()).await })
    }

    #[test]
    fn a_target_that_admits_everything_is_found_out() {
        let plan = plan("bench --connections 3");
        let exactness = with_floor(&plan, async |subject| subject.exactness().await.unwrap());
        assert_eq!(exactness.admitted, exactness.asked);
        assert!(exactness.exact < exactness.asked && !exactness.is_exact(), "{exactness:?}");
    }

    #[test]
    fn a_round_counts_whole_batches_of_every_connection_and_reads_both_clocks() {
        let plan = Plan { round_ms: 50, ..plan("bench --connections 3 --keys 100") };
        let pick = Pick::new(plan.mix, plan.keys);
        let round =
            with_floor(&plan, async |subject| subject.round(Shape::Pipeline(7), 1, &plan, &pick).await.unwrap());
        let decisions = round.tally.decisions();
        assert!(decisions >= 21 && decisions.is_multiple_of(7), "{decisions}");
        assert_eq!(round.tally.latency.len(), decisions);
        assert!(round.elapsed.as_millis() >= 50 && round.server_cpu_ns.is_some());
        assert_eq!(round.offered_per_s, None);
    }

    #[test]
    fn an_open_loop_says_every_call_of_its_plan_and_hears_every_answer() {
        let plan = plan("bench --connections 3 --keys 100");
        let pick = Pick::new(plan.mix, plan.keys);
        let arrivals = Arrivals::within(Duration::from_millis(50), 20_000, 4);
        let round = with_floor(&plan, async |subject| subject.pace(arrivals, 1, &pick).await.unwrap());
        assert_eq!(round.tally.decisions() + round.tally.undecided, 1_000);
        assert_eq!((round.tally.latency.len(), round.tally.lateness.len()), (1_000, 1_000));
        assert_eq!(round.offered_per_s, Some(20_000));
    }

    #[test]
    fn an_open_loop_ends_with_its_feed() {
        let (plan, accounts) = (plan("bench --connections 3"), Accounts { prefix: "new".into(), count: 10 });
        let arrivals = Arrivals::within(Duration::from_millis(50), 20_000, 4);
        let limit = numbers::load(Algorithm::TokenBucket, plan.mix);
        let round =
            with_floor(&plan, async |subject| subject.pace_through(arrivals, &accounts, 0..10, &limit).await.unwrap());
        assert_eq!(round.tally.decisions(), 10);
    }
}
