//! What the gateway has counted, as its page says it.

use std::io;
use std::net::SocketAddr;

use super::callers::get;

/// Some of the limiter's counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Admitted by the fallback, in calls of one unit.
    pub(super) admitted_alone: u64,
    /// Still to be charged to the store.
    pub(super) owed: u64,
    /// Charged to the store afterwards.
    pub(super) charged: u64,
    /// Never to be charged: whether the store was charged is not known.
    pub(super) lost: u64,
}

impl Counts {
    /// Asks the gateway.
    pub(super) async fn ask(address: SocketAddr) -> io::Result<Counts> {
        Counts::read(&get(address, "/counts").await?).ok_or_else(|| io::Error::other("the gateway says no counts"))
    }

    /// Reads `name: number,` a line.
    fn read(page: &str) -> Option<Counts> {
        let count = |name: &str| {
            let line = page.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(": "))?;
            line.trim_end_matches(',').parse().ok()
        };
        Some(Counts {
            admitted_alone: count("fallback_allowed")?,
            owed: count("arrears_owed")?,
            charged: count("arrears_charged")?,
            lost: count("arrears_lost")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_the_example_is_understood() {
        let counts =
            tallyring_client::Counts { fallback_allowed: 7, arrears_charged: 6, arrears_lost: 1, ..<_>::default() };
        let read = Counts { admitted_alone: 7, owed: 0, charged: 6, lost: 1 };
        assert_eq!(Counts::read(&format!("{counts:#?}\n")), Some(read));
        assert_eq!(Counts::read("nothing\n"), None);
    }
}
