//! What a push says, and what becomes of it.

use std::io;

use tallyring_protocol::RulesVersion;
use tallyring_protocol::rules::RuleSet;

use super::edition::{Edition, Imprint, Label};
use super::live::Live;
use super::text::{Fault, Faults, Text};
use super::tier::Tier;

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
    /// The edition that this push of `text` becomes.
    pub(super) fn edition(&self, version: u64, text: Text, now_us: u64) -> Edition {
        let (author, comment) = (self.author.clone(), self.comment.clone());
        Edition { imprint: Imprint { version, published_at_us: now_us, author, comment }, text }
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
            Change::Document(text) => (text.clone(), text.compile()),
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
    /// It cannot be written down.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// A disk that does not take an edition.
#[derive(Debug, thiserror::Error)]
#[error("the rules cannot be written down: {0}")]
pub struct WriteError(#[from] io::Error);
