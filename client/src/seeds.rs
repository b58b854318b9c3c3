//! Finding the cluster: asks the seeds for a topology whenever no connection is up.
//!
//! A seed is asked, not kept: it says who the members are, and the connections to those live on without it.

use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::connection::{Backoff, Ended, handshake};
use crate::gateway::Gateway;
use crate::router::Router;

/// How often to look whether any connection is up.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Asks the seeds, as often as there is need, until the router is gone.
pub(crate) async fn keep_asking(router: Weak<Router>) {
    let Some(gateway) = router.upgrade().map(|router| Arc::clone(router.gateway())) else { return };
    let mut backoff = Backoff::new(gateway.random());
    while let Some(connected) = router.upgrade().map(|router| router.is_connected()) {
        let wait = if connected {
            backoff.reset();
            LOOK_EVERY
        } else {
            ask_each(&gateway).await;
            backoff.next_wait()
        };
        wait_or_end(&gateway, &router, wait).await;
    }
}

/// Asks one seed after the other until one answers.
async fn ask_each(gateway: &Gateway) {
    for seed in &gateway.config().seeds {
        match ask(seed, gateway).await {
            Ok(()) => return,
            Err(reason) => tracing::debug!(seed, %reason, "a seed does not answer"),
        }
    }
    gateway.seeds_failed();
}

async fn ask(seed: &str, gateway: &Gateway) -> Result<(), Ended> {
    let topology = handshake::open(seed, 0, gateway).await?.topology().await?;
    gateway.learn(topology);
    Ok(())
}

/// Waits, but not for a router that is gone.
async fn wait_or_end(gateway: &Gateway, router: &Weak<Router>, wait: Duration) {
    let deadline = tokio::time::Instant::now() + wait;
    while router.strong_count() > 0 {
        if tokio::time::timeout_at(deadline, gateway.change()).await.is_err() {
            return;
        }
    }
}
