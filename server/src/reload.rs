//! Files that are read again while the node runs: tokens and certificates.
//!
//! Their content is compared, not their date: a Kubernetes secret changes by a link that points elsewhere. What makes no
//! sense is refused whole and what ran before runs on, which the metrics say.

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::entrance::tls::{Certificates, Content};
use crate::observe::reload::{ReloadTally, Reloaded};
use crate::sys::spawn;
use crate::tokens::{LiveTokens, file};

/// How often the files are looked at without anybody asking.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// What reads files again.
#[derive(Debug)]
pub struct Reload {
    /// The token file and what it is for.
    pub tokens: Option<(PathBuf, Arc<LiveTokens>)>,
    /// The certificates.
    pub certificates: Option<Arc<Certificates>>,
    /// Somebody asks for it now.
    pub asked: Arc<Notify>,
    /// What is counted.
    pub tally: Arc<ReloadTally>,
}

/// The SHA-256 of what was last read, or of why it could not be, whether it was taken or not: the same is not judged twice.
#[derive(Default)]
struct Seen {
    tokens: Option<[u8; 32]>,
    certificates: Option<[u8; 32]>,
}

impl Reload {
    /// Looks at the files until the node drains.
    pub async fn run(self, draining: CancellationToken) {
        let reload = Arc::new(self);
        let mut seen = Seen::default();
        loop {
            let look = Arc::clone(&reload);
            seen = spawn::blocking(move || look.look(seen)).await;
            tokio::select! {
                biased;
                () = draining.cancelled() => return,
                () = reload.asked.notified() => info!("reading tokens and certificates again"),
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }

    /// Takes what is new. The first look takes what it finds: it may have changed since the node read it to start.
    fn look(&self, mut seen: Seen) -> Seen {
        if let Some((path, live)) = &self.tokens {
            let read = file::read_bytes(path);
            let before = seen.tokens.replace(digest(&read, |bytes| Sha256::digest(bytes).into()));
            let take = || file::parse(path, &read?).map(|tokens| live.replace(tokens));
            self.judge(Reloaded::Tokens, before, seen.tokens, take);
        }
        if let Some(certificates) = &self.certificates {
            let read = certificates.files().read();
            let before = seen.certificates.replace(digest(&read, Content::digest));
            self.judge(Reloaded::Certificates, before, seen.certificates, || certificates.replace(&read?));
        }
        seen
    }

    fn judge<E: Display>(
        &self,
        what: Reloaded,
        before: Option<[u8; 32]>,
        now: Option<[u8; 32]>,
        take: impl FnOnce() -> Result<(), E>,
    ) {
        if before == now {
            return;
        }
        match take() {
            Ok(()) if before.is_none() => {}
            Ok(()) => {
                self.tally.taken(what);
                info!(what = what.name(), "read again");
            }
            Err(error) => {
                self.tally.refused(what);
                warn!(what = what.name(), %error, "not taken; what was valid before is");
            }
        }
    }
}

/// What tells one reading from another: its content, or why there is none.
fn digest<T, E: Display>(read: &Result<T, E>, of: impl FnOnce(&T) -> [u8; 32]) -> [u8; 32] {
    match read {
        Ok(content) => of(content),
        Err(error) => Sha256::digest(error.to_string()).into(),
    }
}
