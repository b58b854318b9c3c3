//! All patterns as one tree of segments, walked once for a path.

use smallvec::{SmallVec, smallvec};

use super::hash::Map;
use super::{ANY, Matches, number};
use crate::rules::route::{Route, Segment, segments_of};

/// The patterns of all rules. A pattern's number is 1 or more; the same pattern has the same number.
#[derive(Clone, Debug, Default)]
pub(super) struct Routes {
    /// The first is the root, if there is any pattern.
    nodes: Vec<Node>,
    /// Literal segments by their text, so that edges are small.
    segments: Map<Box<str>, u32>,
    edges: Map<(u32, u32), u32>,
    count: u32,
}

/// Where patterns are that begin alike.
#[derive(Clone, Debug, Default)]
struct Node {
    /// The node behind a placeholder.
    any: Option<u32>,
    /// Patterns that end here.
    closed: Vec<End>,
    /// Patterns that end here with a star.
    open: Vec<End>,
}

/// The end of a pattern.
#[derive(Clone, Debug)]
struct End {
    method: Option<Box<str>>,
    route: u32,
}

impl Routes {
    /// The number of a rule's pattern; [`ANY`] if it has none.
    pub(super) fn insert(&mut self, route: Option<&Route>) -> u32 {
        let Some(route) = route else { return ANY };
        if self.nodes.is_empty() {
            self.nodes.push(Node::default());
        }
        let node = route.segments().iter().fold(0, |node, segment| self.child(node, segment));
        let next = self.count + 1; // 0 is ANY
        let node = &mut self.nodes[node as usize];
        let ends = if route.is_open() { &mut node.open } else { &mut node.closed };
        let known = ends.iter().find(|end| end.method.as_deref() == route.method()).map(|end| end.route);
        known.unwrap_or_else(|| {
            ends.push(End { method: route.method().map(Into::into), route: next });
            self.count = next;
            next
        })
    }

    /// The node behind `segment`, made if there is none.
    fn child(&mut self, node: u32, segment: &Segment) -> u32 {
        let next = number(self.nodes.len());
        let child = match segment {
            Segment::Any => *self.nodes[node as usize].any.get_or_insert(next),
            Segment::Literal(text) => {
                let fresh = number(self.segments.len());
                let segment = *self.segments.entry(text.clone()).or_insert(fresh);
                *self.edges.entry((node, segment)).or_insert(next)
            }
        };
        if child == next {
            self.nodes.push(Node::default());
        }
        child
    }

    /// The patterns that match a path in normal form, and [`ANY`] for rules without one.
    pub(super) fn matching(&self, method: &str, path: &str) -> Matches {
        let mut matches = Matches::from_slice(&[ANY]);
        // All nodes that the path so far leads to: a literal and a placeholder may both fit.
        let mut here: SmallVec<[u32; 8]> = if self.nodes.is_empty() { smallvec![] } else { smallvec![0] };
        let mut segments = segments_of(path);
        while !here.is_empty() {
            here.iter().for_each(|node| push(&self.nodes[*node as usize].open, method, &mut matches));
            let Some(segment) = segments.next() else {
                here.iter().for_each(|node| push(&self.nodes[*node as usize].closed, method, &mut matches));
                break;
            };
            let literal = self.segments.get(segment);
            here = here.iter().flat_map(|node| self.children(*node, literal)).collect();
        }
        matches
    }

    fn children(&self, node: u32, literal: Option<&u32>) -> impl Iterator<Item = u32> {
        let literal = literal.and_then(|segment| self.edges.get(&(node, *segment)).copied());
        literal.into_iter().chain(self.nodes[node as usize].any)
    }
}

fn push(ends: &[End], method: &str, matches: &mut Matches) {
    let fit = ends.iter().filter(|end| end.method.as_deref().is_none_or(|wanted| wanted == method));
    fit.for_each(|end| matches.push(end.route));
}
