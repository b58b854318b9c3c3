//! This gateway, as its connections know it: who it is, how long it waits, whom to tell what they learn.

use std::sync::Weak;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tallyring_protocol::{RulesVersion, Topology};
use tokio::sync::{Notify, Semaphore, SemaphorePermit, watch};

use crate::config::StoreConfig;
use crate::router::Router;
use crate::sys::random::Random;

/// Calls that may wait for a connection to come up; one more fails at once.
const WAITING_MAX: usize = 1_024;

/// Shared by the connections of one store.
#[derive(Debug)]
pub(crate) struct Gateway {
    config: StoreConfig,
    instance: u128,
    random: Mutex<Random>,
    router: Weak<Router>,
    changed: Notify,
    waiting: Semaphore,
    /// The newest rules that any node has announced.
    rules: watch::Sender<RulesVersion>,
    /// Whether the seeds have not failed yet: a first call may wait for their answer.
    is_hopeful: AtomicBool,
}

impl Gateway {
    /// A gateway with an instance id of its own, whose connections report to `router`.
    pub(crate) fn new(config: StoreConfig, router: Weak<Router>) -> Gateway {
        let mut random = config.random_seed.map_or_else(Random::from_os, Random::from_seed);
        Gateway {
            instance: random.next_u128(),
            random: Mutex::new(random),
            router,
            changed: Notify::new(),
            waiting: Semaphore::new(WAITING_MAX),
            rules: watch::Sender::new(RulesVersion::NONE),
            is_hopeful: AtomicBool::new(true),
            config,
        }
    }

    /// What the store was opened with.
    pub(crate) fn config(&self) -> &StoreConfig {
        &self.config
    }

    /// Every hello carries it, so that the store counts gateways and not connections.
    pub(crate) fn instance(&self) -> u128 {
        self.instance
    }

    /// A generator of its own for one connection.
    pub(crate) fn random(&self) -> Random {
        Random::from_seed(self.random.lock().next_u64())
    }

    /// A topology was pushed.
    pub(crate) fn learn(&self, topology: Topology) {
        if let Some(router) = self.router.upgrade() {
            router.learn(topology);
        }
    }

    /// A node has announced its rules: the newest are remembered.
    pub(crate) fn announce_rules(&self, version: RulesVersion) {
        self.rules.send_if_modified(|known| {
            let is_newer = version > *known;
            *known = version.max(*known);
            is_newer
        });
    }

    /// What was announced, and will be.
    pub(crate) fn announced_rules(&self) -> watch::Receiver<RulesVersion> {
        self.rules.subscribe()
    }

    /// Something that a call may wait for: a topology came, a connection came up, or will not soon.
    pub(crate) fn announce_change(&self) {
        self.changed.notify_waiters();
    }

    /// No seed has answered.
    pub(crate) fn seeds_failed(&self) {
        self.is_hopeful.store(false, Ordering::Relaxed);
        self.announce_change();
    }

    /// Whether a first topology may come in a moment.
    pub(crate) fn is_hopeful(&self) -> bool {
        self.is_hopeful.load(Ordering::Relaxed)
    }

    /// Leave to wait for a change, unless too many wait already.
    pub(crate) fn may_wait(&self) -> Option<SemaphorePermit<'_>> {
        self.waiting.try_acquire().ok()
    }

    /// The next change from here on.
    pub(crate) fn change(&self) -> tokio::sync::futures::Notified<'_> {
        self.changed.notified()
    }
}
