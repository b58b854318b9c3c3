//! The rules that are live: compiled, and encoded once for everybody.

use std::sync::Arc;

use tallyring_protocol::RulesVersion;
use tallyring_protocol::rules::RuleSet;

use super::edition::Edition;
use super::text::Faults;
use crate::shard::rules::RulesFrames;

/// What is live.
#[derive(Debug)]
pub struct Live {
    /// Which version.
    pub version: RulesVersion,
    /// The rules.
    pub set: Arc<RuleSet>,
    /// The rules as JSON, as gateways get them.
    pub json: Arc<str>,
    /// What shards say of them.
    pub frames: Arc<RulesFrames>,
    /// The text that they are from; `None` = nobody ever published one.
    pub edition: Option<Arc<Edition>>,
}

impl Live {
    /// No rules: everything is allowed.
    pub fn none() -> Live {
        Live::with(RulesVersion::NONE, Arc::new(RuleSet::empty()), None)
    }

    /// The rules of an edition.
    pub fn new(version: RulesVersion, set: Arc<RuleSet>, edition: Arc<Edition>) -> Live {
        Live::with(version, set, Some(edition))
    }

    /// The rules that an edition's text says.
    ///
    /// # Errors
    /// It does not make sense (any more).
    pub fn read(version: RulesVersion, edition: &Arc<Edition>) -> Result<Live, Faults> {
        let (set, _) = edition.text.compile()?;
        Ok(Live::new(version, Arc::new(set), Arc::clone(edition)))
    }

    fn with(version: RulesVersion, set: Arc<RuleSet>, edition: Option<Arc<Edition>>) -> Live {
        let json: Arc<str> = set.to_json().into();
        let frames = Arc::new(RulesFrames::new(version, json.as_bytes()));
        Live { version, set, json, frames, edition }
    }
}
