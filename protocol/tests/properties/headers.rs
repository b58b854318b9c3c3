//! What the writer of headers writes is what a parser of structured fields (RFC 9651) that knows nothing of it reads.

use std::time::Duration;

use proptest::prelude::*;
use sfv::{BareItem, Item, List, ListEntry, Parser};
use tallyring_protocol::headers::{Budget, INTEGER_MAX, Policy, Told};
use tallyring_protocol::rules::HeaderFamily;

/// A rule's numbers, which no bound of rules restricts here.
#[derive(Clone, Debug)]
struct Numbers {
    name: String,
    quota: u64,
    window_s: Option<u64>,
    remaining: u64,
    more_after_us: Option<u64>,
}

prop_compose! {
    fn numbers()(
        name in "[ -~]{1,40}",
        quota in any::<u64>(),
        window_s in proptest::option::of(1..=INTEGER_MAX),
        remaining in any::<u64>(),
        more_after_us in proptest::option::of(any::<u64>()),
    ) -> Numbers {
        Numbers { name, quota, window_s, remaining, more_after_us }
    }
}

impl Numbers {
    fn budget(&self) -> Budget<'_> {
        let Numbers { name, quota, window_s, remaining, more_after_us } = self;
        Budget {
            policy: Policy { name, quota: *quota, window_s: *window_s },
            limit: *quota,
            remaining: *remaining,
            more_after: more_after_us.map(Duration::from_micros),
            reset_after: Duration::ZERO,
        }
    }
}

/// The items of a list.
fn items(value: &str) -> Vec<Item> {
    let list: List = Parser::new(value).parse().unwrap_or_else(|error| panic!("{value}: {error}"));
    let item = |entry| match entry {
        ListEntry::Item(item) => item,
        ListEntry::InnerList(list) => panic!("{list:?} is no item"),
    };
    list.into_iter().map(item).collect()
}

fn name(item: &Item) -> &str {
    item.bare_item.as_string().expect("a policy is named by a string").as_str()
}

fn integer(item: &Item, parameter: &str) -> Option<u64> {
    let value = item.params.get(parameter).map(BareItem::as_integer)?;
    Some(u64::try_from(i64::from(value.expect("an integer"))).expect("not below zero"))
}

proptest! {
    #[test]
    fn every_list_is_read_back(all in proptest::collection::vec(numbers(), 1..17)) {
        let budgets: Vec<Budget<'_>> = all.iter().map(Numbers::budget).collect();
        let mut written = Vec::new();
        Told { budgets: &budgets, speaker: Some(0), now_us: 0 }
            .write(&[HeaderFamily::Structured], |_, value| written.push(value));
        let (policies, left) = (items(&written[0]), items(&written[1]));
        prop_assert_eq!((policies.len(), left.len()), (all.len(), all.len()));
        for ((numbers, policy), left) in all.iter().zip(&policies).zip(&left) {
            prop_assert_eq!((name(policy), name(left)), (numbers.name.as_str(), numbers.name.as_str()));
            prop_assert_eq!(integer(policy, "q"), Some(numbers.quota.min(INTEGER_MAX)));
            prop_assert_eq!(integer(policy, "w"), numbers.window_s);
            prop_assert_eq!(integer(left, "r"), Some(numbers.remaining.min(INTEGER_MAX)));
            prop_assert_eq!(integer(left, "t"), numbers.more_after_us.map(|us| us.div_ceil(1_000_000)));
        }
    }

    #[test]
    fn any_name_makes_a_header_that_can_be_sent(name in "\\PC*|[\u{0}-\u{1F}]*") {
        let policy = Policy { name: &name, quota: 1, window_s: Some(1) };
        let wait = Duration::ZERO;
        let budget = Budget { policy, limit: 1, remaining: 1, more_after: Some(wait), reset_after: wait };
        let mut written = Vec::new();
        Told { budgets: &[budget], speaker: Some(0), now_us: 0 }.write(&HeaderFamily::ALL, |_, value| written.push(value));
        prop_assert!(written.iter().all(|value| value.bytes().all(|byte| (b' '..=b'~').contains(&byte))));
        written.iter().rev().take(2).for_each(|list| assert_eq!(items(list).len(), 1, "{list}"));
    }
}
