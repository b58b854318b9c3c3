//! check_all.

use tallyring_protocol::bounds::PARTS_MAX;
use tallyring_protocol::{Parts, Request};

use super::Store;
use crate::connection::Answer;
use crate::definition::LimitHandle;
use crate::error::StoreError;
use crate::joint::{Check, StoreJoint};

impl Store {
    /// Decides 1 up to 16 checks in their order, each as if the earlier allowed ones were charged, and charges all of
    /// them or none. All keys must live on one shard, as keys of one tag do.
    ///
    /// # Errors
    /// As [`Store::check`]; [`StoreError::Invalid`] of `checks` for a number of them or for keys that cannot be.
    pub async fn check_all(&self, checks: &[Check<'_>]) -> Result<StoreJoint, StoreError> {
        let [first, ..] = checks else { return Err(wrong_number(0)) };
        if checks.len() > PARTS_MAX {
            return Err(wrong_number(checks.len()));
        }
        let block = Parts::encode(checks.iter().map(Check::charge));
        let parts = Parts::from_block(&block).expect("a block that was written reads back");
        let limits: Vec<&LimitHandle> = checks.iter().map(|check| check.limit).collect();
        match self.call(first.key.as_ref(), Request::CheckAll(parts), &limits).await? {
            Answer::CheckedAll(joint) => Ok(*joint),
            _ => Err(StoreError::Unexpected),
        }
    }
}

fn wrong_number(checks: usize) -> StoreError {
    StoreError::Invalid { field: "checks".to_owned(), reason: format!("{checks} is not in 1 ..= {PARTS_MAX}") }
}
