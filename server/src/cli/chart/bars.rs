//! A bar a row: a name, a length, and what it stands for.

use std::fmt::{self, Write as _};

use super::WIDTH;
use crate::cli::page::escaped;

/// Height of a row.
const ROW: u64 = 22;

/// Where bars begin and the longest ends.
const FROM: u64 = 300;
const TO: u64 = 850;

/// The longest name beside a bar; the whole of it is shown to who points there.
const NAME_CHARS_MAX: usize = 44;

/// One row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Bar {
    pub(in crate::cli) name: String,
    pub(in crate::cli) length: u64,
    /// From where to where repetitions of it lie.
    pub(in crate::cli) range: Option<(u64, u64)>,
    /// What stands behind the bar.
    pub(in crate::cli) text: String,
    /// Its class in the page's style: a colour.
    pub(in crate::cli) class: &'static str,
}

/// Draws them, the longest as long as there is room. `what` is what they show, for who cannot see it.
pub(in crate::cli) fn write(page: &mut String, what: &str, bars: &[Bar]) -> fmt::Result {
    let longest = bars.iter().map(|bar| bar.range.map_or(0, |(_, high)| high).max(bar.length)).max();
    let scale = Scale { longest: longest.unwrap_or(0).max(1) };
    let height = bars.len() as u64 * ROW;
    writeln!(page, "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">", escaped(what))?;
    for (bar, row) in bars.iter().zip(0..) {
        scale.write_row(page, bar, row * ROW)?;
    }
    writeln!(page, "</svg>")
}

struct Scale {
    longest: u64,
}

impl Scale {
    fn at(&self, length: u64) -> u64 {
        let width = u128::from(TO - FROM) * u128::from(length) / u128::from(self.longest);
        FROM + u64::try_from(width).unwrap_or(TO - FROM)
    }

    fn write_row(&self, page: &mut String, bar: &Bar, top: u64) -> fmt::Result {
        let (end, line) = (self.at(bar.length).max(FROM + 2), top + 15);
        write!(
            page,
            "<g><title>{}</title><text class=\"name\" x=\"0\" y=\"{line}\">{}</text>",
            escaped(&bar.name),
            escaped(&shortened(&bar.name)),
        )?;
        write!(
            page,
            "<rect class=\"{}\" x=\"{FROM}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
            bar.class,
            top + 4,
            end - FROM,
            ROW - 8
        )?;
        let mut text_from = end;
        if let Some((low, high)) = bar.range {
            let (low, high, middle) = (self.at(low), self.at(high), top + ROW / 2);
            write!(
                page,
                "<path class=\"range\" d=\"M{low} {middle}H{high}M{low} {}v6M{high} {}v6\"/>",
                middle - 3,
                middle - 3
            )?;
            text_from = text_from.max(high);
        }
        writeln!(page, "<text x=\"{}\" y=\"{line}\">{}</text></g>", text_from + 8, escaped(&bar.text))
    }
}

fn shortened(name: &str) -> String {
    if name.chars().count() <= NAME_CHARS_MAX {
        return name.to_owned();
    }
    name.chars().take(NAME_CHARS_MAX - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(name: &str, length: u64, range: Option<(u64, u64)>) -> Bar {
        Bar { name: name.into(), length, range, text: length.to_string(), class: "allowed" }
    }

    fn drawn(bars: &[Bar]) -> String {
        let mut page = String::new();
        write(&mut page, "rates", bars).unwrap();
        page
    }

    #[test]
    fn the_longest_bar_has_all_the_room_and_the_others_their_part() {
        let page = drawn(&[bar("a", 100, None), bar("b", 50, None), bar("c", 0, None)]);
        for width in [550, 275, 2] {
            assert!(page.contains(&format!("width=\"{width}\"")), "{width}: {page}");
        }
    }

    #[test]
    fn a_range_that_reaches_further_makes_the_room() {
        let page = drawn(&[bar("a", 50, Some((25, 100)))]);
        assert!(page.contains("d=\"M437 11H850") && page.contains("width=\"275\""), "{page}");
    }

    #[test]
    fn a_name_is_no_markup_and_a_long_one_is_cut() {
        let page = drawn(&[bar(&format!("<b>{}", "x".repeat(60)), 1, None)]);
        assert!(!page.contains("<b>") && page.contains("…</text>"), "{page}");
    }

    #[test]
    fn no_bars_and_the_largest_numbers_are_drawn() {
        assert!(drawn(&[]).contains("viewBox=\"0 0 960 0\""));
        assert!(drawn(&[bar("a", u64::MAX, Some((0, u64::MAX)))]).contains("width=\"550\""));
    }
}
