//! The history of a store's rules: its editions, numbered without a gap, the last of which is live.
//!
//! Pure: it neither reads a clock nor a disk. What it holds is bounded; the oldest editions are forgotten first, and the
//! live one never.

use std::collections::VecDeque;
use std::sync::Arc;

use tallyring_protocol::RulesVersion;

use super::edition::Edition;
use super::publish::Expect;
use super::text::Text;

/// Editions that are kept.
pub const EDITIONS_MAX: usize = 200;

/// Bytes of text that are kept, over all editions.
pub const TEXT_BYTES_MAX: usize = 64 << 20;

/// A history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Book {
    lineage: u64,
    /// Oldest first.
    editions: VecDeque<Arc<Edition>>,
    text_bytes: usize,
}

impl Book {
    /// A history that began at `lineage`, in microseconds since the Unix epoch, with the editions that are left of it.
    ///
    /// # Errors
    /// [`Gap`] if their numbers do not follow each other.
    pub fn from_editions(lineage: u64, editions: impl IntoIterator<Item = Edition>) -> Result<Book, Gap> {
        let mut book = Book { lineage, ..Book::default() };
        for edition in editions {
            let expected = book.next_version();
            let found = edition.imprint.version;
            if found == 0 || (!book.editions.is_empty() && found != expected) {
                return Err(Gap { expected, found });
            }
            book.keep(edition);
        }
        Ok(book)
    }

    /// Which edition is live.
    pub fn version(&self) -> RulesVersion {
        match self.live() {
            Some(edition) => RulesVersion { lineage: self.lineage, version: edition.imprint.version },
            None => RulesVersion::NONE,
        }
    }

    /// The edition that is live, if there ever was one.
    pub fn live(&self) -> Option<&Arc<Edition>> {
        self.editions.back()
    }

    /// The edition of that number, if it is still kept.
    pub fn edition(&self, version: u64) -> Option<&Arc<Edition>> {
        let first = self.editions.front()?.imprint.version;
        self.editions.get(usize::try_from(version.checked_sub(first)?).ok()?)
    }

    /// The editions, newest first.
    pub fn editions(&self) -> impl DoubleEndedIterator<Item = &Arc<Edition>> {
        self.editions.iter().rev()
    }

    /// What becomes of a text that somebody wants to publish at `now_us`.
    pub fn judge(&self, expect: &Expect, text: &Text, now_us: u64) -> Verdict {
        let live = self.version();
        if !expect.allows(live) {
            return Verdict::Conflict(live);
        }
        match self.live() {
            Some(edition) if edition.text == *text => Verdict::Live(live),
            _ => Verdict::Next(self.next(now_us)),
        }
    }

    /// The lineage and the number that the next edition has, if it is published at `now_us`.
    pub fn next(&self, now_us: u64) -> RulesVersion {
        let lineage = if self.editions.is_empty() { now_us } else { self.lineage };
        RulesVersion { lineage, version: self.next_version() }
    }

    /// Adds an edition, which is live from then on, and returns those that are forgotten for it.
    ///
    /// # Panics
    /// If it is not the [next](Book::next) one.
    pub fn add(&mut self, lineage: u64, edition: Edition) -> Vec<Arc<Edition>> {
        assert_eq!(edition.imprint.version, self.next_version(), "editions are numbered without a gap");
        assert!(self.editions.is_empty() || lineage == self.lineage, "a history has one lineage");
        self.lineage = lineage;
        self.keep(edition)
    }

    fn next_version(&self) -> u64 {
        self.live().map_or(1, |edition| edition.imprint.version + 1)
    }

    fn keep(&mut self, edition: Edition) -> Vec<Arc<Edition>> {
        self.text_bytes += edition.text.as_str().len();
        self.editions.push_back(Arc::new(edition));
        let mut forgotten = Vec::new();
        while self.editions.len() > 1 && (self.editions.len() > EDITIONS_MAX || self.text_bytes > TEXT_BYTES_MAX) {
            let oldest = self.editions.pop_front().expect("there are two or more");
            self.text_bytes -= oldest.text.as_str().len();
            forgotten.push(oldest);
        }
        forgotten
    }
}

/// What becomes of a text that somebody wants to publish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing: this is live, which its author did not know.
    Conflict(RulesVersion),
    /// Nothing: it is live already.
    Live(RulesVersion),
    /// This version.
    Next(RulesVersion),
}

/// Editions that do not follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("version {found} stands where version {expected} is expected")]
pub struct Gap {
    /// The number that should have come.
    pub expected: u64,
    /// The number that came.
    pub found: u64,
}

#[cfg(test)]
mod tests {
    use super::super::edition::Imprint;
    use super::*;

    fn edition(version: u64, text: &str) -> Edition {
        let imprint = Imprint { version, published_at_us: version, author: "a".into(), comment: "".into() };
        Edition { imprint, text: text.to_owned().into() }
    }

    fn versions(book: &Book) -> Vec<u64> {
        book.editions().map(|edition| edition.imprint.version).collect()
    }

    #[test]
    fn a_history_begins_with_its_first_edition() {
        let mut book = Book::default();
        assert_eq!(book.version(), RulesVersion::NONE);
        assert_eq!(book.next(77), RulesVersion { lineage: 77, version: 1 });
        book.add(77, edition(1, "one"));
        assert_eq!(book.version(), RulesVersion { lineage: 77, version: 1 });
        assert_eq!(book.next(99), RulesVersion { lineage: 77, version: 2 });
    }

    #[test]
    fn the_oldest_are_forgotten_first_and_the_live_one_never() {
        let mut book = Book::default();
        for version in 1..=EDITIONS_MAX as u64 {
            assert!(book.add(1, edition(version, "x")).is_empty());
        }
        let forgotten = book.add(1, edition(EDITIONS_MAX as u64 + 1, "x"));
        assert_eq!(forgotten.iter().map(|edition| edition.imprint.version).collect::<Vec<_>>(), [1]);
        assert!(book.edition(1).is_none() && book.edition(0).is_none());
        assert_eq!(book.edition(2).unwrap().imprint.version, 2);
        let huge = "x".repeat(TEXT_BYTES_MAX + 1);
        assert_eq!(book.add(1, edition(EDITIONS_MAX as u64 + 2, &huge)).len(), EDITIONS_MAX);
        assert_eq!(versions(&book), [EDITIONS_MAX as u64 + 2]);
        assert_eq!(book.edition(EDITIONS_MAX as u64 + 2), book.live());
    }

    #[test]
    fn editions_that_do_not_follow_each_other_are_no_history() {
        let check = |numbers: &[u64], expect: Result<Vec<u64>, Gap>| {
            let book = Book::from_editions(1, numbers.iter().map(|version| edition(*version, "x")));
            assert_eq!(book.map(|book| versions(&book)), expect, "{numbers:?}");
        };
        check(&[], Ok(vec![]));
        check(&[1, 2, 3], Ok(vec![3, 2, 1]));
        check(&[5, 6], Ok(vec![6, 5]));
        check(&[5, 7], Err(Gap { expected: 6, found: 7 }));
        check(&[0], Err(Gap { expected: 1, found: 0 }));
    }
}
