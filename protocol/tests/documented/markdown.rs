//! The tables of a Markdown document, each under the heading it stands under.

/// One table.
pub(crate) struct Table {
    pub(crate) heading: &'static str,
    columns: Vec<&'static str>,
    rows: Vec<Vec<&'static str>>,
}

impl Table {
    /// The cells of two columns, row by row.
    pub(crate) fn pairs(&self, first: &str, second: &str) -> Vec<(&'static str, &'static str)> {
        let column = |name| self.columns.iter().position(|c| *c == name).expect("a column of that name");
        let (first, second) = (column(first), column(second));
        self.rows.iter().map(|row| (row[first], row[second])).collect()
    }

    /// The cells of a column.
    pub(crate) fn column(&self, name: &str) -> Vec<&'static str> {
        self.pairs(name, name).into_iter().map(|(cell, _)| cell).collect()
    }
}

/// Every table of the document, in its order.
pub(crate) fn tables(document: &'static str) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let mut heading = "";
    let mut inside = false;
    for line in document.lines() {
        if let Some(title) = line.strip_prefix('#') {
            heading = title.trim_start_matches('#').trim();
        }
        let cells = cells(line);
        match tables.last_mut().filter(|_| inside) {
            Some(table) if !cells.is_empty() => table.rows.push(cells),
            None if !cells.is_empty() => tables.push(Table { heading, columns: cells, rows: Vec::new() }),
            _ => (),
        }
        inside = line.starts_with('|');
    }
    tables.iter_mut().for_each(|table| table.rows.retain(|row| !row.iter().all(|cell| cell.starts_with("---"))));
    tables
}

/// The table under a heading whose first column has this name.
pub(crate) fn table(document: &'static str, heading: &str, first: &str) -> Option<Table> {
    tables(document).into_iter().find(|table| table.heading == heading && table.columns[0] == first)
}

/// The cells of a line of a table; none if it is another line. Backquotes are for the eye.
fn cells(line: &'static str) -> Vec<&'static str> {
    let Some(inner) = line.strip_prefix('|').and_then(|line| line.strip_suffix('|')) else { return Vec::new() };
    inner.split('|').map(|cell| cell.trim().trim_matches('`')).collect()
}
