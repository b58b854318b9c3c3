//! Curves over a few named places, on a scale whose steps are powers of ten: a tail and a median fit one picture.

use std::fmt::{self, Write as _};

use super::WIDTH;
use crate::cli::page::escaped;

/// Height of the plot, and the room above and below it.
const HEIGHT: u64 = 240;
const HEAD: u64 = 18;
const FOOT: u64 = 20;

/// Room to the left for the scale, to the right for the curves' names.
const LEFT: u64 = 70;
const RIGHT: u64 = 170;

/// Least distance of two names, so that both can be read.
const NAME_HEIGHT: u64 = 13;

/// The classes of curves, in their order; the page's style gives them colours. More curves begin again.
const CLASSES: [&str; 8] = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];

/// One curve: a value over every place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Curve {
    pub(in crate::cli) name: String,
    pub(in crate::cli) values: Vec<u64>,
}

/// Draws the curves over their places; `show` writes a value of the scale. `what` is for who cannot see it.
pub(in crate::cli) fn write(
    page: &mut String,
    what: &str,
    places: &[&str],
    curves: &[Curve],
    show: fn(u64) -> String,
) -> fmt::Result {
    let Some(plot) = Plot::of(places.len(), curves) else { return Ok(()) };
    let height = HEAD + HEIGHT + FOOT;
    writeln!(page, "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">", escaped(what))?;
    plot.write_scale(page, show)?;
    for (place, name) in places.iter().enumerate() {
        let (x, y) = (plot.x(place), height - 4);
        writeln!(page, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{}</text>", escaped(name))?;
    }
    for (number, curve) in curves.iter().enumerate() {
        plot.write_curve(page, curve, CLASSES[number % CLASSES.len()], show)?;
    }
    plot.write_names(page, curves)?;
    writeln!(page, "</svg>")
}

/// Where values and places are in the picture.
struct Plot {
    places: usize,
    /// The powers of ten between which every value lies.
    low: u64,
    high: u64,
}

impl Plot {
    fn of(places: usize, curves: &[Curve]) -> Option<Plot> {
        let values = || curves.iter().flat_map(|curve| &curve.values).map(|value| (*value).max(1));
        let low = 10_u64.pow(values().min()?.ilog10());
        let high = 10_u64.checked_pow(values().max()?.ilog10() + 1).unwrap_or(u64::MAX);
        Some(Plot { places, low, high })
    }

    fn x(&self, place: usize) -> u64 {
        LEFT + (WIDTH - LEFT - RIGHT) * (2 * place as u64 + 1) / (2 * self.places as u64)
    }

    fn y(&self, value: u64) -> u64 {
        let [low, high, at] = [self.low, self.high, value.clamp(self.low, self.high)].map(millioctaves);
        HEAD + HEIGHT - HEIGHT * (at - low) / (high - low)
    }

    fn write_scale(&self, page: &mut String, show: fn(u64) -> String) -> fmt::Result {
        let mut step = Some(self.low);
        while let Some(value) = step.filter(|value| *value <= self.high) {
            let y = self.y(value);
            writeln!(
                page,
                "<path class=\"axis\" d=\"M{LEFT} {y}H{}\"/><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 8,
                y + 4,
                escaped(&show(value))
            )?;
            step = value.checked_mul(10);
        }
        Ok(())
    }

    fn write_curve(&self, page: &mut String, curve: &Curve, class: &str, show: fn(u64) -> String) -> fmt::Result {
        let points = || curve.values.iter().enumerate().map(|(place, value)| (self.x(place), self.y(*value), *value));
        let path = points().map(|(x, y, _)| format!("{x},{y}")).collect::<Vec<_>>().join(" ");
        writeln!(page, "<g class=\"{class}\"><polyline points=\"{path}\"/>")?;
        for (x, y, value) in points() {
            let title = format!("{}: {}", curve.name, show(value));
            writeln!(page, "<circle cx=\"{x}\" cy=\"{y}\" r=\"3\"><title>{}</title></circle>", escaped(&title))?;
        }
        writeln!(page, "</g>")
    }

    /// The names beside the curves' ends, from the top, each below the one before.
    fn write_names(&self, page: &mut String, curves: &[Curve]) -> fmt::Result {
        let ends =
            curves.iter().enumerate().filter_map(|(number, curve)| Some((self.y(*curve.values.last()?), number)));
        let mut ends: Vec<_> = ends.collect();
        ends.sort_unstable();
        let mut free_from = 0;
        for (y, number) in ends {
            let (y, class) = (y.max(free_from), CLASSES[number % CLASSES.len()]);
            free_from = y + NAME_HEIGHT;
            let (x, name) = (WIDTH - RIGHT + 8, escaped(&curves[number].name));
            writeln!(page, "<g class=\"{class}\"><text x=\"{x}\" y=\"{}\">{name}</text></g>", y + 4)?;
        }
        Ok(())
    }
}

/// A logarithm that needs no float: thousandths of a doubling, straight between two doublings. It grows where its
/// argument does, and that is all that an axis needs.
fn millioctaves(value: u64) -> u64 {
    let octave = value.max(1).ilog2();
    let start = 1_u64 << octave;
    let part = u128::from(value.max(1) - start) * 1_000 / u128::from(start);
    u64::from(octave) * 1_000 + u64::try_from(part).unwrap_or(999)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(name: &str, values: &[u64]) -> Curve {
        Curve { name: name.into(), values: values.to_vec() }
    }

    fn drawn(curves: &[Curve]) -> String {
        let mut page = String::new();
        write(&mut page, "latency", &["p50", "p<99"], curves, |value| value.to_string()).unwrap();
        page
    }

    #[test]
    fn the_scale_grows_with_its_values_and_knows_doublings() {
        let check = |value, expect| assert_eq!(millioctaves(value), expect, "{value}");
        check(0, 0);
        check(1, 0);
        check(2, 1_000);
        check(3, 1_500);
        check(1_024, 10_000);
        check(u64::MAX, 63_999);
    }

    #[test]
    fn a_value_at_a_power_of_ten_is_on_its_line() {
        let page = drawn(&[curve("a", &[10, 100])]);
        let bottom = HEAD + HEIGHT;
        assert!(page.contains(&format!("M{LEFT} {bottom}H")), "{page}");
        assert!(page.contains(&format!("cy=\"{bottom}\"")), "{page}");
    }

    #[test]
    fn names_and_places_are_no_markup_and_two_equal_curves_both_have_one() {
        let page = drawn(&[curve("<i>", &[5, 5]), curve("b", &[5, 5])]);
        assert!(!page.contains("<i>") && page.contains("p&lt;99"), "{page}");
        let names: Vec<_> = page.lines().filter(|line| line.contains("x=\"798\"")).collect();
        assert!(names.len() == 2 && names[0] != names[1], "{names:?}");
    }

    #[test]
    fn no_curves_are_no_picture_and_the_largest_numbers_are_one() {
        assert_eq!(drawn(&[]), "");
        assert!(drawn(&[curve("a", &[0, u64::MAX])]).contains("polyline"));
    }
}
