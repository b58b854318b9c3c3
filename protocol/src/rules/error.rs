//! What is wrong with a rules document, and where.

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
pub(crate) struct Faults(Vec<RuleError>);

/// Faults that are reported of one document; what is behind them is found once they are mended.
pub(crate) const FAULTS_MAX: usize = 100;

impl Faults {
    /// Notes a fault, unless the same field has one already: what follows from a fault is none.
    pub(crate) fn add(&mut self, path: impl Into<String>, reason: impl Into<String>) {
        let path = path.into();
        if self.0.len() < FAULTS_MAX && !self.0.iter().any(|fault| fault.path == path) {
            self.0.push(RuleError::new(path, reason));
        }
    }

    /// The value, or `None` and a fault.
    pub(crate) fn take<T>(&mut self, path: impl Into<String>, result: Result<T, impl Into<String>>) -> Option<T> {
        result.map_err(|reason| self.add(path, reason)).ok()
    }

    /// Nothing, if nothing was found.
    pub(crate) fn into_result(self) -> Result<(), Vec<RuleError>> {
        if self.0.is_empty() { Ok(()) } else { Err(self.0) }
    }

    /// Everything that was found.
    pub(crate) fn into_vec(self) -> Vec<RuleError> {
        self.0
    }
}
