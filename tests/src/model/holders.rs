//! Concurrency: who holds how many slots of a key, and until when.

use std::collections::{BTreeMap, BTreeSet};

use super::{FULL, Micros, Units};

/// Holders a key can have at a time.
const HOLDERS_MAX: usize = 10_000;

/// One holder's slots, live while `t < ends_us`.
struct Hold {
    cost: Units,
    ends_us: Micros,
}

/// The holders of one key by name, ended ones too until they are overwritten or released.
#[derive(Default)]
pub(super) struct Holders {
    holds: BTreeMap<String, Hold>,
}

impl Holders {
    /// Answers whether `holder` may have `cost` slots until `now_us + ttl_us`, and gives it them if so.
    pub(super) fn acquire(
        &mut self,
        holder: String,
        cost: Units,
        limit: Units,
        ttl_us: Micros,
        now_us: Micros,
    ) -> String {
        self.holds.retain(|_, hold| now_us < hold.ends_us);
        let renews = self.holds.get(&holder).is_some_and(|own| cost <= own.cost);
        if !renews && self.others_in_use(&holder, now_us) + cost > limit {
            let retry = self.retry_after(&holder, cost, limit, now_us).map_or("null".to_owned(), |us| us.to_string());
            let in_use = self.in_use();
            return format!(r#"{{"allowed":false,"limit":{limit},"in_use":{in_use},"retry_after_us":{retry}}}"#);
        }
        if !self.holds.contains_key(&holder) && self.holds.len() >= HOLDERS_MAX {
            return FULL.to_owned();
        }
        self.holds.insert(holder, Hold { cost, ends_us: now_us + ttl_us });
        format!(r#"{{"allowed":true,"limit":{limit},"in_use":{},"retry_after_us":0}}"#, self.in_use())
    }

    /// Takes the holder's slots back and answers whether it had any.
    pub(super) fn release(&mut self, holder: &str, now_us: Micros) -> String {
        self.holds.retain(|_, hold| now_us < hold.ends_us);
        let released = self.holds.remove(holder).is_some();
        format!(r#"{{"released":{released},"in_use":{}}}"#, self.in_use())
    }

    fn in_use(&self) -> Units {
        self.holds.values().map(|hold| hold.cost).sum()
    }

    fn others_in_use(&self, holder: &str, at_us: Micros) -> Units {
        let is_live_other = |(name, hold): &(&String, &Hold)| *name != holder && at_us < hold.ends_us;
        self.holds.iter().filter(is_live_other).map(|(_, hold)| hold.cost).sum()
    }

    /// The smallest wait after which the others leave room for `cost`: the end of one of them; never if it is over the
    /// limit by itself.
    fn retry_after(&self, holder: &str, cost: Units, limit: Units, now_us: Micros) -> Option<Micros> {
        let ends: BTreeSet<Micros> = self.holds.values().map(|hold| hold.ends_us).collect();
        let first_us = ends.into_iter().find(|end_us| self.others_in_use(holder, *end_us) + cost <= limit)?;
        Some(first_us - now_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holder_too_many_is_told_full_unless_it_is_rejected_anyway() {
        let mut holders = Holders::default();
        let names = (0..HOLDERS_MAX).map(|name| name.to_string());
        holders.holds = names.map(|name| (name, Hold { cost: 1, ends_us: 10 })).collect();
        let mut acquire = |name: &str, limit, now_us| holders.acquire(name.to_owned(), 1, limit, 5, now_us);
        assert_eq!(acquire("another", 20_000, 0), FULL);
        assert_eq!(acquire("another", 1, 0), r#"{"allowed":false,"limit":1,"in_use":10000,"retry_after_us":10}"#);
        assert_eq!(acquire("7", 20_000, 9), r#"{"allowed":true,"limit":20000,"in_use":10000,"retry_after_us":0}"#);
        assert_eq!(acquire("another", 2, 10), r#"{"allowed":true,"limit":2,"in_use":2,"retry_after_us":0}"#);
    }
}
