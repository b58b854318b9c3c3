//! The rules that a node starts with: those that all nodes agree on, and what its command line wants to be among them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::StartError;
use crate::cluster::control::Control;
use crate::config::RulesFile;
use crate::data::Data;
use crate::rules::Rules;
use crate::rules::publish::{Change, Expect, PublishError, Push};
use crate::rules::shelf::Shelf;
use crate::rules::text::Faults;

/// How long after a vain try a document is published again.
const AGAIN: Duration = Duration::from_secs(1);

/// Takes over what stands in a data folder of an older program, and opens what all agree on.
pub(super) async fn open(control: &Control, data: Option<&Data>) -> Result<Arc<Rules>, StartError> {
    if let Some(shelf) = data.map(|data| Shelf::open(data.folder())).transpose()?.flatten() {
        shelf.import(control).await?;
    }
    Ok(Arc::new(Rules::open(control.clone())?))
}

/// A document that a node was given to publish, unless it is live.
#[derive(Debug)]
pub(super) struct FirstRules {
    file: RulesFile,
}

impl FirstRules {
    /// The document, if it makes sense and is not live.
    ///
    /// # Errors
    /// [`StartError::RulesFile`].
    pub(super) fn new(file: &RulesFile, rules: &Rules) -> Result<Option<FirstRules>, StartError> {
        let refused = |faults| StartError::RulesFile(Faulty { path: file.path.clone(), faults });
        for warning in file.text.compile_to_publish().map_err(refused)?.1 {
            tracing::warn!("{}:{warning}", file.path.display());
        }
        let is_live = rules.live().edition.as_ref().is_some_and(|edition| edition.text == file.text);
        Ok((!is_live).then(|| FirstRules { file: file.clone() }))
    }

    /// Publishes it.
    pub(super) async fn publish(&self, rules: &Arc<Rules>) -> Result<(), PublishError> {
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
