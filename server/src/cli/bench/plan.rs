//! What a run does: every number is settled.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serializer;
use tallyring_engine::Algorithm;

use super::mix::Mix;
use super::setting::{Pace, Setting, Shape};
use super::target::TargetUrl;

/// A run.
#[derive(Clone, Debug, serde::Serialize)]
pub(super) struct Plan {
    pub(super) connections: u32,
    pub(super) pipelines: Vec<u32>,
    pub(super) callers: u32,
    #[serde(serialize_with = "names")]
    pub(super) algorithms: Vec<Algorithm>,
    pub(super) keys: u32,
    pub(super) mix: Mix,
    pub(super) rounds: u32,
    pub(super) round_ms: u64,
    /// Open loops at these hundredths of what each target reached, and at these rates.
    pub(super) percents: Vec<u32>,
    pub(super) rates: Vec<u64>,
    /// New keys while growing, and keys that expire at one instant.
    pub(super) grow: Option<u32>,
    pub(super) expire: Option<u32>,
    /// Key counts at which memory is read.
    pub(super) memory: Vec<u32>,
    pub(super) aa: bool,
    #[serde(skip)]
    pub(super) targets: Vec<TargetUrl>,
    #[serde(skip)]
    pub(super) json: Option<PathBuf>,
    #[serde(skip)]
    pub(super) html: Option<PathBuf>,
    #[serde(skip)]
    pub(super) markdown: bool,
    #[serde(skip)]
    pub(super) token: String,
    #[serde(skip)]
    pub(super) remote_allowed: bool,
}

fn names<S: Serializer>(algorithms: &[Algorithm], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(algorithms.iter().map(|algorithm| algorithm.name()))
}

impl Plan {
    pub(super) fn round(&self) -> Duration {
        Duration::from_millis(self.round_ms)
    }

    /// Accounts that the load asks for.
    pub(super) fn accounts(&self) -> u32 {
        if self.mix == Mix::Hot { 1 } else { self.keys }
    }

    /// Every way in which targets are asked, in the order of the run: closed loops first, since the others refer to them.
    pub(super) fn settings(&self) -> Vec<Setting> {
        let closed = self.shapes().map(Setting::closed);
        let percents = self.percents.iter().map(|percent| Pace::Percent(*percent));
        let paces: Vec<Pace> = percents.chain(self.rates.iter().map(|rate| Pace::Rate(*rate))).collect();
        let open = self.shapes().flat_map(|shape| paces.iter().map(move |pace| Setting { shape, pace: *pace }));
        // One shape is enough for what is to happen to a server: the deepest, which it survives for the shortest time.
        let events = self.grow.map(|_| Pace::Growing).into_iter().chain(self.expire.map(|_| Pace::Expiring));
        let deepest = Shape::Pipeline(self.pipelines.iter().copied().max().unwrap_or(1));
        closed.chain(open).chain(events.map(|pace| Setting { shape: deepest, pace })).collect()
    }

    fn shapes(&self) -> impl Iterator<Item = Shape> {
        let pipelines = self.pipelines.iter().map(|depth| Shape::Pipeline(*depth));
        pipelines.chain([Shape::Callers(self.callers)])
    }
}
