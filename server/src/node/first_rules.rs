//! The rules that a node starts with: those that all nodes agree on, and what its command line wants to be among them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::StartError;
use super::membership::Membership;
use crate::config::{Config, RulesFile};
use crate::data::Data;
use crate::rules::Rules;
use crate::rules::publish::{Change, Expect, PublishError, Push};
use crate::rules::shelf::Shelf;
use crate::rules::text::Faults;

/// How long after a vain try a document is published again.
const AGAIN: Duration = Duration::from_secs(1);

/// What a node begins with beside what all agree on; read before anything is started.
#[derive(Debug)]
pub(super) struct First {
    shelf: Option<Shelf>,
    file: Option<RulesFile>,
}

impl First {
    /// Reads what stands in a data folder of an older program, and looks at what the command line gave.
    ///
    /// # Errors
    /// One of them makes no sense.
    pub(super) fn read(config: &Config, data: Option<&Data>) -> Result<First, StartError> {
        let shelf = data.map(|data| Shelf::open(data.folder())).transpose()?.flatten();
        if let Some(file) = &config.rules {
            let refused = |faults| Faulty { path: file.path.clone(), faults };
            for warning in file.text.compile_to_publish().map_err(refused)?.1 {
                tracing::warn!("{}:{warning}", file.path.display());
            }
        }
        Ok(First { shelf, file: config.rules.clone() })
    }

    /// Opens what all agree on, once the first part of it is there too. A node that is alone publishes its file at once; one
    /// of several does so when it can, which is left to the caller.
    ///
    /// # Errors
    /// The control plane does not take it, or what is live is another program's.
    pub(super) async fn settle(self, membership: &Membership) -> Result<(Arc<Rules>, Option<FirstRules>), StartError> {
        if let Some(shelf) = self.shelf {
            shelf.import(&membership.control).await?;
        }
        let rules = Arc::new(Rules::open(membership.control.clone())?);
        let is_live = |file: &RulesFile| rules.live().edition.as_ref().is_some_and(|edition| edition.text == file.text);
        let Some(first) = self.file.filter(|file| !is_live(file)).map(|file| FirstRules { file }) else {
            return Ok((rules, None));
        };
        if !membership.is_alone() {
            return Ok((rules, Some(first)));
        }
        first.publish(&rules).await.map_err(StartError::Publish)?;
        Ok((rules, None))
    }
}

/// A document that a node was given to publish.
#[derive(Debug)]
pub(super) struct FirstRules {
    file: RulesFile,
}

impl FirstRules {
    /// Publishes it.
    async fn publish(&self, rules: &Arc<Rules>) -> Result<(), PublishError> {
        let push = Push {
            change: Change::Document(self.file.text.clone()),
            author: format!("--rules {}", self.file.path.display()).into(),
            comment: String::new().into(),
            expect: Expect::Anything,
        };
        rules.publish(push).await.map(drop)
    }

    /// Publishes it once a majority of the nodes is there: they may all have been started at once.
    pub(super) async fn insist(self, rules: Arc<Rules>) {
        while let Err(error) = self.publish(&rules).await {
            tracing::warn!(%error, file = %self.file.path.display(), "the rules of the file are not live yet");
            tokio::time::sleep(AGAIN).await;
        }
    }
}

/// A file of rules that make no sense.
#[derive(Debug, thiserror::Error)]
#[error("{}", InFile(path, faults))]
pub struct Faulty {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub faults: Faults,
}

/// Every fault of a file, a line each.
struct InFile<'a>(&'a Path, &'a Faults);

impl fmt::Display for InFile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, fault) in self.1.0.iter().enumerate() {
            let newline = if at > 0 { "\n" } else { "" };
            write!(f, "{newline}{}:{fault}", self.0.display())?;
        }
        Ok(())
    }
}
