//! Why the store gave no decision, and what may be done about it.

use tallyring_protocol::NodeId;

/// A call that the store did not decide.
///
/// Whether it may be asked again, and whether it speaks against the store's health, is the table of
/// `docs/protocol.md`; [`StoreError::is_failure`] is its last column.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// No connection to the key's owner: the call was never sent.
    #[error("not connected to the key's owner")]
    Unreachable,
    /// Too many of the last calls on this connection failed; the next probe is due shortly. The call was never sent.
    #[error("the owner's last answers failed; waiting for the next probe")]
    BreakerOpen,
    /// As many requests are under way on this connection as may be. The call was never sent.
    #[error("too many requests are under way")]
    Busy,
    /// No answer within the deadline. It is not known whether anything was charged.
    #[error("no answer within the deadline")]
    Timeout,
    /// The connection ended before the answer. It is not known whether anything was charged.
    #[error("the connection was lost before the answer")]
    ConnectionLost,
    /// The shard has more to do than it can. Nothing was charged.
    #[error("the store is overloaded")]
    Overloaded,
    /// The store's memory has no room for another key. Nothing was charged.
    #[error("the store has no room for another key")]
    Full,
    /// The store cannot decide now, for want of a lease or of a replica.
    #[error("the store cannot answer now")]
    Unavailable,
    /// The key lives on another node. Nothing was charged.
    #[error("the key belongs to node {} at {address}", node.0)]
    WrongOwner {
        /// The ring epoch that says so.
        epoch: u64,
        /// The owner.
        node: NodeId,
        /// `host:port` of its native listener.
        address: String,
    },
    /// The key is on its way to another node. Nothing was charged.
    #[error("the key is moving to another node")]
    Moving {
        /// Microseconds until it is worth asking again.
        retry_us: u64,
    },
    /// The request makes no sense to the store: a bug here, or a limit that it does not take. Nothing was charged.
    #[error("{field}: {reason}")]
    Invalid {
        /// The first bad field.
        field: String,
        /// What is wrong with it and what is allowed.
        reason: String,
    },
    /// The store answered something that is no answer to this request.
    #[error("the store's answer does not fit the request")]
    Unexpected,
}

impl StoreError {
    /// Whether this speaks against the store's health, so that the breaker counts it.
    ///
    /// A call that was never sent says nothing new; a full memory or a bad request is an answer like another.
    ///
    /// ```
    /// use tallyring_client::StoreError;
    /// assert!(StoreError::Timeout.is_failure());
    /// assert!(!StoreError::Full.is_failure());
    /// ```
    pub fn is_failure(&self) -> bool {
        use StoreError::*;
        match self {
            Timeout | ConnectionLost | Overloaded | Unavailable | Unexpected => true,
            Unreachable | BreakerOpen | Busy | Full | WrongOwner { .. } | Moving { .. } | Invalid { .. } => false,
        }
    }
}

impl StoreError {
    /// Whether the store surely has not done what it was asked for, so that it can be asked again.
    pub(crate) fn is_undone(&self) -> bool {
        use StoreError::*;
        match self {
            Timeout | ConnectionLost | Unexpected => false,
            Unreachable | BreakerOpen | Busy | Overloaded | Full | Unavailable => true,
            WrongOwner { .. } | Moving { .. } | Invalid { .. } => true,
        }
    }

    /// Whether the store may have done what it was asked for all the same: at this attempt, or at one before it whose
    /// answer was lost.
    pub(crate) fn leaves_doubt(&self) -> bool {
        !matches!(self, StoreError::Full | StoreError::Invalid { .. })
    }
}

/// As many limits are in use as a connection has handles for: 16,384.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no handle is free for another limit")]
pub struct HandlesFull;
