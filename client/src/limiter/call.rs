//! What a gateway asks a limiter.

use tallyring_protocol::rules::Subject;

/// One request, as the rules see it.
///
/// ```
/// use tallyring_client::{Call, Subject};
/// let subject = Subject { client: Some("cust_42"), ..Subject::new("POST", "/v1/charges") };
/// let call = Call { cost: 3, ..Call::new(subject) };
/// # let _ = call;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Who asks, and for what.
    pub subject: Subject<'a>,
    /// Units that it costs, under every rule that applies; 0 only looks. More than 10^12 count as 10^12.
    pub cost: u64,
    /// How important it is, by a name of the rules' `priorities`; `None` and unknown names keep nothing for others.
    pub priority: Option<&'a str>,
}

impl<'a> Call<'a> {
    /// A call that costs one unit.
    pub const fn new(subject: Subject<'a>) -> Call<'a> {
        Call { subject, cost: 1, priority: None }
    }
}

/// Which groups of rules are asked: so that some can be asked before authentication and the rest after it.
///
/// ```
/// use tallyring_client::GroupFilter;
/// let (before, after) = (GroupFilter::only(["ip"]), GroupFilter::without(["ip"]));
/// assert!(before.admits("ip") && !before.admits("default"));
/// assert!(after.admits("default") && !after.admits("ip"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum GroupFilter {
    /// Every group.
    #[default]
    All,
    /// These groups alone.
    Only(Vec<String>),
    /// Every group but these.
    Without(Vec<String>),
}

impl GroupFilter {
    /// These groups alone.
    pub fn only<S: Into<String>>(groups: impl IntoIterator<Item = S>) -> GroupFilter {
        GroupFilter::Only(groups.into_iter().map(Into::into).collect())
    }

    /// Every group but these.
    pub fn without<S: Into<String>>(groups: impl IntoIterator<Item = S>) -> GroupFilter {
        GroupFilter::Without(groups.into_iter().map(Into::into).collect())
    }

    /// Whether rules of this group are asked.
    pub fn admits(&self, group: &str) -> bool {
        match self {
            GroupFilter::All => true,
            GroupFilter::Only(groups) => groups.iter().any(|one| one == group),
            GroupFilter::Without(groups) => !groups.iter().any(|one| one == group),
        }
    }
}
