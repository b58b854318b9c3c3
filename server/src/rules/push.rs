//! A push, from its author to all nodes and back.

use std::sync::Arc;
use std::time::Duration;

use tallyring_protocol::RulesVersion;
use tokio::time::timeout;

use super::Rules;
use super::publish::{Change, Draft, Expect, Publication, PublishError, Push};
use crate::cluster::control::change::{Publish, What};
use crate::cluster::control::outcome::{Outcome, Refusal};
use crate::cluster::control::packed::Packed;
use crate::sys::spawn;

/// How often a push that changes a part of the document is tried: each time somebody else's came first.
const TRIES_MAX: usize = 8;

/// How long a node may be behind what an author has seen at another one.
const BEHIND_MAX: Duration = Duration::from_secs(1);

impl Rules {
    /// Publishes a document, unless it is live already: then nothing changes and that is said. When this returns, the
    /// version is live here.
    ///
    /// # Errors
    /// [`PublishError`]. Nothing has changed, unless it is [`PublishError::NotAgreed`]: then nobody knows.
    pub async fn publish(self: &Arc<Self>, push: Push) -> Result<Publication, PublishError> {
        let mut tries = 1;
        loop {
            match self.try_to_publish(&push).await {
                Err(PublishError::Conflict { live }) if tries < TRIES_MAX && push.may_follow(live) => {
                    self.show(live, None).await;
                    tries += 1;
                }
                done => return done,
            }
        }
    }

    async fn try_to_publish(self: &Arc<Self>, push: &Push) -> Result<Publication, PublishError> {
        if let Some(seen) = push.expect.newest() {
            self.show(seen, None).await; // its author may have seen it at another node
        }
        let live = self.live();
        if !push.expect.allows(live.version) {
            return Err(PublishError::Conflict { live: live.version }); // before it is compiled: it may be long
        }
        let (change, over) = (push.change.clone(), live.version);
        let draft = spawn::blocking(move || change.apply(&live)).await?;
        let (version, is_new) = self.agree(push, &draft, over).await?;
        let warnings = draft.warnings.clone();
        self.show(version, Some(draft)).await;
        Ok(Publication { version, is_new, warnings })
    }

    /// Has all nodes agree on a draft that was made over a version.
    async fn agree(
        &self,
        push: &Push,
        draft: &Draft,
        over: RulesVersion,
    ) -> Result<(RulesVersion, bool), PublishError> {
        let expect = match &push.change {
            Change::Document(_) => push.expect.clone(),
            Change::Tier(..) => Expect::OneOf(vec![over]), // the rest of the document is that version's
        };
        let publish = Publish {
            text: Packed::new(&draft.text)?,
            author: push.author.clone(),
            comment: push.comment.clone(),
            expect: expect.versions().map(|versions| versions.iter().map(|of| (of.lineage, of.version)).collect()),
        };
        match self.control.propose(What::Publish(publish)).await? {
            Outcome::Published { lineage, version, is_new } => Ok((RulesVersion { lineage, version }, is_new)),
            Outcome::Refused(Refusal::Conflict { lineage, version }) => {
                Err(PublishError::Conflict { live: RulesVersion { lineage, version } })
            }
            Outcome::Refused(refusal) => Err(PublishError::Refused(refusal)),
            Outcome::Done { .. } | Outcome::Nothing => Err(PublishError::Refused(Refusal::Damaged)),
        }
    }

    /// Waits until a version is live here, or a later one; not for long, since it may never have been one.
    async fn show(self: &Arc<Self>, version: RulesVersion, draft: Option<Draft>) {
        if self.live().version >= version {
            return;
        }
        let mut states = self.control.states();
        let known = states.wait_for(|state| state.rules().version() >= version);
        if !matches!(timeout(BEHIND_MAX, known).await, Ok(Ok(_))) {
            tracing::debug!(?version, "this node does not know that version of the rules");
            return;
        }
        let rules = Arc::clone(self);
        // Whether it makes no sense here is for `follow` to tell, which sees it too.
        let _ = spawn::blocking(move || rules.adopt(draft)).await;
    }
}
