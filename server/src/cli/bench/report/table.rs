//! The report as tables of cells, whatever they are written in.

mod cells;
mod closed;
mod exactness;
mod memory;
mod open;

use super::Report;
use crate::cli::columns::Columns;

/// Columns of names, which read better from the left.
const NAMES: usize = 3;

/// A table: what it shows, the names of its columns, and its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) title: &'static str,
    pub(super) head: Vec<&'static str>,
    pub(super) rows: Vec<Vec<String>>,
}

/// Every table that has a row.
pub(super) fn tables(report: &Report) -> Vec<Table> {
    let tables = [closed::table(report), open::table(report), memory::table(report), exactness::table(report)];
    tables.into_iter().filter(|table| !table.rows.is_empty()).collect()
}

impl Table {
    /// Aligned columns, two spaces apart: names on the left, numbers on the right.
    pub(super) fn to_text(&self) -> String {
        let lines: Vec<_> = self.lines().collect();
        let columns = Columns::of(&lines, NAMES);
        let mut text = format!("{}\n", self.title);
        text.extend(lines.iter().map(|line| columns.line(line)));
        text
    }

    fn lines(&self) -> impl Iterator<Item = Vec<&str>> {
        let rows = self.rows.iter().map(|row| row.iter().map(String::as_str).collect());
        std::iter::once(self.head.clone()).chain(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_whatever_their_script() {
        let cells = |row: [&str; 4]| row.map(str::to_owned).to_vec();
        let rows = vec![cells(["native", "b", "c", "1,000"]), cells(["µ", "bb", "", "7"])];
        let text = Table { title: "t", head: vec!["target", "x", "y", "n"], rows }.to_text();
        assert_eq!(text, "t\ntarget  x   y      n\nnative  b   c  1,000\nµ       bb         7\n");
    }
}
