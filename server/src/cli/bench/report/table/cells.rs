//! What stands in a cell.

use crate::cli::bench::statistics::{Spread, share};
use crate::cli::number::grouped;

/// Nothing was measured.
pub(super) fn dash() -> String {
    "-".to_owned()
}

/// The middle of the rounds.
pub(super) fn middle(spread: Option<Spread>, show: fn(u64) -> String) -> String {
    spread.map_or_else(dash, |spread| show(spread.median))
}

/// How far the rounds lie apart.
pub(super) fn ends(spread: Option<Spread>, show: fn(u64) -> String) -> String {
    spread.map_or_else(dash, |spread| format!("{} – {}", show(spread.min), show(spread.max)))
}

/// How many times `whole` goes into `part`, to the hundredth.
pub(super) fn ratio(part: u64, whole: u64) -> String {
    let hundredths = share(part, whole, 100);
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// Thousandths as per cent.
pub(super) fn permille(thousandths: u64) -> String {
    format!("{}.{} %", thousandths / 10, thousandths % 10)
}

/// Nanoseconds as microseconds.
pub(super) fn micros(ns: u64) -> String {
    format!("{}.{}", grouped(ns / 1_000), ns % 1_000 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_for_the_eye() {
        let check = |shown: String, expect| assert_eq!(shown, expect);
        check(ratio(5, 2), "2.50");
        check(ratio(1, 300), "0.00");
        check(permille(253), "25.3 %");
        check(micros(1_234_567), "1,234.5");
        check(micros(80), "0.0");
        check(middle(None, micros), "-");
        check(ends(Spread::of([1, 2_000, 3]), grouped), "1 – 2,000");
    }
}
