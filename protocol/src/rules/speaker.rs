//! Who speaks: of several rules that decided about one request, the one that its sender is told about.

use std::time::Duration;

/// What one rule has to say of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Say {
    /// Whether it lets the request pass.
    pub allowed: bool,
    /// Whole units left.
    pub remaining: u64,
    /// The smallest wait after which it would let the same request pass; `None` if no wait helps.
    pub retry_after: Option<Duration>,
}

/// The place of the rule that speaks among `says`, which are in the order of the document; `None` if there are none.
///
/// Of a refused request the one with the longest wait, where never is the longest; of an allowed one that with the fewest
/// units left; the first in the document if there are several.
///
/// ```
/// use std::time::Duration;
/// use tallyring_protocol::rules::{Say, speaker};
/// let refused = |seconds| Say { allowed: false, remaining: 0, retry_after: Some(Duration::from_secs(seconds)) };
/// let passed = Say { allowed: true, remaining: 7, retry_after: Some(Duration::ZERO) };
/// assert_eq!(speaker([refused(3), passed, refused(9), refused(9)].into_iter()), Some(2));
/// ```
pub fn speaker(says: impl DoubleEndedIterator<Item = Say> + ExactSizeIterator + Clone) -> Option<usize> {
    let says = says.enumerate();
    let speaker = if says.clone().all(|(_, say)| say.allowed) {
        says.min_by_key(|(_, say)| say.remaining)
    } else {
        let refusals = says.filter(|(_, say)| !say.allowed);
        // The first of the longest: `max_by_key` would take the last.
        refusals.rev().max_by_key(|(_, say)| say.retry_after.unwrap_or(Duration::MAX))
    };
    speaker.map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rules that refused, by the seconds to wait (0 = never), or passed, by the units left.
    fn check(says: &[Result<u64, u64>], expect: Option<usize>) {
        let says = says.iter().map(|say| match *say {
            Ok(remaining) => Say { allowed: true, remaining, retry_after: Some(Duration::ZERO) },
            Err(0) => Say { allowed: false, remaining: 0, retry_after: None },
            Err(wait) => Say { allowed: false, remaining: 0, retry_after: Some(Duration::from_secs(wait)) },
        });
        assert_eq!(speaker(says), expect);
    }

    #[test]
    fn the_longest_wait_speaks_and_never_is_the_longest() {
        check(&[Ok(0), Err(3), Err(9), Err(9), Ok(1)], Some(2));
        check(&[Err(9), Err(0), Err(0)], Some(1));
    }

    #[test]
    fn of_those_who_pass_the_one_with_the_least_speaks() {
        check(&[Ok(5), Ok(2), Ok(2)], Some(1));
        check(&[], None);
    }
}
