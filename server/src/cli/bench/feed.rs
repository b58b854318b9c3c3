//! What a connection asks next.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

use super::accounts::Draw;
use super::bucket::EMPTIED_ONE_IN;
use super::dialect::Dialect;

/// A source of questions, drawn batch by batch.
pub(super) trait Feed {
    /// Appends the next questions to `out` and says how many there are; 0 = no more.
    fn batch(&mut self, now: Instant, out: &mut Vec<u8>) -> usize;
}

/// Random accounts, until a moment.
#[derive(Debug)]
pub(super) struct Load {
    pub(super) dialect: Rc<Dialect>,
    pub(super) accounts: u32,
    pub(super) draw: Draw,
    pub(super) pipeline: usize,
    pub(super) until: Instant,
}

impl Feed for Load {
    fn batch(&mut self, now: Instant, out: &mut Vec<u8>) -> usize {
        if now >= self.until {
            return 0;
        }
        for _ in 0..self.pipeline {
            self.dialect.ask.write(self.draw.below(self.accounts), out);
        }
        self.pipeline
    }
}

/// Every `step`-th account once, from `next` on; an account in [`EMPTIED_ONE_IN`] by another question.
#[derive(Debug)]
pub(super) struct Walk {
    pub(super) dialect: Rc<Dialect>,
    pub(super) accounts: u32,
    pub(super) next: u32,
    pub(super) step: u32,
    pub(super) pipeline: usize,
}

impl Feed for Walk {
    fn batch(&mut self, _now: Instant, out: &mut Vec<u8>) -> usize {
        let batch = (self.next..self.accounts).step_by(self.step as usize).take(self.pipeline);
        let mut asked = 0;
        for account in batch {
            let template = if account % EMPTIED_ONE_IN == 0 { &self.dialect.drain } else { &self.dialect.ask };
            template.write(account, out);
            asked += 1;
        }
        self.next = self.next.saturating_add(self.step.saturating_mul(asked));
        asked as usize
    }
}

/// A number of random accounts, noting how often each was asked for.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) dialect: Rc<Dialect>,
    pub(super) draw: Draw,
    pub(super) left: usize,
    pub(super) pipeline: usize,
    /// Questions by account.
    pub(super) asked: Rc<RefCell<Vec<u64>>>,
}

impl Feed for Sample {
    fn batch(&mut self, _now: Instant, out: &mut Vec<u8>) -> usize {
        let count = self.pipeline.min(self.left);
        let mut asked = self.asked.borrow_mut();
        let accounts = u32::try_from(asked.len()).expect("accounts are counted in 32 bits");
        for _ in 0..count {
            let account = self.draw.below(accounts);
            asked[account as usize] += 1;
            self.dialect.ask.write(account, out);
        }
        self.left -= count;
        count
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::cli::bench::accounts::Accounts;
    use crate::cli::bench::template::Template;

    /// A dialect whose questions are six digits and a sign, and which nobody answers.
    fn dialect() -> Rc<Dialect> {
        let template = |sign: &str| {
            Template::new(&Accounts { prefix: "rl".into(), count: 10 }, |key, out| {
                out.extend_from_slice(&key.as_bytes()["rl:{acct_".len()..][..6]);
                out.extend_from_slice(sign.as_bytes());
            })
        };
        Rc::new(Dialect { greeting: Vec::new(), ask: template("+ "), drain: template("- "), read: |_| Ok(None) })
    }

    fn drawn(feed: &mut impl Feed, now: Instant) -> String {
        let mut out = Vec::new();
        while feed.batch(now, &mut out) > 0 {}
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_load_ends_at_its_moment() {
        let now = Instant::now();
        let until = now + Duration::from_secs(1);
        let mut load = Load { dialect: dialect(), accounts: 10, draw: Draw::new(1), pipeline: 3, until };
        assert_eq!(load.batch(now, &mut Vec::new()), 3);
        assert_eq!(load.batch(until, &mut Vec::new()), 0);
    }

    #[test]
    fn walks_of_all_connections_meet_every_account_once() {
        let walk = |next| Walk { dialect: dialect(), accounts: 10, next, step: 3, pipeline: 2 };
        let met = (0..3).map(|next| drawn(&mut walk(next), Instant::now())).collect::<String>();
        let mut met: Vec<_> = met.split_whitespace().collect();
        met.sort_unstable();
        let expect = "000000- 000001+ 000002+ 000003+ 000004- 000005+ 000006+ 000007+ 000008- 000009+";
        assert_eq!(met.join(" "), expect);
    }

    #[test]
    fn a_sample_knows_what_it_asked() {
        let asked = Rc::new(RefCell::new(vec![0; 10]));
        let mut sample =
            Sample { dialect: dialect(), draw: Draw::new(1), left: 25, pipeline: 10, asked: asked.clone() };
        let met = drawn(&mut sample, Instant::now());
        assert_eq!(met.split_whitespace().count(), 25);
        for (account, asked) in asked.borrow().iter().enumerate() {
            assert_eq!(met.matches(&format!("{account:06}+")).count() as u64, *asked);
        }
    }
}
