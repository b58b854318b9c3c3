//! Whether two answers are the same JSON value, exactly.

use serde_json::Value;

/// Whether two answers are equal as JSON values: the order of names is free, digits are not.
///
/// Waits can reach 2^85, which a JSON reader would round to a float; here every integer is compared digit by digit.
///
/// ```
/// use tallyring_tests::model::same;
///
/// assert!(same(r#"{"a":1,"b":34560000000000000000000000}"#, r#"{"b":34560000000000000000000000,"a":1}"#));
/// assert!(!same(r#"{"b":34560000000000000000000000}"#, r#"{"b":34560000000000000000000001}"#));
/// ```
#[must_use]
pub fn same(one: &str, other: &str) -> bool {
    exact(one) == exact(other)
}

/// The value with each number as the text of its digits; the answer itself, as text, if it is no JSON.
fn exact(answer: &str) -> Value {
    serde_json::from_str(&with_quoted_numbers(answer)).unwrap_or_else(|_| Value::from(answer))
}

/// Answers hold no escapes, so every other piece between quotes lies outside of texts.
fn with_quoted_numbers(answer: &str) -> String {
    let pieces = answer.split('"').enumerate();
    let quoted = pieces.map(|(index, piece)| if index % 2 == 0 { quote_integers(piece) } else { piece.to_owned() });
    quoted.collect::<Vec<String>>().join("\"")
}

fn quote_integers(outside: &str) -> String {
    let (mut quoted, mut in_integer) = (String::new(), false);
    for character in outside.chars() {
        if in_integer != is_of_integer(character) {
            quoted.push('"');
            in_integer = !in_integer;
        }
        quoted.push(character);
    }
    if in_integer { quoted + "\"" } else { quoted }
}

fn is_of_integer(character: char) -> bool {
    character == '-' || character.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_names_is_free_and_every_digit_counts() {
        let wide = r#"{"allowed":false,"retry_after_us":34560000000000000000000000}"#;
        assert_eq!(exact(wide), exact(r#"{"retry_after_us":34560000000000000000000000,"allowed":false}"#));
        assert_ne!(exact(wide), exact(r#"{"allowed":false,"retry_after_us":34560000000000000000000001}"#));
        assert_ne!(exact(r#"{"remaining":1}"#), exact(r#"{"remaining":null}"#));
        assert_ne!(exact(r#"{"remaining":1}"#), exact(r#"{"remaining":1.0}"#));
    }

    #[test]
    fn digits_inside_of_names_are_left_alone() {
        assert_eq!(exact(r#"{"field":"checks[1].limit"}"#), serde_json::json!({"field": "checks[1].limit"}));
    }
}
