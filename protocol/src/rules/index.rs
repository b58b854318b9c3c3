//! Finds the rules that may match a request without looking at the others.
//!
//! Every rule stands in one cell of a table: its *anchor* (the condition besides the route that the fewest rules share: a
//! client, a header's value …, or none) by its route (or none). A request has few anchors and its path matches few routes,
//! so it opens few cells, however many rules there are.

mod anchors;
mod hash;
mod routes;

use std::hash::Hash;
use std::ops::Range;

use smallvec::SmallVec;

use self::anchors::Anchors;
use self::hash::Map;
use self::routes::Routes;
use super::facts::Facts;
use super::rule::Rule;

/// The anchor of rules that have none, and the route.
const ANY: u32 = 0;

/// Anchors and routes of one request that need no allocation.
const MATCHES_INLINE: usize = 16;
type Matches = SmallVec<[u32; MATCHES_INLINE]>;

/// The index of a set of rules.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    anchors: Anchors,
    routes: Routes,
    /// Where the candidates of an anchor and a route are.
    cells: Map<(u32, u32), Range<usize>>,
    candidates: Vec<Candidate>,
}

/// A rule in a cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    /// Its place in the document.
    pub(super) rule: u32,
    /// What it competes for: the number of its group, among enforced or among shadow rules.
    pub(super) contest: u32,
    /// Its place when all rules are sorted from the least specific to the most.
    pub(super) precedence: u32,
}

impl Index {
    pub(super) fn new(rules: &[Rule]) -> Index {
        let (anchors, anchor_of) = Anchors::new(rules);
        let mut index = Index { anchors, ..Index::default() };
        let contests = numbered(rules.iter().map(|rule| (&rule.group, rule.is_shadow())));
        let precedence = precedence(rules);
        let mut placed: Vec<((u32, u32), Candidate)> = Vec::with_capacity(rules.len());
        for (at, rule) in rules.iter().enumerate() {
            let cell = (anchor_of[at], index.routes.insert(rule.route()));
            placed.push((cell, Candidate { rule: number(at), contest: contests[at], precedence: precedence[at] }));
        }
        placed.sort_by_key(|(cell, candidate)| (*cell, std::cmp::Reverse(candidate.precedence)));
        for cell in placed.chunk_by(|a, b| a.0 == b.0) {
            let start = index.candidates.len();
            index.candidates.extend(cell.iter().map(|(_, candidate)| *candidate));
            index.cells.insert(cell[0].0, start..index.candidates.len());
        }
        index
    }

    /// Calls `visit` with every rule whose anchor and route match; its other conditions may not.
    pub(super) fn for_each(&self, facts: &Facts<'_>, mut visit: impl FnMut(Candidate)) {
        let routes = self.routes.matching(facts.method, facts.path);
        for anchor in &self.anchors.matching(facts) {
            for route in &routes {
                if let Some(cell) = self.cells.get(&(*anchor, *route)) {
                    self.candidates[cell.clone()].iter().copied().for_each(&mut visit);
                }
            }
        }
    }
}

/// For each rule its place among all, from the least specific to the most.
fn precedence(rules: &[Rule]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..rules.len()).collect();
    order.sort_by_key(|at| rules[*at].specificity());
    let mut precedence = vec![0; rules.len()];
    order.into_iter().enumerate().for_each(|(place, at)| precedence[at] = number(place));
    precedence
}

/// Equal items get equal numbers.
fn numbered<T: Hash + Eq>(items: impl Iterator<Item = T>) -> Vec<u32> {
    let mut numbers: Map<T, u32> = Map::default();
    let number_of = |item| {
        let next = number(numbers.len());
        *numbers.entry(item).or_insert(next)
    };
    items.map(number_of).collect()
}

fn number(count: usize) -> u32 {
    u32::try_from(count).expect("rules and their segments are far fewer than 2^32")
}
