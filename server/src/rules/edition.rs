//! One published version of the rules: the text as its author wrote it, and who published it when and why.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::text::Text;
use super::visible::is_hidden;

/// Longest name of an author, in bytes; longer ones are cut.
pub const AUTHOR_BYTES_MAX: usize = 128;

/// Longest comment, in bytes; longer ones are cut.
pub const COMMENT_BYTES_MAX: usize = 1_024;

/// A published document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edition {
    /// What is known of it besides its text.
    pub imprint: Imprint,
    /// The text, byte for byte as it was published.
    pub text: Text,
}

/// Who published which version when, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Imprint {
    /// Its number: 1, 2, 3 …
    pub version: u64,
    /// When it was published, in microseconds since the Unix epoch.
    pub published_at_us: u64,
    /// Who published it: what they call themselves, and where they came from.
    pub author: Label<AUTHOR_BYTES_MAX>,
    /// Why, in their words; may be empty.
    pub comment: Label<COMMENT_BYTES_MAX>,
}

/// One line of at most `MAX` bytes: what would break a log, a terminal or a table is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String")]
pub struct Label<const MAX: usize>(String);

impl<const MAX: usize> Label<MAX> {
    /// The line.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<const MAX: usize> From<&str> for Label<MAX> {
    fn from(text: &str) -> Label<MAX> {
        let line: String = text.chars().map(|c| if is_hidden(c) { ' ' } else { c }).collect();
        let line = line.trim();
        Label(line[..line.floor_char_boundary(MAX)].to_owned())
    }
}

impl<const MAX: usize> From<String> for Label<MAX> {
    fn from(text: String) -> Label<MAX> {
        Label::from(text.as_str())
    }
}

impl<const MAX: usize> fmt::Display for Label<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &str) {
        assert_eq!(Label::<8>::from(text).as_str(), expect, "{text:?}");
    }

    #[test]
    fn a_label_is_one_line_of_bounded_length() {
        check("alice", "alice");
        check(" two\nlines ", "two line");
        check("\u{1b}[31mred", "[31mred");
        check("a\u{202e}b\u{2069}c", "a b c");
        check("ééééé", "éééé");
        check("aééééé", "aééé");
    }
}
