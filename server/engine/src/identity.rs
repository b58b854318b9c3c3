//! Who is counted: sixteen bytes in place of a key's text.

/// An entry's name: where it lives on the ring, and which (key, algorithm) it is.
///
/// Both words are keyed hashes made outside the engine, so that nobody can choose collisions and no key text is stored.
/// State belongs to (key, algorithm): the caller folds the algorithm into `identity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// The hash of the key's tag: its place on the ring. Every key of one tenant shares it.
    pub placement: u64,
    /// The hash of the whole key and the algorithm: evenly spread, so the table indexes by it.
    pub identity: u64,
}
