//! Why a request makes no sense, in the protocol's words or in the engine's.

use std::borrow::Cow;

use tallyring_engine::Invalid;
use tallyring_protocol::{Malformed, Reply, path_of};

/// A reply at once, none yet, or what is wrong with the request.
pub(super) type Answer = Result<Option<Reply<'static>>, Refusal>;

/// What is wrong with a request.
#[derive(Debug)]
pub(super) enum Refusal {
    Malformed(Malformed),
    Invalid(Invalid),
    /// The same, in a part of a check_all, counted from 0.
    InvalidPart(Invalid, u8),
}

impl From<Malformed> for Refusal {
    fn from(error: Malformed) -> Refusal {
        Refusal::Malformed(error)
    }
}

impl From<Invalid> for Refusal {
    fn from(error: Invalid) -> Refusal {
        Refusal::Invalid(error)
    }
}

impl Refusal {
    /// The same, in a part of a check_all.
    pub(super) fn of_part(self, part: u8) -> Refusal {
        match self {
            Refusal::Malformed(error) => Refusal::Malformed(error.of_part(part)),
            Refusal::Invalid(error) | Refusal::InvalidPart(error, _) => Refusal::InvalidPart(error, part),
        }
    }

    #[cold]
    pub(super) fn into_reply(self) -> Reply<'static> {
        let (error, part) = match self {
            Refusal::Malformed(error) => return Reply::invalid(error),
            Refusal::Invalid(error) => (error, None),
            Refusal::InvalidPart(error, part) => (error, Some(part)),
        };
        Reply::Invalid { field: path_of(error.field, part), reason: Cow::Owned(error.to_string()) }
    }
}
