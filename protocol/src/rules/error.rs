//! What is wrong with a rules document, and where.

use std::collections::BTreeSet;

/// One fault of a rules document, or one warning about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct RuleError {
    /// The field: `rule[3].limit`, counted from 0, or `defaults.retry_jitter`. `document` is the whole of it.
    pub path: String,
    /// What is wrong with it and what is allowed.
    pub reason: String,
}

impl RuleError {
    pub(crate) fn new(path: impl Into<String>, reason: impl Into<String>) -> RuleError {
        RuleError { path: path.into(), reason: reason.into() }
    }
}

/// What was found so far. Reading goes on behind a fault, so that one look at the list mends the whole document.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// The first [`FAULTS_MAX`] of them.
    listed: Vec<RuleError>,
    /// The fields of all of them, which are no more than the document has.
    paths: BTreeSet<String>,
}

/// Faults that are listed of one document; how many there are besides is said behind them.
pub(crate) const FAULTS_MAX: usize = 100;

impl Faults {
    /// Notes a fault, unless the same field has one already: what follows from a fault is none.
    pub(crate) fn add(&mut self, path: impl Into<String>, reason: impl Into<String>) {
        let path = path.into();
        if !self.paths.insert(path.clone()) {
            return;
        }
        if self.listed.len() < FAULTS_MAX {
            self.listed.push(RuleError::new(path, reason));
        }
    }

    /// The value, or `None` and a fault.
    pub(crate) fn take<T>(&mut self, path: impl Into<String>, result: Result<T, impl Into<String>>) -> Option<T> {
        result.map_err(|reason| self.add(path, reason)).ok()
    }

    /// Nothing, if nothing was found.
    pub(crate) fn into_result(self) -> Result<(), Vec<RuleError>> {
        if self.listed.is_empty() { Ok(()) } else { Err(self.into_vec()) }
    }

    /// Everything that was found; behind [`FAULTS_MAX`] of them, how many there are besides.
    pub(crate) fn into_vec(self) -> Vec<RuleError> {
        let Faults { mut listed, paths } = self;
        let others = paths.len() - listed.len();
        listed.extend((others > 0).then(|| RuleError::new("document", and_others(others))));
        listed
    }
}

/// What is said of those that are not listed.
pub(crate) fn and_others(others: usize) -> String {
    format!("{others} more are not listed: mend these first")
}
