//! The rules of one document, with the definitions that shards are asked under.

use std::sync::Arc;

use tallyring_protocol::rules::{Action, Rule};

use crate::limits::limit_of;
use crate::rules::live::Live;
use crate::shard::command::{Definition, KeyQuota};

/// Rules in force. It never changes; other rules are another one.
#[derive(Debug)]
pub struct Bench {
    live: Arc<Live>,
    /// In the order of the document; `None` for a rule that does not count.
    definitions: Vec<Option<Arc<Definition>>>,
}

impl Bench {
    /// The rules that are live, each under its share of what a shard may hold.
    pub fn of(live: Arc<Live>, quota: KeyQuota) -> Bench {
        let enforce = live.set.defaults().enforce;
        let definitions = live.set.rules().iter().map(|rule| definition(rule, enforce, quota)).collect();
        Bench { live, definitions }
    }

    /// The rules.
    pub fn live(&self) -> &Arc<Live> {
        &self.live
    }

    /// The rule of that place in the document.
    pub fn rule(&self, order: usize) -> &Rule {
        &self.live.set.rules()[order]
    }

    /// What shards are asked under for that rule; `None` if it does not count.
    pub fn definition(&self, order: usize) -> Option<&Arc<Definition>> {
        self.definitions[order].as_ref()
    }
}

fn definition(rule: &Rule, enforce: bool, quota: KeyQuota) -> Option<Arc<Definition>> {
    let Action::Limit(numbers) = rule.action() else { return None };
    Some(Arc::new(Definition {
        rule: rule.id().into(),
        shadow: rule.is_shadow() || !enforce,
        keys_max: quota.of(rule.keys_max().unwrap_or(0)),
        limit: limit_of(&numbers),
    }))
}
