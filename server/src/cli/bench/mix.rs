//! Which accounts a load asks for, and how often.

use std::rc::Rc;

use super::draw::Draw;
use super::zipf::Zipf;

/// How a load's calls are spread over its accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Mix {
    /// Every account as often as every other.
    Uniform,
    /// The account of rank r as often as 1 / r^1.1 says.
    Zipf,
    /// One account alone.
    Hot,
}

impl Mix {
    /// In a sentence: "so many keys, …".
    pub(super) fn description(self) -> &'static str {
        match self {
            Mix::Uniform => "each as often as the others",
            Mix::Zipf => "by Zipf's law with exponent 1.1",
            Mix::Hot => "one and the same for every call",
        }
    }
}

/// Draws accounts. Cheap to clone; the clones draw alike.
#[derive(Clone, Debug)]
pub(super) enum Pick {
    /// Any account below a count.
    Uniform(u32),
    /// Accounts by rank.
    Zipf(Rc<Zipf>),
}

impl Pick {
    /// Of so many accounts.
    pub(super) fn new(mix: Mix, accounts: u32) -> Pick {
        match mix {
            Mix::Uniform => Pick::Uniform(accounts),
            Mix::Zipf => Pick::Zipf(Rc::new(Zipf::new(accounts))),
            Mix::Hot => Pick::Uniform(1),
        }
    }

    #[inline]
    pub(super) fn draw(&self, draw: &mut Draw) -> u32 {
        match self {
            Pick::Uniform(accounts) => draw.below(*accounts),
            Pick::Zipf(zipf) => zipf.draw(draw),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hot_mix_asks_for_one_account_and_the_others_for_all() {
        let drawn = |mix| {
            let (pick, mut draw) = (Pick::new(mix, 10), Draw::new(1));
            let mut drawn: Vec<u32> = (0..1_000).map(|_| pick.draw(&mut draw)).collect();
            drawn.sort_unstable();
            drawn.dedup();
            drawn
        };
        assert_eq!(drawn(Mix::Hot), [0]);
        assert_eq!(drawn(Mix::Uniform), (0..10).collect::<Vec<_>>());
        assert_eq!(drawn(Mix::Zipf), (0..10).collect::<Vec<_>>());
    }
}
