//! Threads, each with a single-threaded runtime of its own. In simulation they are tasks of the one thread there is.

use std::future::Future;
use std::io;

/// A thread that was started; joined by [`Thread::join`].
#[derive(Debug)]
pub struct Thread {
    #[cfg(not(feature = "sim"))]
    handle: std::thread::JoinHandle<()>,
    #[cfg(feature = "sim")]
    handle: tokio::task::JoinHandle<()>,
}

/// Starts a thread that runs what `make` returns; the future is made there, so it need not be `Send`.
///
/// # Errors
/// The operating system gives no thread.
///
/// # Panics
/// The thread does, if the operating system gives it no event queue; whoever joins it learns of it.
#[cfg(not(feature = "sim"))]
#[allow(clippy::disallowed_methods, reason = "this is the seam that the ban points to")]
pub fn thread<F: Future<Output = ()> + 'static>(
    name: String,
    make: impl FnOnce() -> F + Send + 'static,
) -> io::Result<Thread> {
    let body = move || match local_runtime() {
        Ok(runtime) => runtime.block_on(async move { make().await }),
        Err(error) => panic!("this thread has no event queue: {error}"),
    };
    Ok(Thread { handle: std::thread::Builder::new().name(name).spawn(body)? })
}

/// A runtime whose tasks need not be `Send`. Not a `LocalSet`: that one wakes the thread it runs on through the kernel,
/// once for every batch of ready sockets.
#[cfg(not(feature = "sim"))]
fn local_runtime() -> io::Result<tokio::runtime::LocalRuntime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build_local(tokio::runtime::LocalOptions::default())
}

/// Starts a task of the simulated host that stands for a thread.
///
/// # Errors
/// None in simulation.
#[cfg(feature = "sim")]
pub fn thread<F: Future<Output = ()> + 'static>(
    _name: String,
    make: impl FnOnce() -> F + Send + 'static,
) -> io::Result<Thread> {
    Ok(Thread { handle: tokio::task::spawn_local(async move { make().await }) })
}

impl Thread {
    /// Waits until the thread ends.
    ///
    /// # Panics
    /// If the thread panicked: a node that lost a shard must not go on.
    #[cfg(not(feature = "sim"))]
    pub async fn join(self) {
        let joined = tokio::task::spawn_blocking(|| self.handle.join()).await;
        if let Ok(Err(panic)) | Err(panic) = joined.map_err(tokio::task::JoinError::into_panic) {
            std::panic::resume_unwind(panic);
        }
    }

    /// Waits until the task ends.
    ///
    /// # Panics
    /// If the task panicked.
    #[cfg(feature = "sim")]
    pub async fn join(self) {
        self.handle.await.expect("a simulated thread does not panic");
    }
}

/// Threads that this machine runs at once.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Precedence that a thread in a hurry asks for, as a nice value: some ten times the share of a thread that asks for none.
#[cfg(all(target_os = "linux", not(feature = "sim")))]
const HURRY_NICE: i32 = -10;

/// Has the system run this thread, and the threads that it starts from now on, before others that are ready. For threads
/// that have little to do, and have to do it in time.
///
/// # Errors
/// The system does not let this process: it takes CAP_SYS_NICE, or a limit for it (RLIMIT_NICE).
#[cfg(all(target_os = "linux", not(feature = "sim")))]
pub fn hurry() -> io::Result<()> {
    // Without a process, Linux takes it for the calling thread alone.
    Ok(rustix::process::setpriority_process(None, HURRY_NICE)?)
}

/// Does nothing: in simulation all is one thread, and elsewhere a thread has no precedence of its own.
///
/// # Errors
/// None.
#[cfg(not(all(target_os = "linux", not(feature = "sim"))))]
pub fn hurry() -> io::Result<()> {
    Ok(())
}

/// Runs what blocks, such as the disk, beside the caller's runtime, and waits for it without blocking that.
///
/// # Panics
/// If `work` panicked.
#[cfg(not(feature = "sim"))]
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let worked = tokio::task::spawn_blocking(work).await;
    worked.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}

/// Runs what blocks at once: in simulation there is nothing to run it beside.
#[cfg(feature = "sim")]
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    work()
}
