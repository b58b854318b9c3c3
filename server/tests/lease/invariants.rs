//! What must hold, whatever happens.

use tallyring::cluster::lease::Fence;

/// What was decided about keys, in the order in which it could be told, and what was wrong with it.
#[derive(Debug)]
pub(crate) struct Ledger {
    keys: Vec<Option<Decided>>,
    pub(crate) findings: Vec<String>,
    pub(crate) accepted: u64,
}

/// A decision about a key. Instants are true ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decided {
    pub(crate) fence: Fence,
    /// When it was made.
    pub(crate) at_us: u64,
    /// When its answer was let go.
    pub(crate) let_go_us: u64,
}

impl Ledger {
    pub(crate) fn new(keys: usize) -> Ledger {
        Ledger { keys: vec![None; keys], findings: Vec::new(), accepted: 0 }
    }

    /// One owner: who decides after somebody else has a later epoch, and begins after the other one's last answer was let go.
    pub(crate) fn one_owner_per_key_and_instant(&mut self, key: usize, decided: Decided) {
        if let Some(last) = self.keys[key] {
            let is_same = last.fence.holder == decided.fence.holder;
            if !last.fence.accepts(decided.fence) || !is_same && decided.at_us < last.let_go_us {
                self.findings.push(format!("one owner: key {key}: {decided:?} after {last:?}"));
            }
        }
        self.keys[key] = Some(decided);
    }

    /// An answer that its client takes lies inside of the lease; both by the owner's clock.
    pub(crate) fn accepted_answers_fall_inside_of_the_lease(&mut self, node: u64, now_us: u64, until_us: u64) {
        self.accepted += 1;
        if now_us > until_us {
            self.findings.push(format!("inside of the lease: node {node} was believed {} us late", now_us - until_us));
        }
    }

    /// A key is served when its owner decided about it lately.
    pub(crate) fn is_served(&self, key: usize, owner: u64, since_us: u64) -> bool {
        self.keys[key].is_some_and(|last| last.fence.holder.0 == owner && last.let_go_us >= since_us)
    }
}
