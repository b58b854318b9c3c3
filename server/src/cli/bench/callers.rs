//! Many callers in one process: what a gateway's requests do.
//!
//! They share the client's few connections, so the client batches what they ask at the same moment. What it costs is this
//! process's own time: the column of the generator is the client's price, the making of the key included.

mod limiter;
mod store;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use tallyring_client::{IN_FLIGHT_MAX, Store, StoreConfig};
use tokio::task::JoinSet;

use super::accounts::Accounts;
use super::arrivals::Arrivals;
use super::dialect::Answer;
use super::error::BenchError;
use super::feed::{Call, Cost, Feed};
use super::round::{Round, Stopwatch};
use super::sockets::ANSWERS_WAIT_MAX;
use super::tally::Tally;
use super::target::Target;
use super::template::Template;

pub(super) use limiter::Limiter;
pub(super) use store::LimitOfStore;

/// How long a call may take: so long that lateness shows in the latencies and not as a missing decision.
const DEADLINE: Duration = Duration::from_secs(1);

/// How long the client may take until it knows its store.
const READY_MAX: Duration = Duration::from_secs(10);

/// Whatever can be asked by a function call.
pub(super) trait Askable: Clone + 'static {
    /// May the account that is spelled so have these units?
    fn ask(&self, account: &str, cost: u64) -> impl Future<Output = Answer>;
}

/// A client that knows its store.
pub(super) async fn open(target: &Target, token: &str) -> Result<Store, BenchError> {
    let store = Store::open(StoreConfig {
        seeds: vec![target.addr.to_string()],
        token: token.to_owned(),
        name: "tallyring-bench".to_owned(),
        deadline: DEADLINE,
        in_flight_max: IN_FLIGHT_MAX,
        ..StoreConfig::default()
    });
    match store.ready(READY_MAX).await {
        true => Ok(store),
        false => {
            let waited_ms = READY_MAX.as_millis();
            Err(BenchError::NotReady { program: "the client's store", addr: target.addr, waited_ms })
        }
    }
}

/// How accounts are spelled, and how many units each has.
#[derive(Clone, Debug)]
pub(super) struct Spelling {
    template: Template,
    units: u64,
}

impl Spelling {
    pub(super) fn new(accounts: &Accounts, units: u64) -> Spelling {
        Spelling { template: Template::new(accounts, |key, out| out.extend_from_slice(key.as_bytes())), units }
    }

    /// Writes the call's account over `text`, and says what it costs.
    fn spell(&self, call: Call, text: &mut String) -> u64 {
        let mut bytes = std::mem::take(text).into_bytes();
        bytes.clear();
        self.template.write(call.account, &mut bytes);
        *text = String::from_utf8(bytes).expect("keys are ASCII");
        match call.cost {
            Cost::One => 1,
            Cost::All => self.units,
        }
    }
}

/// Something that is asked, about these accounts.
#[derive(Clone, Debug)]
pub(super) struct Callers<A> {
    pub(super) target: Rc<Target>,
    pub(super) asked: A,
    pub(super) spelling: Rc<Spelling>,
}

impl<A: Askable> Callers<A> {
    /// A closed loop: each of so many callers asks what its feed asks, one call after the other. `feed` makes the feed of
    /// a caller, by its number.
    pub(super) async fn converse<F: Feed + 'static>(
        &self,
        callers: u32,
        mut feed: impl FnMut(u32, Instant) -> F,
    ) -> Round {
        let tally = Rc::new(RefCell::new(Tally::new()));
        let watch = Stopwatch::start(&self.target);
        let mut calls = JoinSet::new();
        for number in 0..callers {
            let (this, tally, feed) = (self.clone(), tally.clone(), feed(number, watch.started));
            calls.spawn_local(async move { this.ask_on(feed, &tally).await });
        }
        calls.join_all().await;
        watch.stop(tally.replace(Tally::new()), None)
    }

    async fn ask_on(&self, mut feed: impl Feed, tally: &RefCell<Tally>) {
        let mut account = String::new();
        let mut said = Instant::now();
        while let Some(call) = feed.next(said) {
            let cost = self.spelling.spell(call, &mut account);
            let answer = self.asked.ask(&account, cost).await;
            let now = Instant::now();
            let mut tally = tally.borrow_mut();
            tally.count(answer);
            tally.latency.note(now - said, 1);
            said = now;
        }
    }

    /// An open loop: a caller comes whenever a call is due, however many are still waiting.
    pub(super) async fn pace(&self, mut arrivals: Arrivals, mut feed: impl Feed) -> Round {
        let tally = Rc::new(RefCell::new(Tally::new()));
        let under_way = Rc::new(Cell::new(0_u64));
        let watch = Stopwatch::start(&self.target);
        let patience = arrivals.length() + ANSWERS_WAIT_MAX;
        let mut number = 0;
        while watch.started.elapsed() < patience && (number < arrivals.count || under_way.get() > 0) {
            let now = Instant::now();
            while let Some(due) = arrivals.due(number).map(|due| watch.started + due).filter(|due| *due <= now) {
                let Some(call) = feed.next(now) else {
                    arrivals.count = number; // the feed has no more
                    break;
                };
                tally.borrow_mut().lateness.note(now - due, 1);
                tokio::task::spawn_local(self.clone().ask_once(call, due, tally.clone(), under_way.clone()));
                under_way.set(under_way.get() + 1);
                number += 1;
            }
            tokio::task::yield_now().await;
        }
        let mut tally = tally.replace(Tally::new());
        let missing = under_way.get() + (arrivals.count - number);
        tally.undecided += missing;
        tally.latency.note(ANSWERS_WAIT_MAX, usize::try_from(missing).unwrap_or(usize::MAX));
        watch.stop(tally, Some(arrivals.calls_per_s))
    }

    async fn ask_once(self, call: Call, due: Instant, tally: Rc<RefCell<Tally>>, under_way: Rc<Cell<u64>>) {
        let mut account = String::new();
        let cost = self.spelling.spell(call, &mut account);
        let answer = self.asked.ask(&account, cost).await;
        let mut tally = tally.borrow_mut();
        tally.count(answer);
        tally.latency.note(due.elapsed(), 1);
        under_way.set(under_way.get() - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_spelled_as_its_key_and_costs_a_unit_or_all() {
        let spelling = Spelling::new(&Accounts { prefix: "rl".into(), count: 10 }, 1_000);
        let mut account = "what was there before".to_owned();
        assert_eq!(spelling.spell(Call { account: 7, cost: Cost::One }, &mut account), 1);
        assert_eq!(account, "rl:{acct_000007}:route");
        assert_eq!(spelling.spell(Call { account: 8, cost: Cost::All }, &mut account), 1_000);
        assert_eq!(account, "rl:{acct_000008}:route");
    }
}
