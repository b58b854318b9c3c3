//! Many callers of one client: what a gateway's requests do.
//!
//! They share the client's few connections, so the client batches what they ask at the same moment. What it costs is this
//! process's own time: the column of the generator is the client's price, the making of the key included.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tallyring_client::{Algorithm, Ask, Limit, LimitHandle, Period, Store, StoreConfig};
use tallyring_protocol::bounds::REQUEST_BYTES_MAX;
use tallyring_protocol::{Charge, Request, frame};
use tokio::task::JoinSet;

use super::bucket::{Bucket, EXACT, LOAD};
use super::dialect::Answer;
use super::error::BenchError;
use super::feed::Feed;
use super::round::{Round, Stopwatch};
use super::tally::Tally;
use super::target::Target;

/// How long a call may take: so long that lateness shows in the latencies and not as a missing decision.
const DEADLINE: Duration = Duration::from_secs(1);

/// How long the client may take until it knows its store.
const READY_MAX: Duration = Duration::from_secs(10);

/// A client that knows its store, and the limits under which it asks.
#[derive(Debug)]
pub(super) struct Client {
    store: Store,
    pub(super) load: LimitHandle,
    pub(super) exact: LimitHandle,
}

impl Client {
    /// Connects.
    pub(super) async fn open(target: &Target, token: &str) -> Result<Client, BenchError> {
        let store = Store::open(StoreConfig {
            seeds: vec![target.addr.to_string()],
            token: token.to_owned(),
            name: "tallyring-bench".to_owned(),
            deadline: DEADLINE,
            ..StoreConfig::default()
        });
        if !store.ready(READY_MAX).await {
            return Err(BenchError::NotReady {
                program: "the client's store",
                addr: target.addr,
                waited_ms: READY_MAX.as_millis(),
            });
        }
        let define = |bucket| store.define(limit(bucket)).expect("a new client has room for two limits");
        Ok(Client { load: define(LOAD), exact: define(EXACT), store })
    }

    /// Lets `callers` callers ask what their feeds ask. `feed` makes the feed of a caller, by its number.
    pub(super) async fn run<F: Feed + 'static>(
        &self,
        target: &Target,
        limit: &LimitHandle,
        callers: u32,
        mut feed: impl FnMut(u32, Instant) -> F,
    ) -> Round {
        let tally = Rc::new(RefCell::new(Tally::new()));
        let watch = Stopwatch::start(target);
        let mut calls = JoinSet::new();
        for number in 0..callers {
            let (store, limit, tally) = (self.store.clone(), limit.clone(), tally.clone());
            let feed = feed(number, watch.started);
            calls.spawn_local(async move { call(&store, &limit, feed, &tally).await });
        }
        calls.join_all().await;
        watch.stop(tally.replace(Tally::new()))
    }
}

/// Asks one question after the other. Questions are frames of the native protocol, as on every other target; here they are
/// read again, and go through the client.
async fn call(store: &Store, limit: &LimitHandle, mut feed: impl Feed, tally: &RefCell<Tally>) {
    let mut question = Vec::new();
    let mut asked = Instant::now();
    while feed.batch(asked, &mut question) > 0 {
        let Charge { key, cost, .. } = charge(&question);
        let answer = match store.check(limit, &key.to_key(), Ask::new(cost)).await {
            Ok(decision) if decision.allowed => Answer::Allowed,
            Ok(_) => Answer::Denied,
            Err(_) => Answer::Undecided,
        };
        question.clear();
        let answered = Instant::now();
        let mut tally = tally.borrow_mut();
        tally.count(answer);
        tally.waited(answered - asked, 1);
        asked = answered;
    }
}

/// The check in a frame that the generator has encoded itself.
fn charge(question: &[u8]) -> Charge<'_> {
    let frame = frame::split(question, REQUEST_BYTES_MAX).ok().flatten();
    match frame.map(|(frame, _)| Request::decode(&frame)) {
        Some(Ok(Request::Check(charge))) => charge,
        _ => unreachable!("a caller's feed asks one check at a time"),
    }
}

fn limit(bucket: Bucket) -> Limit {
    Limit::new(Algorithm::TokenBucket, bucket.limit, Period::Micros(bucket.period_us), Some(bucket.burst))
        .expect("the benchmark's buckets are in their ranges")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buckets_are_limits_of_the_engine() {
        assert_eq!(limit(LOAD).ceiling(), LOAD.burst);
        assert_eq!(limit(EXACT).ceiling(), EXACT.burst);
    }
}
