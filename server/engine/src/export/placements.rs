//! A part of the ring: which keys are meant.

/// A set of placements, made of arcs of the ring.
///
/// ```
/// use tallyring_engine::Placements;
/// let part = Placements::of_arcs([(10, 20), (u64::MAX - 5, 3)]); // behind 10, up to 20; and across the end
/// assert!(part.contains(20) && !part.contains(10));
/// assert!(part.contains(u64::MAX) && part.contains(3) && !part.contains(4));
/// assert!(Placements::all().contains(7));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placements {
    /// First and last placement of each run, both included; ascending and apart from each other.
    runs: Vec<(u64, u64)>,
}

impl Placements {
    /// The whole ring.
    pub fn all() -> Placements {
        Placements { runs: vec![(0, u64::MAX)] }
    }

    /// The placements behind each arc's first number, up to its second and that included, as a ring point owns what lies
    /// between the point before it and itself. An arc may cross the end; from a number to itself it is the whole ring.
    pub fn of_arcs(arcs: impl IntoIterator<Item = (u64, u64)>) -> Placements {
        let mut runs: Vec<(u64, u64)> = arcs.into_iter().flat_map(runs_of).flatten().collect();
        runs.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::with_capacity(runs.len());
        for (first, last) in runs {
            match joined.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
                _ => joined.push((first, last)),
            }
        }
        Placements { runs: joined }
    }

    /// Whether a key of that placement is meant.
    pub fn contains(&self, placement: u64) -> bool {
        let at_or_after = self.runs.partition_point(|&(_, last)| last < placement);
        self.runs.get(at_or_after).is_some_and(|&(first, _)| first <= placement)
    }
}

/// An arc as one run, or as two if it crosses the end of the numbers.
fn runs_of((after, through): (u64, u64)) -> [Option<(u64, u64)>; 2] {
    match after.checked_add(1) {
        _ if after == through => [Some((0, u64::MAX)), None],
        None => [Some((0, through)), None],
        Some(first) if first <= through => [Some((first, through)), None],
        Some(first) => [Some((0, through)), Some((first, u64::MAX))],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(arcs: &[(u64, u64)], inside: &[u64], outside: &[u64]) {
        let placements = Placements::of_arcs(arcs.iter().copied());
        for &placement in inside {
            assert!(placements.contains(placement), "{placement} is in {arcs:?}");
        }
        for &placement in outside {
            assert!(!placements.contains(placement), "{placement} is not in {arcs:?}");
        }
    }

    #[test]
    fn an_arc_starts_behind_its_first_number_and_ends_with_its_second() {
        const END: u64 = u64::MAX;
        check(&[], &[], &[0, 1, END]);
        check(&[(10, 20)], &[11, 20], &[0, 10, 21, END]);
        check(&[(20, 10)], &[0, 10, 21, END], &[11, 20]);
        check(&[(END, 0)], &[0], &[1, END]);
        check(&[(END - 1, END)], &[END], &[0, END - 1]);
        check(&[(5, 5)], &[0, 5, 6, END], &[]);
    }

    #[test]
    fn arcs_that_touch_or_overlap_are_one() {
        check(&[(10, 20), (20, 30), (25, 40)], &[11, 20, 21, 40], &[10, 41]);
        check(&[(30, 40), (10, 20)], &[11, 40], &[25, 30]);
        assert_eq!(Placements::of_arcs([(7, 3), (3, 7)]), Placements::all());
    }
}
