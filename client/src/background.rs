//! What is still to be said to the store when nobody waits for the answer: a settle or a release of something dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::error::StoreError;

/// Words that may be under way at the same time. One more is not said: what it would have given back, its time to live
/// gives back later.
const WORDS_MAX: usize = 1_024;

/// Questions that nobody's answer depends on, as those of rules that are not enforced. Fewer than a connection has room
/// for, so that they never crowd out what somebody waits for.
const QUESTIONS_MAX: usize = 256;

/// How often a word is tried.
const ATTEMPTS_MAX: u32 = 3;

/// How long to wait before the next attempt.
const PAUSE: Duration = Duration::from_millis(100);

/// Longest name that is drawn, in bytes: the gateway's instance, and a number.
pub(crate) const NAME_BYTES: usize = 24;

/// The last words of one store's clients.
#[derive(Debug)]
pub(crate) struct Background {
    runtime: Handle,
    leave: Arc<Semaphore>,
    leave_to_ask: Arc<Semaphore>,
    instance: u128,
    drawn: AtomicU64,
}

impl Background {
    /// Must run inside a tokio runtime: the words are its tasks.
    pub(crate) fn new(instance: u128) -> Background {
        let [leave, leave_to_ask] = [WORDS_MAX, QUESTIONS_MAX].map(|most| Arc::new(Semaphore::new(most)));
        Background { runtime: Handle::current(), leave, leave_to_ask, instance, drawn: AtomicU64::new(0) }
    }

    /// A name that no other gateway draws, and this one never again.
    pub(crate) fn draw_name(&self) -> [u8; NAME_BYTES] {
        let number = self.drawn.fetch_add(1, Ordering::Relaxed);
        let mut name = [0; NAME_BYTES];
        name[..16].copy_from_slice(&self.instance.to_le_bytes());
        name[16..].copy_from_slice(&number.to_le_bytes());
        name
    }

    /// Says words that go on if nobody waits for them; `None` if too many are under way already.
    pub(crate) fn tell<T: Send + 'static>(
        &self,
        words: impl Future<Output = T> + Send + 'static,
    ) -> Option<JoinHandle<T>> {
        self.run(&self.leave, words)
    }

    /// Asks something that nobody waits for; `None` if too much is asked already.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        question: impl Future<Output = T> + Send + 'static,
    ) -> Option<JoinHandle<T>> {
        self.run(&self.leave_to_ask, question)
    }

    fn run<T: Send + 'static>(
        &self,
        leave: &Arc<Semaphore>,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<JoinHandle<T>> {
        let leave = Arc::clone(leave).try_acquire_owned().ok()?;
        Some(self.runtime.spawn(async move {
            let done = work.await;
            drop(leave);
            done
        }))
    }

    /// Says a word, a few times if it has to.
    pub(crate) fn say<F: Future<Output = Result<(), StoreError>> + Send + 'static>(
        &self,
        word: impl Fn() -> F + Send + 'static,
    ) {
        if self.tell(repeat(word)).is_none() {
            tracing::debug!("too many settles and releases are under way; the time to live will do it");
        }
    }
}

async fn repeat<F: Future<Output = Result<(), StoreError>>>(word: impl Fn() -> F) {
    for _ in 0..ATTEMPTS_MAX {
        match word().await {
            Ok(()) | Err(StoreError::Invalid { .. }) => return,
            Err(error) => tracing::debug!(%error, "a settle or a release has failed"),
        }
        tokio::time::sleep(PAUSE).await;
    }
}
