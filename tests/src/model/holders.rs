//! Concurrency: who holds how many slots of a key, and until when.

use std::collections::BTreeMap;

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
        let ends = self.holds.values().map(|hold| hold.ends_us);
        let first_us = ends.filter(|end_us| self.others_in_use(holder, *end_us) + cost <= limit).min()?;
        Some(first_us - now_us)
    }
}
