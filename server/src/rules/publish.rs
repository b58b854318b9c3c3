//! What a push says, and what becomes of it.

use tallyring_protocol::RulesVersion;
use tallyring_protocol::rules::RuleSet;

use super::edition::Label;
use super::live::Live;
use super::text::{Fault, Faults, Text};
use super::tier::Tier;
use crate::cluster::control::desk::ProposeError;
use crate::cluster::control::outcome::Refusal;
use crate::cluster::control::packed::TooLong;

/// A document on its way to be live.
#[derive(Clone, Debug)]
pub struct Push {
    /// What is to change.
    pub change: Change,
    /// Who publishes it.
    pub author: Label<{ super::edition::AUTHOR_BYTES_MAX }>,
    /// Why.
    pub comment: Label<{ super::edition::COMMENT_BYTES_MAX }>,
    /// What they believe to be live.
    pub expect: Expect,
}

impl Push {
    /// Whether it can be made again over `live`, which came first: a part of a document can, if its author allows it.
    pub(super) fn may_follow(&self, live: RulesVersion) -> bool {
        matches!(self.change, Change::Tier(..)) && self.expect.allows(live)
    }
}

/// What a push changes.
#[derive(Clone, Debug)]
pub enum Change {
    /// The whole document, to this.
    Document(Text),
    /// The rules of one tier, to those of this document.
    Tier(Tier, Text),
}

impl Change {
    /// The document that it makes of what is live, compiled.
    pub(super) fn apply(&self, live: &Live) -> Result<Draft, Faults> {
        let (text, compiled) = match self {
            Change::Document(text) => (text.clone(), text.compile_to_publish()),
            Change::Tier(tier, rules) => {
                let text = tier.replace(live, rules)?;
                let compiled = text.compile().map_err(Faults::without_lines);
                (text, compiled)
            }
        };
        let (set, warnings) = compiled?;
        Ok(Draft { text, set, warnings })
    }
}

/// A document that makes sense and is not published yet.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) text: Text,
    pub(super) set: RuleSet,
    pub(super) warnings: Vec<Fault>,
}

/// What must be live for a push to go through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Whatever.
    Anything,
    /// One of these.
    OneOf(Vec<RulesVersion>),
}

impl Expect {
    /// Whether a push goes through while `live` is live.
    pub fn allows(&self, live: RulesVersion) -> bool {
        match self {
            Expect::Anything => true,
            Expect::OneOf(versions) => versions.contains(&live),
        }
    }

    /// The versions, if it is not whatever.
    pub fn versions(&self) -> Option<&[RulesVersion]> {
        match self {
            Expect::Anything => None,
            Expect::OneOf(versions) => Some(versions),
        }
    }

    /// The newest of them.
    pub(super) fn newest(&self) -> Option<RulesVersion> {
        self.versions()?.iter().copied().max()
    }
}

/// What became of a push.
#[derive(Clone, Debug)]
pub struct Publication {
    /// Which version is live.
    pub version: RulesVersion,
    /// Whether it is another than before: the same text again is not.
    pub is_new: bool,
    /// What its author should know.
    pub warnings: Vec<Fault>,
}

/// Why nothing became of a push.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// The document makes no sense.
    #[error("{0}")]
    Faults(#[from] Faults),
    /// Something else is live than its author believed.
    #[error("version {} is live", live.version)]
    Conflict {
        /// What is live.
        live: RulesVersion,
    },
    /// It is too long to travel between nodes.
    #[error(transparent)]
    TooLong(#[from] TooLong),
    /// All nodes agree that they do not want it.
    #[error("the rules were refused: {0}")]
    Refused(Refusal),
    /// No majority of the nodes has answered: nobody knows whether it comes into force yet.
    #[error("the rules could not be agreed on: {0}")]
    NotAgreed(#[from] ProposeError),
}
