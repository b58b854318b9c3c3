//! The rules of one tier: those that match it alone. They can be read and replaced without touching the others.

use tallyring_protocol::rules::{Document, RuleDoc, Syntax};

use super::live::Live;
use super::text::{Fault, Faults, Text};

/// The name of a tier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tier(String);

impl Tier {
    /// The tier of that name.
    pub fn new(name: impl Into<String>) -> Tier {
        Tier(name.into())
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// A document of the rules of this tier alone.
    pub fn of(&self, live: &Live) -> Document {
        let rules = live.set.document().rule.iter().filter(|rule| self.owns(rule));
        Document { rule: rules.cloned().collect(), ..Document::default() }
    }

    /// What is live, with the rules of this tier replaced by those that `rules` says.
    ///
    /// The new ones stand where the first of the old ones stood, else at the end. The text is written anew, in the
    /// language of the live one: its comments stay in the history.
    pub(super) fn replace(&self, live: &Live, rules: &Text) -> Result<Text, Faults> {
        let replacement = self.check(rules.compile_to_publish()?.0.document())?.to_vec();
        let mut document = live.set.document().clone();
        let place = document.rule.iter().position(|rule| self.owns(rule));
        document.rule.retain(|rule| !self.owns(rule));
        let place = place.unwrap_or(document.rule.len());
        document.rule.splice(place..place, replacement);
        let syntax = live.edition.as_ref().map_or(Syntax::Toml, |edition| edition.text.syntax());
        Ok(Text::of(&document, syntax))
    }

    fn owns(&self, rule: &RuleDoc) -> bool {
        rule.matches.tier.as_deref() == Some(&self.0)
    }

    /// The rules of a document that speaks of this tier and of nothing else.
    fn check<'d>(&self, document: &'d Document) -> Result<&'d [RuleDoc], Faults> {
        let mut faults = Vec::new();
        if document.defaults != Document::default().defaults {
            faults.push(("defaults".to_owned(), "are not a tier's: change them in the whole document".to_owned()));
        }
        for (at, rule) in document.rule.iter().enumerate().filter(|(_, rule)| !self.owns(rule)) {
            let found = rule.matches.tier.as_deref();
            let found = found.map_or("missing".to_owned(), |other| format!("{other:?} is another tier"));
            let allowed = format!("every rule here has to say tier = {:?}", self.0);
            faults.push((format!("rule[{at}].match.tier"), format!("{found}: {allowed}")));
        }
        if faults.is_empty() {
            return Ok(&document.rule);
        }
        Err(Faults(faults.into_iter().map(|(path, reason)| Fault { line: None, path, reason }).collect()))
    }
}
