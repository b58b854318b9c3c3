//! Numbers for the eye.

/// A number with its thousands apart: `1234567` as `1,234,567`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A part of a whole in per cent with one decimal, rounded; `-` of nothing.
pub(super) fn per_cent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    let thousandths = (u128::from(part) * 1_000 + u128::from(whole) / 2) / u128::from(whole);
    format!("{}.{} %", thousandths / 10, thousandths % 10)
}

/// A number of tenths, without a decimal where there is none.
pub(super) fn tenths(number: u64) -> String {
    if number.is_multiple_of(10) { (number / 10).to_string() } else { format!("{}.{}", number / 10, number % 10) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_the_eye() {
        let check = |written: String, expect| assert_eq!(written, expect);
        check(grouped(7), "7");
        check(grouped(1_000), "1,000");
        check(grouped(1_234_567), "1,234,567");
        check(per_cent(253, 1_000), "25.3 %");
        check(per_cent(2, 3), "66.7 %");
        check(per_cent(0, 0), "-");
        check(tenths(120), "12");
        check(tenths(7), "0.7");
    }
}
