//! Columns of a table for a terminal, two spaces apart.

/// How wide each column is, and which way it is aligned.
#[derive(Debug)]
pub(super) struct Columns {
    widths: Vec<usize>,
    /// Columns of names, which read better from the left; numbers come behind them, and stand to the right.
    names: usize,
}

impl Columns {
    /// Columns in which these rows, all of one length, have room; the first `names` of them are of names.
    pub(super) fn of<S: AsRef<str>>(rows: &[impl AsRef<[S]>], names: usize) -> Columns {
        let mut widths = Vec::new();
        for row in rows.iter().map(AsRef::as_ref) {
            widths.resize(row.len(), 0);
            widths.iter_mut().zip(row).for_each(|(width, cell)| *width = (*width).max(length(cell)));
        }
        Columns { widths, names }
    }

    /// A row as a line.
    pub(super) fn line<S: AsRef<str>>(&self, row: &[S]) -> String {
        let cells = row.iter().zip(&self.widths).enumerate().map(|(column, (cell, width))| {
            let (cell, padding) = (cell.as_ref(), " ".repeat(width - length(cell)));
            if column < self.names { format!("{cell}{padding}") } else { format!("{padding}{cell}") }
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        format!("{}\n", line.trim_end())
    }
}

fn length(cell: &impl AsRef<str>) -> usize {
    cell.as_ref().chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_whatever_their_script() {
        let rows = [["target", "x", "n"], ["native", "c", "1,000"], ["µ", "", "7"]];
        let columns = Columns::of(&rows, 2);
        let lines = rows.map(|row| columns.line(&row)).concat();
        assert_eq!(lines, "target  x      n\nnative  c  1,000\nµ              7\n");
    }
}
