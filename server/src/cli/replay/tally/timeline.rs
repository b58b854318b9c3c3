//! Decisions over time, in as many columns as a picture has, however long the log is.

/// Columns of a picture at most; at least half as many once the log is longer than that many seconds.
const COLUMNS_MAX: usize = 240;
/// Where it begins: columns of a second.
const COLUMN_US_MIN: u64 = 1_000_000;

/// Allowed and denied in one column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::cli::replay) struct Column {
    pub(in crate::cli::replay) allowed: u64,
    pub(in crate::cli::replay) denied: u64,
}

/// The columns of each rule. When the log outgrows them, every two become one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli::replay) struct Timeline {
    start_us: Option<u64>,
    column_us: u64,
    rules: Vec<Vec<Column>>,
}

impl Timeline {
    pub(super) fn new(rules: usize) -> Timeline {
        Timeline { start_us: None, column_us: COLUMN_US_MIN, rules: vec![Vec::new(); rules] }
    }

    /// Counts a decision; time does not go back.
    pub(super) fn count(&mut self, rule: usize, t_us: u64, allowed: bool) {
        let start_us = *self.start_us.get_or_insert(t_us);
        let elapsed_us = t_us.saturating_sub(start_us);
        while elapsed_us / self.column_us >= COLUMNS_MAX as u64 {
            self.fold();
        }
        let at = usize::try_from(elapsed_us / self.column_us).expect("a column's number was just bounded");
        let columns = &mut self.rules[rule];
        if columns.len() <= at {
            columns.resize(at + 1, Column::default());
        }
        columns[at].allowed += u64::from(allowed);
        columns[at].denied += u64::from(!allowed);
    }

    /// How long a column is.
    pub(in crate::cli::replay) fn column_us(&self) -> u64 {
        self.column_us
    }

    /// When the first column begins.
    pub(in crate::cli::replay) fn start_us(&self) -> u64 {
        self.start_us.unwrap_or(0)
    }

    /// Columns of the rule that has most.
    pub(in crate::cli::replay) fn columns(&self) -> usize {
        self.rules.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// The columns of a rule; those behind its last decision are missing.
    pub(in crate::cli::replay) fn of(&self, rule: usize) -> &[Column] {
        &self.rules[rule]
    }

    fn fold(&mut self) {
        self.column_us *= 2;
        for columns in &mut self.rules {
            let folded = columns.chunks(2).map(|pair| Column {
                allowed: pair.iter().map(|column| column.allowed).sum(),
                denied: pair.iter().map(|column| column.denied).sum(),
            });
            *columns = folded.collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_log_has_wide_columns_and_loses_nothing() {
        let mut timeline = Timeline::new(2);
        for second in 0..100_000 {
            timeline.count(0, 5_000_000 + second * 1_000_000, second % 4 != 0);
        }
        timeline.count(1, 5_000_000 + 50_000 * 1_000_000, true); // as late as the engine says
        let columns = timeline.of(0);
        assert!((COLUMNS_MAX / 2..=COLUMNS_MAX).contains(&columns.len()), "{}", columns.len());
        assert_eq!(columns.iter().map(|column| column.allowed).sum::<u64>(), 75_000);
        assert_eq!(columns.iter().map(|column| column.denied).sum::<u64>(), 25_000);
        assert_eq!((timeline.start_us(), timeline.column_us()), (5_000_000, 512_000_000));
        assert_eq!(timeline.of(1).last(), Some(&Column { allowed: 1, denied: 0 }));
    }

    #[test]
    fn a_short_log_has_a_column_a_second() {
        let mut timeline = Timeline::new(1);
        timeline.count(0, 7, true);
        timeline.count(0, 2_000_007, false);
        assert_eq!(timeline.of(0), [(1, 0), (0, 0), (0, 1)].map(|(allowed, denied)| Column { allowed, denied }));
    }
}
