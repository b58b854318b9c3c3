//! What is asked next.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

use super::draw::Draw;
use super::mix::Pick;
use super::numbers::EMPTIED_ONE_IN;

/// One question of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) account: u32,
    pub(super) cost: Cost,
}

/// What a call costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cost {
    /// A unit.
    One,
    /// All that the limit can hold.
    All,
}

/// A source of calls.
pub(super) trait Feed {
    /// The next call at `now`; `None` = no more.
    fn next(&mut self, now: Instant) -> Option<Call>;
}

/// Random accounts, without an end.
#[derive(Debug)]
pub(super) struct Load {
    pub(super) pick: Pick,
    pub(super) draw: Draw,
}

impl Feed for Load {
    #[inline]
    fn next(&mut self, _now: Instant) -> Option<Call> {
        Some(Call { account: self.pick.draw(&mut self.draw), cost: Cost::One })
    }
}

/// What another feed says, until a moment.
#[derive(Debug)]
pub(super) struct Until<F> {
    pub(super) feed: F,
    pub(super) end: Instant,
}

impl<F: Feed> Feed for Until<F> {
    #[inline]
    fn next(&mut self, now: Instant) -> Option<Call> {
        if now < self.end { self.feed.next(now) } else { None }
    }
}

/// Every `step`-th account once, from `next` on.
#[derive(Debug)]
pub(super) struct Walk {
    pub(super) accounts: u32,
    pub(super) next: u32,
    pub(super) step: u32,
    /// Whether one in [`EMPTIED_ONE_IN`] is asked for all that it has.
    pub(super) empties: bool,
}

impl Feed for Walk {
    fn next(&mut self, _now: Instant) -> Option<Call> {
        let account = self.next;
        if account >= self.accounts {
            return None;
        }
        self.next = self.next.saturating_add(self.step);
        let is_emptied = self.empties && account % EMPTIED_ONE_IN == EMPTIED_ONE_IN - 1;
        Some(Call { account, cost: if is_emptied { Cost::All } else { Cost::One } })
    }
}

/// A number of random accounts, noting how often each was asked for.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) draw: Draw,
    pub(super) left: usize,
    /// Calls by account.
    pub(super) asked: Rc<RefCell<Vec<u64>>>,
}

impl Feed for Sample {
    fn next(&mut self, _now: Instant) -> Option<Call> {
        self.left = self.left.checked_sub(1)?;
        let mut asked = self.asked.borrow_mut();
        let account = self.draw.below(u32::try_from(asked.len()).expect("accounts are counted in 32 bits"));
        asked[account as usize] += 1;
        Some(Call { account, cost: Cost::One })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::cli::bench::mix::Mix;

    fn drawn(feed: &mut impl Feed) -> Vec<Call> {
        std::iter::from_fn(|| feed.next(Instant::now())).collect()
    }

    #[test]
    fn a_load_ends_at_its_moment() {
        let now = Instant::now();
        let end = now + Duration::from_secs(1);
        let mut load = Until { feed: Load { pick: Pick::new(Mix::Uniform, 10), draw: Draw::new(1) }, end };
        assert!(load.next(now).is_some());
        assert_eq!(load.next(end), None);
    }

    #[test]
    fn walks_of_all_connections_meet_every_account_once() {
        let walk = |next| Walk { accounts: 10, next, step: 3, empties: true };
        let mut met: Vec<Call> = (0..3).flat_map(|next| drawn(&mut walk(next))).collect();
        met.sort_by_key(|call| call.account);
        let met = met.iter().map(|Call { account, cost }| format!("{account} {cost:?}")).collect::<Vec<_>>();
        assert_eq!(met.join(", "), "0 One, 1 One, 2 One, 3 All, 4 One, 5 One, 6 One, 7 All, 8 One, 9 One");
    }

    #[test]
    fn a_walk_that_empties_nobody_asks_for_single_units() {
        let mut walk = Walk { accounts: 10, next: 0, step: 1, empties: false };
        assert!(drawn(&mut walk).iter().all(|call| call.cost == Cost::One));
    }

    #[test]
    fn a_sample_knows_what_it_asked() {
        let asked = Rc::new(RefCell::new(vec![0; 10]));
        let met = drawn(&mut Sample { draw: Draw::new(1), left: 25, asked: asked.clone() });
        assert_eq!(met.len(), 25);
        for (account, asked) in (0..).zip(asked.borrow().iter()) {
            assert_eq!(met.iter().filter(|call| call.account == account).count() as u64, *asked);
        }
    }
}
