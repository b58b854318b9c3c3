//! A document as text: what is wrong with it, line by line, or the rules that it says.

use std::fmt;

use bytes::Bytes;
use tallyring_protocol::bounds::RULES_BYTES_MAX;
use tallyring_protocol::rules::{self, Document, RuleError, RuleSet, Syntax, parse};

/// A document as its author wrote it, in TOML or in JSON: its first character says which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text(String);

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text(text)
    }
}

impl Text {
    /// The text that bytes are.
    ///
    /// # Errors
    /// They are too many, or not UTF-8: which of them, and on which line.
    pub fn read(bytes: Vec<u8>) -> Result<Text, Faults> {
        if bytes.len() > RULES_BYTES_MAX {
            return Err(unreadable(1, format!("a document has at most {RULES_BYTES_MAX} bytes, this one has more")));
        }
        String::from_utf8(bytes).map(Text).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let (before, byte) = (&error.as_bytes()[..at], error.as_bytes()[at]);
            let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
            let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            unreadable(line, format!("byte {byte:#04X} in column {column} is not UTF-8"))
        })
    }

    /// The text of a document.
    pub fn of(document: &Document, syntax: Syntax) -> Text {
        let written = match syntax {
            Syntax::Toml => toml::to_string_pretty(document).expect("texts, numbers and maps of texts are TOML"),
            Syntax::Json => serde_json::to_string_pretty(document).expect("texts, numbers and maps of texts are JSON"),
        };
        Text(written)
    }

    /// The text with the end of a line behind it, unless there is none of either.
    pub fn line(self) -> Bytes {
        let newline = if self.0.is_empty() || self.0.ends_with('\n') { "" } else { "\n" };
        (self.0 + newline).into()
    }

    /// The text, byte for byte.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What it is written in.
    pub fn syntax(&self) -> Syntax {
        Syntax::of(&self.0)
    }

    /// The rules that it says, and what its author should know.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn compile(&self) -> Result<(RuleSet, Vec<Fault>), Faults> {
        let parsed = parse(&self.0).map_err(|faults| Faults(faults.into_iter().map(Fault::from).collect()))?;
        if parsed.rules.to_json().len() > RULES_BYTES_MAX {
            // Only a document near the bound, in TOML, that says the same in fewer characters than JSON needs.
            let reason = format!("as JSON it has more than {RULES_BYTES_MAX} bytes");
            return Err(Faults(vec![Fault { line: None, path: "document".into(), reason }]));
        }
        Ok((parsed.rules, parsed.warnings.into_iter().map(Fault::from).collect()))
    }
}

impl Text {
    /// The same, for a document that is to be published: it has to say something, if only `[defaults]`. A file that is
    /// empty by accident would else take every limit away.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn compile_to_publish(&self) -> Result<(RuleSet, Vec<Fault>), Faults> {
        let compiled = self.compile()?;
        if compiled.0.rules().is_empty() && self.says_nothing() {
            let reason =
                "it says nothing: a document has [defaults] or a [[rule]] at least; [defaults] alone means no limits";
            return Err(Faults(vec![Fault { line: Some(1), path: "document".into(), reason: reason.into() }]));
        }
        Ok(compiled)
    }

    /// Whether a document that makes sense has neither rules nor defaults, as one of blanks, comments or `{}`.
    fn says_nothing(&self) -> bool {
        let text = self.0.trim_start_matches('\u{feff}');
        match self.syntax() {
            Syntax::Toml => text.parse::<toml::Table>().is_ok_and(|table| table.is_empty()),
            Syntax::Json => {
                serde_json::from_str::<serde_json::Map<_, serde_json::Value>>(text).is_ok_and(|map| map.is_empty())
            }
        }
    }
}

/// Something that is wrong with a document, or that its author should know.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Fault {
    /// The line of the text, from 1; `None` = of a text that its author did not write.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub line: Option<usize>,
    /// The field: `rule[3].limit`, counted from 0.
    pub path: String,
    /// What is wrong with it and what is allowed.
    pub reason: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "{line}: ")?;
        }
        write!(f, "{}: {}", self.path, self.reason)
    }
}

impl From<rules::Fault> for Fault {
    fn from(fault: rules::Fault) -> Fault {
        let RuleError { path, reason } = fault.error;
        Fault { line: Some(fault.line), path, reason }
    }
}

/// Everything that is wrong with a document; at least one thing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", first_of(.0))]
pub struct Faults(pub Vec<Fault>);

impl Faults {
    /// The same without lines: they are of a text that nobody wrote.
    pub(super) fn without_lines(self) -> Faults {
        Faults(self.0.into_iter().map(|fault| Fault { line: None, ..fault }).collect())
    }
}

/// A fault of the whole text: it cannot be read at all.
fn unreadable(line: usize, reason: String) -> Faults {
    Faults(vec![Fault { line: Some(line), path: "document".to_owned(), reason }])
}

fn first_of(faults: &[Fault]) -> String {
    match faults {
        [] => "it makes no sense".to_owned(),
        [only] => only.to_string(),
        [first, rest @ ..] => format!("{first} (and {} more)", rest.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOML: &str = r#"
[defaults]
retry_jitter = 0.2
trusted_proxies = ["10.0.0.0/8"]

[[rule]]
id = "a"
match = { tier = "free", route = "POST /v1/{x}", header.X-Plan = "a\"b" }
key = ["client"]
algorithm = "token_bucket"
limit = 300
window = "60s"
soft = "0.8"
priorities = { low = "0.5", high = "always" }
"#;

    #[test]
    fn a_document_written_in_either_language_says_the_same() {
        let (set, _) = Text::from(TOML.to_owned()).compile().unwrap();
        for syntax in [Syntax::Toml, Syntax::Json] {
            let text = Text::of(set.document(), syntax);
            assert_eq!(text.syntax(), syntax);
            let (again, _) = text.compile().unwrap_or_else(|faults| panic!("{faults}\n{}", text.as_str()));
            assert_eq!(again.document(), set.document(), "{}", text.as_str());
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_told_by_their_line() {
        let check =
            |bytes: &[u8], expect: &str| assert_eq!(Text::read(bytes.to_vec()).unwrap_err().to_string(), expect);
        check(b"# a\n# caf\xE9 x\n", "2: document: byte 0xE9 in column 6 is not UTF-8");
        check(b"\xFF", "1: document: byte 0xFF in column 1 is not UTF-8");
        check(&vec![b' '; RULES_BYTES_MAX + 1], "1: document: a document has at most 4194304 bytes, this one has more");
        assert_eq!(Text::read(TOML.into()), Ok(Text(TOML.to_owned())));
    }

    #[test]
    fn a_document_that_says_nothing_is_not_published() {
        for nothing in ["", " \n\t", "# rules to come\n", "\u{feff}", "{}", " {\n}\n"] {
            let text = Text::from(nothing.to_owned());
            assert!(text.compile().is_ok(), "{nothing:?} means no rules");
            let faults = text.compile_to_publish().unwrap_err().to_string();
            assert!(faults.starts_with("1: document: it says nothing: "), "{nothing:?}: {faults}");
        }
        for said in ["[defaults]\n", "rule = []\n", "{\"defaults\":{}}", "{\"rule\":[]}", TOML] {
            assert!(Text::from(said.to_owned()).compile_to_publish().is_ok(), "{said:?}");
        }
    }

    #[test]
    fn faults_say_how_many_there_are() {
        let faults = Text::from("[[rule]]\nid = \"a\"\nunlimied = 1\n".to_owned()).compile().unwrap_err();
        assert!(faults.0.len() > 1);
        let first = faults.0[0].to_string();
        assert_eq!(faults.to_string(), format!("{first} (and {} more)", faults.0.len() - 1));
    }
}
