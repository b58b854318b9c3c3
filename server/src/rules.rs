//! The rules of a store: one document, versioned, live in every connected gateway.
//!
//! A push is read (`text`), compared with what its author believed to be live, written down (`shelf`), numbered (`book`)
//! and only then live: announced to every connection, and handed out to whoever asks. A document that does not make sense
//! changes nothing, and neither does one that cannot be written down.
//!
//! Invariants:
//! - A version that was acknowledged survives the end of the process, if the node has a folder.
//! - Versions of one lineage are published in order, each once; two pushes over the same version are one push and one
//!   conflict.
//! - Readers never wait for a push, and shards never see a document that was not compiled.
//!
//! Not here: HTTP (`door`), what a rule decides (`tallyring_protocol::rules`), who may push (`tokens`).

pub mod book;
pub mod edition;
pub mod live;
pub mod publish;
pub mod shelf;
pub mod text;
pub mod tier;
pub mod visible;

use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tallyring_protocol::RulesVersion;
use tokio::sync::Notify;

use self::book::{Book, Verdict};
use self::edition::Edition;
use self::live::Live;
use self::publish::{Draft, Publication, PublishError, Push, WriteError};
use self::shelf::{Shelf, ShelfError};
use self::text::Faults;
use crate::sys::clock::Clock;

/// The folder of the rules inside a node's data folder.
const FOLDER: &str = "rules";

/// The rules of a store.
#[derive(Debug)]
pub struct Rules {
    live: ArcSwap<Live>,
    /// Held while a push is written down: pushes are one after the other.
    archive: Mutex<Archive>,
    changed: Notify,
    clock: Clock,
}

/// What is kept of the rules besides what is live.
#[derive(Debug)]
struct Archive {
    book: Book,
    shelf: Option<Shelf>,
}

/// Why a node's rules cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A file or the folder is damaged.
    #[error("{0}")]
    Shelf(#[from] ShelfError),
    /// What was published once is not understood any more.
    #[error("version {version} of the rules is not understood by this program: {faults}")]
    Text {
        /// The version that is live.
        version: u64,
        /// What is wrong with it.
        faults: Faults,
    },
}

impl Rules {
    /// The rules that stand in a node's data folder; without a folder, none, and none survive the process.
    ///
    /// # Errors
    /// [`OpenError`]: something there is damaged, or cannot be read.
    pub fn open(clock: Clock, data: Option<&Path>) -> Result<Rules, OpenError> {
        let (shelf, book) = match data {
            Some(folder) => Shelf::open(&folder.join(FOLDER)).map(|(shelf, book)| (Some(shelf), book))?,
            None => (None, Book::default()),
        };
        let live = match book.live() {
            None => Live::none(),
            Some(edition) => Live::read(book.version(), edition)
                .map_err(|faults| OpenError::Text { version: edition.imprint.version, faults })?,
        };
        let archive = Mutex::new(Archive { book, shelf });
        Ok(Rules { live: ArcSwap::from_pointee(live), archive, changed: Notify::new(), clock })
    }

    /// What is live now.
    pub fn live(&self) -> Arc<Live> {
        self.live.load_full()
    }

    /// The editions that are kept, newest first.
    pub fn history(&self) -> Vec<Arc<Edition>> {
        self.archive.lock().book.editions().cloned().collect()
    }

    /// The edition of that number, if it is kept.
    pub fn edition(&self, version: u64) -> Option<Arc<Edition>> {
        self.archive.lock().book.edition(version).cloned()
    }

    /// Waits until other rules are live than when this was last called. For one waiter, who tells everybody.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Publishes a document, unless it is live already: then nothing changes and that is said.
    ///
    /// Blocks: it compiles the document and waits for the disk.
    ///
    /// # Errors
    /// [`PublishError`]; nothing has changed.
    pub fn publish(&self, push: &Push) -> Result<Publication, PublishError> {
        let mut archive = self.archive.lock();
        let live = self.live();
        if !push.expect.allows(live.version) {
            return Err(PublishError::Conflict { live: live.version }); // before it is compiled: it may be long
        }
        let Draft { text, set, warnings } = push.change.apply(&live)?;
        let now_us = self.clock.now_us();
        let version = match archive.book.judge(&push.expect, &text, now_us) {
            Verdict::Conflict(live) => return Err(PublishError::Conflict { live }),
            Verdict::Live(version) => return Ok(Publication { version, is_new: false, warnings }),
            Verdict::Next(version) => archive.add(version, push.edition(version.version, text, now_us))?,
        };
        let edition = archive.book.live().expect("one was just added");
        self.live.store(Arc::new(Live::new(version, Arc::new(set), Arc::clone(edition))));
        self.changed.notify_one();
        Ok(Publication { version, is_new: true, warnings })
    }
}

impl Archive {
    /// Writes an edition down, makes it the last of the history, and forgets what is too old.
    fn add(&mut self, version: RulesVersion, edition: Edition) -> Result<RulesVersion, WriteError> {
        if let Some(shelf) = &self.shelf {
            shelf.write(version.lineage, &edition)?;
        }
        for forgotten in self.book.add(version.lineage, edition) {
            self.remove(forgotten.imprint.version);
        }
        Ok(version)
    }

    fn remove(&self, version: u64) {
        let removed = self.shelf.as_ref().map_or(Ok(()), |shelf| shelf.remove(version));
        if let Err(error) = removed {
            tracing::warn!(%error, version, "an old version of the rules cannot be removed");
        }
    }
}

#[cfg(all(test, not(feature = "sim")))] // its clock is set by hand
mod tests;
