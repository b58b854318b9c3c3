//! The thread that takes errands to other nodes and does theirs. It begins before the shards and ends after them.

use std::io;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::membership::Membership;
use super::{Parts, quota};
use crate::cluster::errand::{self, ErrandSetup};
use crate::config::Config;
use crate::sys::spawn::{self, Thread};

/// The thread.
#[derive(Debug)]
pub(super) struct Errands {
    thread: Thread,
    ending: CancellationToken,
}

impl Errands {
    /// Starts it.
    ///
    /// # Errors
    /// The system has no thread for us.
    pub(super) fn start(parts: &Parts, membership: &mut Membership, config: &Config) -> io::Result<Errands> {
        let ending = CancellationToken::new();
        let setup = ErrandSetup {
            abroad: Arc::clone(&parts.abroad),
            guests: membership.take_guests(),
            introduction: membership.control.introduction(),
            view: Arc::clone(&parts.view),
            mailboxes: Arc::clone(&parts.mailboxes),
            seeds: parts.seeds.clone(),
            quota: quota(config),
            tally: Arc::clone(&parts.errands),
            ending: ending.clone(),
        };
        Ok(Errands { thread: spawn::thread("peers".into(), move || errand::run(setup))?, ending })
    }

    /// Ends it.
    pub(super) async fn stop(self) {
        self.ending.cancel();
        self.thread.join().await;
    }
}
