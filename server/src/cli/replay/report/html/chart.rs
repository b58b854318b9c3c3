//! The pictures: decisions over time, and who was denied most. In integers: a tenth of a unit is small enough.

use std::fmt::{self, Write as _};

use super::super::grouped;
use super::escaped;
use crate::cli::replay::tally::Timeline;
use crate::cli::replay::time;

/// The picture over time, in units of the drawing.
const WIDTH: u64 = 960;
const HEIGHT: u64 = 150;
/// Room below for the times.
const AXIS: u64 = 18;
/// Room above for the scale.
const HEAD: u64 = 14;
/// Times that are written below.
const MARKS: u64 = 4;
/// A line of the picture of the worst.
const ROW: u64 = 22;
/// Where its bars begin and the longest ends.
const BAR_FROM: u64 = 300;
const BAR_TO: u64 = 880;

/// Denied on top of allowed, a bar a column.
pub(super) fn over_time(page: &mut String, timeline: &Timeline, rule: usize) -> fmt::Result {
    let columns = timeline.of(rule);
    let highest = columns.iter().map(|column| column.allowed + column.denied).max().unwrap_or(0).max(1);
    let count = (timeline.columns() as u64).max(1);
    let bottom = HEAD + HEIGHT;
    writeln!(page, "<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"decisions over time\">", bottom + AXIS)?;
    writeln!(page, "<text x=\"0\" y=\"{}\">{} in {}</text>", HEAD - 4, grouped(highest), span(timeline.column_us()))?;
    writeln!(page, "<path class=\"axis\" d=\"M0 {HEAD}H{WIDTH}M0 {bottom}H{WIDTH}\"/>")?;
    for (at, column) in columns.iter().enumerate().filter(|(_, column)| column.allowed + column.denied > 0) {
        let (from, to) = (at as u64 * WIDTH * 10 / count, (at as u64 + 1) * WIDTH * 10 / count);
        let at_us = timeline.start_us() + at as u64 * timeline.column_us();
        let gap = if to - from > 30 { 10 } else { 2 };
        let bar = Bar { x: from, width: to - from - gap, highest, bottom: bottom * 10 };
        writeln!(
            page,
            "<g><title>{}: {} allowed, {} denied</title>{}{}</g>",
            time::display(at_us),
            grouped(column.allowed),
            grouped(column.denied),
            bar.rect("allowed", 0, column.allowed),
            bar.rect("denied", column.allowed, column.denied)
        )?;
    }
    marks(page, timeline, count, bottom + AXIS - 4)?;
    writeln!(page, "</svg>")
}

/// Where a column's rectangles stand, in tenths of a unit.
struct Bar {
    x: u64,
    width: u64,
    highest: u64,
    bottom: u64,
}

impl Bar {
    /// So many decisions on top of so many others. What is there at all is seen.
    fn rect(&self, class: &str, below: u64, count: u64) -> String {
        if count == 0 {
            return String::new();
        }
        let height = |count: u64| {
            u64::try_from(u128::from(count) * u128::from(HEIGHT * 10) / u128::from(self.highest)).unwrap_or(0)
        };
        let top = height(below + count).max(height(below) + 10);
        let (y, tall) = (self.bottom.saturating_sub(top), top - height(below));
        let [x, y, width, tall] = [self.x, y, self.width, tall].map(tenths);
        format!("<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{tall}\"/>")
    }
}

fn marks(page: &mut String, timeline: &Timeline, count: u64, y: u64) -> fmt::Result {
    for mark in 0..=MARKS {
        let anchor = ["start", "middle", "middle", "middle", "end"][mark as usize];
        let at_us = timeline.start_us() + timeline.column_us() * count * mark / MARKS;
        let text = time::display(at_us);
        writeln!(
            page,
            "<text x=\"{}\" y=\"{y}\" text-anchor=\"{anchor}\">{}</text>",
            WIDTH * mark / MARKS,
            &text[..16]
        )?;
    }
    Ok(())
}

/// A bar for each key.
pub(super) fn worst(page: &mut String, keys: &[(String, u64)]) -> fmt::Result {
    let most = keys.iter().map(|(_, denied)| *denied).max().unwrap_or(0).max(1);
    writeln!(
        page,
        "<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"keys denied most\">",
        keys.len() as u64 * ROW
    )?;
    for (at, (key, denied)) in keys.iter().enumerate() {
        let y = at as u64 * ROW;
        let width = u128::from(BAR_TO - BAR_FROM) * u128::from(*denied) / u128::from(most);
        let width = width.max(2);
        writeln!(
            page,
            "<g><title>{}</title><text class=\"name\" x=\"0\" y=\"{}\">{}</text><rect class=\"denied\" x=\"{BAR_FROM}\" y=\"{}\" width=\"{width}\" height=\"{}\"/><text x=\"{}\" y=\"{}\">{}</text></g>",
            escaped(key),
            y + 15,
            escaped(&shortened(key)),
            y + 4,
            ROW - 8,
            u128::from(BAR_FROM) + width + 8,
            y + 15,
            grouped(*denied)
        )?;
    }
    writeln!(page, "</svg>")
}

/// A key that fits beside its bar; the whole of it is shown to who points there.
fn shortened(key: &str) -> String {
    const CHARACTERS_MAX: usize = 44;
    if key.chars().count() <= CHARACTERS_MAX {
        return key.to_owned();
    }
    key.chars().take(CHARACTERS_MAX - 1).chain(['…']).collect()
}

/// A number of tenths.
fn tenths(number: u64) -> String {
    if number.is_multiple_of(10) { (number / 10).to_string() } else { format!("{}.{}", number / 10, number % 10) }
}

/// A column's length, in the largest unit that it fills.
fn span(us: u64) -> String {
    let seconds = us / 1_000_000;
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}
