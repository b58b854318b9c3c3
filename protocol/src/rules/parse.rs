//! Rules as people write them: TOML or JSON in, rules out, or what is wrong on which line.

mod json;
mod toml;

use std::fmt;

use super::RuleSet;
use super::document::Document;
use super::error::{FAULTS_MAX, Faults, RuleError};
use super::value::Value;
use crate::bounds::RULES_BYTES_MAX;

/// A fault or a warning, and the line that it is on.
///
/// ```
/// use tallyring_protocol::rules::parse;
/// let faults = parse("[[rule]]\nid = \"a\"\naction = \"allow\"\nunlimied = true\n").unwrap_err();
/// assert!(faults[0].to_string().starts_with("4: rule[0].unlimied: unknown field"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub error: RuleError,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.error)
    }
}

/// Rules that make sense.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The rules.
    pub rules: RuleSet,
    /// What is doubtful about them, in the order of the lines.
    pub warnings: Vec<Fault>,
}

/// What a document is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// TOML.
    Toml,
    /// JSON.
    Json,
}

impl Syntax {
    /// What a text is written in, by its beginning: no TOML begins with a brace, be it in a bracket.
    pub fn of(text: &str) -> Syntax {
        let text = text.trim_start_matches('\u{feff}').trim_start();
        let inside = text.strip_prefix('[').map_or(text, str::trim_start);
        if inside.starts_with('{') { Syntax::Json } else { Syntax::Toml }
    }
}

/// The rules that a text describes.
///
/// # Errors
/// Everything that is wrong with it, at least one thing, in the order of the lines.
pub fn parse(text: &str) -> Result<Parsed, Vec<Fault>> {
    if text.len() > RULES_BYTES_MAX {
        let reason = format!("{} bytes are too many: a document has at most {RULES_BYTES_MAX}", text.len());
        return Err(vec![Fault { line: 1, error: RuleError::new("document", reason) }]);
    }
    let text = text.trim_start_matches('\u{feff}');
    match Syntax::of(text) {
        Syntax::Toml => match toml::Toml::parse(text) {
            Ok(toml) => compile(text, toml.value(), |path| toml.offset_of(path)),
            // A document in JSON is a table; whoever wrote `null` or a list of rules is told so, in JSON's words.
            Err(_) if json::is_json(text) => compile_json(text),
            Err(faults) => Err(faults),
        },
        Syntax::Json => compile_json(text),
    }
}

fn compile_json(text: &str) -> Result<Parsed, Vec<Fault>> {
    compile(text, json::read(text)?, |path| json::offset_of(text, path))
}

fn compile(text: &str, tree: Value, offset_of: impl Fn(&str) -> usize) -> Result<Parsed, Vec<Fault>> {
    let mut faults = Faults::default();
    let document = Document::read(tree, &mut faults);
    let located = |errors: Vec<RuleError>| {
        // What stands behind the last that is listed says how many there are besides: it belongs to the end.
        let place = |(at, error): (usize, RuleError)| {
            (if at < FAULTS_MAX { offset_of(&error.path) } else { text.len() }, error)
        };
        let mut placed: Vec<_> = errors.into_iter().enumerate().map(place).collect();
        placed.sort_by_key(|(offset, _)| *offset);
        let fault = |(offset, error)| Fault { line: line_of(text, offset), error };
        placed.into_iter().map(fault).collect::<Vec<_>>()
    };
    let (rules, warnings) = RuleSet::compile_read(document, faults).map_err(located)?;
    Ok(Parsed { rules, warnings: located(warnings) })
}

/// The line of a byte, from 1.
fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

/// A fault of the whole text: it cannot be read at all.
fn unreadable(line: usize, reason: &str) -> Fault {
    Fault { line, error: RuleError::new("document", reason.replace('\n', " ")) }
}

/// What follows in a path behind the name of a field: `match.tier` behind `match` is `tier`.
fn behind<'p>(path: &'p str, name: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(name)?;
    if rest.is_empty() || rest.starts_with('[') { Some(rest) } else { rest.strip_prefix('.') }
}

/// The first index of a path, and what follows: `[3].limit` is 3 and `limit`.
fn index(path: &str) -> Option<(usize, &str)> {
    let (index, rest) = path.strip_prefix('[')?.split_once(']')?;
    Some((index.parse().ok()?, rest.strip_prefix('.').unwrap_or(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `expect` are the lines, paths and beginnings of the reasons.
    fn check(text: &str, expect: &[&str]) {
        let faults: Vec<String> = parse(text).unwrap_err().iter().map(Fault::to_string).collect();
        let same =
            faults.len() == expect.len() && faults.iter().zip(expect).all(|(fault, expect)| fault.starts_with(expect));
        assert!(same, "{text}\n{faults:#?}");
    }

    #[test]
    fn all_faults_are_found_each_on_its_line() {
        check(
            r#"
[defaults]
retry_jitter = 2

[[rule]]
id = "a"
algorithm = "token_bucket"
limit = 0
window = "60"
match = { teir = "free",
          header.X-Plan = "" }

[[rule]]
key = ["ip",
       "ipp"]
algorithm = "leaky"
limt = 5
"#,
            &[
                "3: defaults.retry_jitter: \"2\" is no decimal fraction",
                "8: rule[0].limit: 0 is not in 1 ..=",
                "9: rule[0].window: \"60\" is no window",
                "10: rule[0].match.teir: unknown field",
                "11: rule[0].match.header.X-Plan: 0 bytes",
                "13: rule[1].id: \"\": a rule's id is",
                "13: rule[1].limit: missing",
                "13: rule[1].window: missing",
                "15: rule[1].key[1]: \"ipp\" is none of",
                "16: rule[1].algorithm: \"leaky\" is none of",
                "17: rule[1].limt: unknown field",
            ],
        );
    }

    #[test]
    fn json_has_lines_as_well() {
        check(
            "{\n \"rule\": [\n  {\"id\": \"a\",\n   \"match\": {\n    \"header.X-Plan\": \"\", \"x.y\": 1},\n   \"action\":\n    \"bloc\"}\n ]\n}",
            &[
                "5: rule[0].match.header.X-Plan: 0 bytes",
                "5: rule[0].match.x.y: unknown field",
                "7: rule[0].action: \"bloc\" is none of",
            ],
        );
    }

    #[test]
    fn what_cannot_be_read_says_where() {
        check("[[rule]\nid = 1", &["1: document: "]);
        check("a = 1\nb = \nc = ?\n", &["2: document: ", "3: document: "]);
        check("{\n\"rule\": [}", &["2: document: "]);
        check("{\n\"rule\": [],\n\"rule\": []}", &["3: document: the field \"rule\" is there twice"]);
        check("[{\"id\": \"a\",\n}]", &["2: document: trailing comma"]);
        check(&"[".repeat(10_000), &["1: document: "]);
        check(&format!("{{\"rule\":{}", "[".repeat(10_000)), &["1: document: recursion limit"]);
        check(&" ".repeat(RULES_BYTES_MAX + 1), &["1: document: 4194305 bytes are too many"]);
    }

    #[test]
    fn what_is_json_but_no_document_is_told_in_the_words_of_json() {
        check("null", &["1: document: null is not a table"]);
        check("[]", &["1: document: a list is not a table"]);
        check("\n[1, 2]\n", &["1: document: a list is not a table"]);
        check("[\n{\"id\":\"a\"}]", &["1: document: a list is not a table"]);
        check("\"rule\"", &["1: document: a text is not a table"]);
        check("[a b]", &["1: document: "]);
    }

    /// What is behind the hundredth is counted, whatever else is wrong with the same fields.
    #[test]
    fn a_hundred_faults_are_listed_and_the_others_counted() {
        let rule =
            |at: usize| format!("[[rule]]\nid = \"{at}\"\naction = \"block\"\nlimit = {at}\nmatch.client = \"{at}\"\n");
        let text: String = (0..123).map(rule).collect();
        let faults = parse(&text).unwrap_err();
        assert_eq!(faults.len(), FAULTS_MAX + 1);
        assert!(faults[FAULTS_MAX - 1].to_string().starts_with("499: rule[99].limit: "), "{}", faults[FAULTS_MAX - 1]);
        assert_eq!(faults[FAULTS_MAX].to_string(), "616: document: 23 more are not listed: mend these first");
        let broken = parse(&"? = 1\n".repeat(150)).unwrap_err();
        assert!(broken[FAULTS_MAX].to_string().ends_with(" more are not listed: mend these first"), "{broken:?}");
    }

    #[test]
    fn an_id_that_is_there_twice_is_told_on_both_lines_and_is_no_tie() {
        let rule = "[[rule]]\nid = \"a\"\naction = \"block\"\n";
        let expect = ["2: rule[0].id: \"a\" is the id of rule[1] too", "5: rule[1].id: \"a\" is the id of rule[0] too"];
        check(&rule.repeat(2), &expect);
    }

    #[test]
    fn values_of_other_kinds_are_named() {
        check(
            "[[rule]]\nid = 1979-05-27\n",
            &["1: rule[0].algorithm", "1: rule[0].limit", "1: rule[0].window", "2: rule[0].id: a date is not a text"],
        );
        check("[defaults]\nenforce = 0x7fffffffffffffffffffffffffffffffffffff\n", &["2: "]);
        check("defaults = 3", &["1: defaults: 3 is not a table"]);
    }

    #[test]
    fn toml_and_json_say_the_same() {
        let toml = "\u{feff}# limits\n[defaults]\nretry_jitter = 0.25\n[[rule]]\nid = 'a'\nlimit = 1_000\nwindow = '1m'\nalgorithm = 'gcra'\nmatch.header.X-Plan = 'pro'\n";
        let from_toml = parse(toml).unwrap().rules;
        let from_json = parse(&from_toml.to_json()).unwrap().rules;
        assert_eq!(from_toml.document(), from_json.document());
        assert_eq!(from_json.defaults().retry_jitter.to_string(), "0.25");
        assert!(parse("").unwrap().rules.rules().is_empty());
    }
}
