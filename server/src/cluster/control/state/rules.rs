//! Changes of the rules. Texts are compared, not compiled: another version of the program may understand more of them.

use tallyring_protocol::RulesVersion;

use super::super::change::Publish;
use super::super::outcome::{Outcome, Refusal};
use super::State;
use crate::rules::book::Verdict;
use crate::rules::edition::{Edition, Imprint};
use crate::rules::publish::Expect;

impl State {
    pub(super) fn publish(&mut self, publish: &Publish, at_us: u64) -> Result<Outcome, Refusal> {
        let text = publish.text.unpack().ok_or(Refusal::Damaged)?;
        match self.rules.judge(&expect(publish), &text, at_us) {
            Verdict::Conflict(RulesVersion { lineage, version }) => Err(Refusal::Conflict { lineage, version }),
            Verdict::Live(live) => Ok(published(live, false)),
            Verdict::Next(next) => {
                let (author, comment) = (publish.author.clone(), publish.comment.clone());
                let imprint = Imprint { version: next.version, published_at_us: at_us, author, comment };
                self.rules.add(next.lineage, Edition { imprint, text });
                Ok(published(next, true))
            }
        }
    }
}

fn expect(publish: &Publish) -> Expect {
    match &publish.expect {
        None => Expect::Anything,
        Some(versions) => Expect::OneOf(
            versions.iter().map(|(lineage, version)| RulesVersion { lineage: *lineage, version: *version }).collect(),
        ),
    }
}

fn published(RulesVersion { lineage, version }: RulesVersion, is_new: bool) -> Outcome {
    Outcome::Published { lineage, version, is_new }
}
