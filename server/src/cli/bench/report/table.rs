//! The report as tables of cells, whatever they are written in.

mod cells;
mod closed;
mod exactness;
mod memory;
mod open;

use super::Report;

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
        let width = |column: usize| self.lines().map(|line| line[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let mut text = format!("{}\n", self.title);
        for line in self.lines() {
            let cells = line.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
                let padding = " ".repeat(width - cell.chars().count());
                if column < NAMES { format!("{cell}{padding}") } else { format!("{padding}{cell}") }
            });
            text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
            text.push('\n');
        }
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
