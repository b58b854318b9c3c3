//! The pictures: decisions over time, and who was denied most. In integers: a tenth of a unit is small enough.

use std::fmt::{self, Write as _};

use crate::cli::chart::WIDTH;
use crate::cli::chart::bars::{self, Bar};
use crate::cli::number::{grouped, tenths};
use crate::cli::replay::tally::Timeline;
use crate::cli::replay::time;

/// The picture over time, in units of the drawing.
const HEIGHT: u64 = 150;
/// Room below for the times.
const AXIS: u64 = 18;
/// Room above for the scale.
const HEAD: u64 = 14;
/// Times that are written below.
const MARKS: u64 = 4;

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
        let bar = Column { x: from, width: to - from - gap, highest, bottom: bottom * 10 };
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
struct Column {
    x: u64,
    width: u64,
    highest: u64,
    bottom: u64,
}

impl Column {
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
    let bar = |(key, denied): &(String, u64)| Bar {
        name: key.clone(),
        length: *denied,
        range: None,
        text: grouped(*denied),
        class: "denied",
    };
    bars::write(page, "keys denied most", &keys.iter().map(bar).collect::<Vec<_>>())
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
