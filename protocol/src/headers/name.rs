//! The names of the headers.

/// A header's name, in both spellings that are needed: HTTP does not tell them apart, but HTTP/2 wants the one and people
/// write the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    /// `retry-after`
    pub lower: &'static str,
    /// `Retry-After`
    pub title: &'static str,
}

/// How long a refused caller is to wait: see [`retry_after_s`](super::retry_after_s).
pub const RETRY_AFTER: Name = Name { lower: "retry-after", title: "Retry-After" };

pub(super) const POLICY: Name = Name { lower: "ratelimit-policy", title: "RateLimit-Policy" };
pub(super) const RATELIMIT: Name = Name { lower: "ratelimit", title: "RateLimit" };

/// The headers of a family that has a number in each.
pub(super) struct Triple {
    pub(super) limit: Name,
    pub(super) remaining: Name,
    pub(super) reset: Name,
}

pub(super) const DELTA: Triple = Triple {
    limit: Name { lower: "ratelimit-limit", title: "RateLimit-Limit" },
    remaining: Name { lower: "ratelimit-remaining", title: "RateLimit-Remaining" },
    reset: Name { lower: "ratelimit-reset", title: "RateLimit-Reset" },
};

pub(super) const EPOCH: Triple = Triple {
    limit: Name { lower: "x-ratelimit-limit", title: "X-RateLimit-Limit" },
    remaining: Name { lower: "x-ratelimit-remaining", title: "X-RateLimit-Remaining" },
    reset: Name { lower: "x-ratelimit-reset", title: "X-RateLimit-Reset" },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_one_name() {
        let triples = [DELTA, EPOCH].into_iter().flat_map(|triple| [triple.limit, triple.remaining, triple.reset]);
        for Name { lower, title } in triples.chain([RETRY_AFTER, POLICY, RATELIMIT]) {
            assert_eq!(lower, title.to_ascii_lowercase());
        }
    }
}
