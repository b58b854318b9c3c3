//! Servers on one processor, the generator on another: so neither steals the other's time, and both stay where they are.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::error::BenchError;

/// The two processors of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cpus {
    pub(super) server: usize,
    pub(super) generator: usize,
}

impl Cpus {
    /// The first two processors that this process may use; `None` if it has only one.
    pub(super) fn choose() -> Result<Option<Cpus>, BenchError> {
        let allowed = sched_getaffinity(None).map_err(|errno| system("reading the processors", errno))?;
        let mut usable = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
        Ok(usable.next().zip(usable.next()).map(|(server, generator)| Cpus { server, generator }))
    }
}

/// Binds the calling thread to one processor. Threads and processes that it starts from then on inherit that.
pub(super) fn to(cpu: usize) -> Result<(), BenchError> {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|errno| system("binding to a processor", errno))
}

fn system(what: &'static str, errno: rustix::io::Errno) -> BenchError {
    BenchError::System { what, source: errno.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_and_generator_never_share_a_processor() {
        if let Some(cpus) = Cpus::choose().unwrap() {
            assert_ne!(cpus.server, cpus.generator);
            to(cpus.generator).unwrap();
            assert_eq!(Cpus::choose().unwrap(), None, "a bound thread has one processor left");
        }
    }
}
