//! Text that somebody else wrote, for a terminal: nothing in it steers the terminal or hides what it says.

use std::borrow::Cow;

/// Whether a character shows nothing by itself and changes what others show: control characters, and those that reverse
/// or hide the text around them (Unicode's bidirectional controls, line separators, and the mark of byte order).
pub fn is_hidden(c: char) -> bool {
    let reverses =
        matches!(c, '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    c.is_control() || reverses || matches!(c, '\u{200B}' | '\u{2028}' | '\u{2029}' | '\u{FEFF}')
}

/// The text with hidden characters escaped as Rust does, like `\u{202e}`. Ends of lines and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_escaped) && !text.contains('\r') {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let ends_line = c == '\r' && rest.peek() == Some(&'\n');
        if is_escaped(c) && !ends_line {
            escaped.extend(c.escape_unicode());
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

fn is_escaped(c: char) -> bool {
    is_hidden(c) && c != '\n' && c != '\t'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &str) {
        assert_eq!(visible(text), expect, "{text:?}");
    }

    #[test]
    fn what_hides_or_steers_is_escaped() {
        check("plain, käse, 日本, שלום", "plain, käse, 日本, שלום");
        check("two\n\tlines\r\n", "two\n\tlines\r\n");
        check("over\rwritten", "over\\u{d}written");
        check("\u{1b}[31mred", "\\u{1b}[31mred");
        check("a\u{202e}b\u{2066}c\u{200f}d\u{9b}e", "a\\u{202e}b\\u{2066}c\\u{200f}d\\u{9b}e");
        check("\u{feff}x\u{200b}\u{2028}", "\\u{feff}x\\u{200b}\\u{2028}");
    }
}
