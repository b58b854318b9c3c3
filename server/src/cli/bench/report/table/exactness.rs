//! The error column by itself: what every target admitted, beside what the exact model admits.

use super::Table;
use crate::cli::bench::report::{Measured, Report};
use crate::cli::bench::statistics::share;
use crate::cli::number::grouped;

/// Thousandths of a per cent in one.
const WHOLE: u64 = 100_000;

pub(super) fn table(report: &Report) -> Table {
    let head = vec!["target", "algorithm", "asked by", "calls", "admitted", "exact", "error", "undecided"];
    Table {
        title: "Exactness: admitted, and what is due",
        head,
        rows: report.targets.iter().filter_map(line).collect(),
    }
}

fn line(target: &Measured) -> Option<Vec<String>> {
    let exactness = target.exactness?;
    Some(vec![
        target.label.clone(),
        target.algorithm.unwrap_or("-").to_owned(),
        target.version.clone().unwrap_or_else(|| target.scheme.name().to_owned()),
        grouped(exactness.asked),
        grouped(exactness.admitted),
        grouped(exactness.exact),
        error(exactness.admitted, exactness.exact),
        grouped(exactness.undecided),
    ])
}

/// By how much admissions miss the exact number, in per cent with their sign.
fn error(admitted: u64, exact: u64) -> String {
    let sign = match admitted.cmp(&exact) {
        std::cmp::Ordering::Less => "−",
        std::cmp::Ordering::Equal => return "0".to_owned(),
        std::cmp::Ordering::Greater => "+",
    };
    let error = share(admitted.abs_diff(exact), exact, WHOLE);
    format!("{sign}{}.{:03} %", error / 1_000, error % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_a_sign_and_exact_is_nought() {
        let check = |admitted, exact, expect| assert_eq!(error(admitted, exact), expect);
        check(9_982, 9_982, "0");
        check(9_983, 9_982, "+0.010 %");
        check(20_000, 10_000, "+100.000 %");
        check(9_500, 10_000, "−5.000 %");
    }
}
