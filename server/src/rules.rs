//! The rules of a store: one document, versioned, live in every connected gateway.
//!
//! A push is read (`text`), compiled, and proposed to all nodes (`push`). What they agree on stands in the control plane's
//! state, numbered (`book`) and durable; here it becomes live (`live`): compiled, announced to every connection, and handed
//! out to whoever asks. A document that does not make sense changes nothing, and neither does one that no majority takes.
//!
//! Invariants:
//! - A version that was acknowledged is what this node shows from then on, or a later one.
//! - Versions of one lineage are published in order, each once; two pushes over the same version are one push and one
//!   conflict.
//! - What was live stays so while no majority can be reached, and while what all agreed on is not understood here.
//! - Readers never wait for a push, and shards never see a document that was not compiled.
//!
//! Not here: HTTP (`door`), what a rule decides (`tallyring_protocol::rules`), who may push (`tokens`), how nodes agree
//! (`cluster::control`).

pub mod book;
pub mod edition;
pub mod live;
pub mod publish;
mod push;
pub mod shelf;
pub mod text;
pub mod tier;
pub mod visible;

use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tallyring_protocol::RulesVersion;
use tokio::sync::Notify;

use self::edition::Edition;
use self::live::Live;
use self::publish::Draft;
use self::text::Faults;
use crate::cluster::control::Control;
use crate::sys::spawn;

/// The rules of a store.
#[derive(Debug)]
pub struct Rules {
    live: ArcSwap<Live>,
    control: Control,
    /// Held while other rules become live.
    adopting: Mutex<()>,
    changed: Notify,
}

/// A document that all agreed on and that this program does not understand: it is older than the one that published it.
#[derive(Debug, thiserror::Error)]
#[error("version {version} of the rules is not understood by this program: {faults}")]
pub struct NotUnderstood {
    /// The version.
    pub version: u64,
    /// What is wrong with it.
    pub faults: Faults,
}

impl Rules {
    /// The rules that all nodes have agreed on, as far as this one knows.
    ///
    /// # Errors
    /// [`NotUnderstood`].
    pub fn open(control: Control) -> Result<Rules, NotUnderstood> {
        let live = ArcSwap::from_pointee(Live::none());
        let rules = Rules { live, control, adopting: Mutex::new(()), changed: Notify::new() };
        rules.adopt(None)?;
        Ok(rules)
    }

    /// What is live now.
    pub fn live(&self) -> Arc<Live> {
        self.live.load_full()
    }

    /// The editions that are kept, newest first.
    pub fn history(&self) -> Vec<Arc<Edition>> {
        self.control.state().rules().editions().cloned().collect()
    }

    /// The edition of that number, if it is kept.
    pub fn edition(&self, version: u64) -> Option<Arc<Edition>> {
        self.control.state().rules().edition(version).cloned()
    }

    /// The version that all nodes have agreed on last, as far as this one knows. It is live here a moment later, if this
    /// program understands it.
    pub fn agreed(&self) -> RulesVersion {
        self.control.state().rules().version()
    }

    /// Waits until other rules are live than when this was last called. For one waiter, who tells everybody.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Makes live whatever all nodes agree on, as long as the node runs.
    pub async fn follow(self: Arc<Self>) {
        let mut states = self.control.states();
        let mut seen = self.live().version;
        loop {
            let agreed = states.borrow_and_update().rules().version();
            if agreed != seen {
                seen = agreed;
                let rules = Arc::clone(&self);
                if let Err(error) = spawn::blocking(move || rules.adopt(None)).await {
                    tracing::error!(%error, live = self.live().version.version, "the rules before it stay live");
                }
            }
            if states.changed().await.is_err() {
                return;
            }
        }
    }

    /// Makes live what all nodes agree on, unless it is; whoever drafted it has it compiled already.
    ///
    /// Blocks: it may have to compile.
    fn adopt(&self, draft: Option<Draft>) -> Result<(), NotUnderstood> {
        let _one_at_a_time = self.adopting.lock();
        let state = self.control.state();
        let (version, Some(edition)) = (state.rules().version(), state.rules().live()) else { return Ok(()) };
        if version == self.live().version {
            return Ok(());
        }
        let live = match draft.filter(|draft| draft.text == edition.text) {
            Some(draft) => Live::new(version, Arc::new(draft.set), Arc::clone(edition)),
            None => Live::read(version, edition)
                .map_err(|faults| NotUnderstood { version: edition.imprint.version, faults })?,
        };
        self.live.store(Arc::new(live));
        self.changed.notify_one();
        Ok(())
    }
}

#[cfg(all(test, not(feature = "sim")))] // its clock is set by hand
mod tests;
