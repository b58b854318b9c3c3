//! The report in Markdown: the tables of a README, made by one command.

use super::table::Table;
use super::{Report, notes, table};

pub(super) fn render(report: &Report) -> String {
    let head = notes::head_lines(report).iter().map(|line| format!("- {}\n", escaped(line))).collect::<String>();
    let tables = table::tables(report).iter().map(write).collect::<String>();
    let foot =
        notes::foot_lines(report).iter().map(|line| format!("{}\n", escaped(line))).collect::<Vec<_>>().join("\n");
    format!("{head}\n{tables}{foot}")
}

fn write(table: &Table) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let head = line(table.head.iter().map(|name| escaped(name)).collect());
    let rule = format!("|{}\n", "---|".repeat(table.head.len()));
    let rows = table.rows.iter().map(|row| line(row.iter().map(|cell| escaped(cell)).collect())).collect::<String>();
    format!("**{}**\n\n{head}{rule}{rows}\n", escaped(table.title))
}

/// What would end a cell, emphasise or be HTML is a character.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '|' | '*' | '_' | '<' | '`' | '\\' | '[') {
            escaped.push('\\');
        }
        escaped.push(if character.is_control() { ' ' } else { character });
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_written_with_a_rule_below_its_head() {
        let table = Table { title: "t", head: vec!["target", "n"], rows: vec![vec!["a|b".into(), "98.6 %*".into()]] };
        assert_eq!(write(&table), "**t**\n\n| target | n |\n|---|---|\n| a\\|b | 98.6 %\\* |\n\n");
    }
}
