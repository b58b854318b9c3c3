//! The rules that are live: compiled, and encoded once for everybody.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use tallyring_protocol::RulesVersion;
use tallyring_protocol::rules::{RuleSet, Syntax};

use super::edition::Edition;
use super::text::{Faults, Text};
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
    /// The document in each language in which its author did not write it, once somebody has asked for that.
    translated: [OnceLock<Bytes>; 2],
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

    /// What its author wrote it in.
    pub fn syntax(&self) -> Syntax {
        self.edition.as_ref().map_or(Syntax::Toml, |edition| edition.text.syntax())
    }

    /// The document in a language: as its author wrote it if it is in that, else translated. Ten thousand rules take tens of
    /// milliseconds the first time, which no thread should spend that others wait for.
    pub fn text_in(&self, syntax: Syntax) -> Bytes {
        match &self.edition {
            Some(edition) if edition.text.syntax() == syntax => edition.text.as_str().to_owned().into(),
            _ => self.translated[syntax as usize].get_or_init(|| Text::of(self.set.document(), syntax).line()).clone(),
        }
    }

    fn with(version: RulesVersion, set: Arc<RuleSet>, edition: Option<Arc<Edition>>) -> Live {
        let json: Arc<str> = set.to_json().into();
        let frames = Arc::new(RulesFrames::new(version, json.as_bytes()));
        Live { version, set, json, frames, edition, translated: Default::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::edition::Imprint;

    fn live(text: &str) -> Live {
        let imprint =
            Imprint { version: 1, published_at_us: 0, author: "a".to_owned().into(), comment: String::new().into() };
        let edition = Arc::new(Edition { imprint, text: text.to_owned().into() });
        Live::read(RulesVersion { lineage: 1, version: 1 }, &edition).unwrap()
    }

    #[test]
    fn a_document_is_translated_once_and_its_authors_text_stays_as_it_is() {
        let toml = "# mine\n[[rule]]\nid = \"a\"\naction = \"allow\"";
        let live = live(toml);
        assert_eq!((live.syntax(), &live.text_in(Syntax::Toml)[..]), (Syntax::Toml, toml.as_bytes()));
        let [first, second] = [(); 2].map(|()| live.text_in(Syntax::Json));
        assert!(first.starts_with(b"{") && first.ends_with(b"\n"));
        assert_eq!(first.as_ptr(), second.as_ptr(), "the same bytes");
        let none = Live::none();
        assert_eq!([Syntax::Toml, Syntax::Json].map(|syntax| none.text_in(syntax)), [&b""[..], b"{}\n"]);
    }
}
