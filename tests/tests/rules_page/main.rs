//! docs/rules.md holds: its documents are right, and the engine decides as it says.
//!
//! A `decisions` block belongs to the `toml` block before it. Its lines are `TIME METHOD PATH [name=value]… [xN] : OUTCOME`, or
//! `TIME settle ID actual=N : OUTCOME`; an outcome is `allowed`, `N left by RULE` (of whoever speaks), both with a comma, `denied
//! by RULE, retry in WAIT` or `blocked by RULE`.
#![allow(clippy::unwrap_used, reason = "a page that cannot be read must fail the test")]

mod gateway;
mod line;

use tallyring_protocol::rules::parse;

use self::gateway::Gateway;
use self::line::Line;

const PAGE: &str = include_str!("../../../docs/rules.md");

/// The code blocks of the page, by language.
fn blocks() -> Vec<(&'static str, &'static str)> {
    let fenced = PAGE.split("```").skip(1).step_by(2);
    fenced.map(|block| block.split_once('\n').unwrap()).collect()
}

#[test]
fn every_document_of_the_page_is_right() {
    let documents: Vec<_> = blocks().into_iter().filter(|(language, _)| *language == "toml").collect();
    assert!(documents.len() >= 6, "{} documents", documents.len());
    for (_, text) in documents {
        let parsed = parse(text).unwrap_or_else(|faults| panic!("{faults:#?}\n{text}"));
        assert_eq!(parsed.warnings, [], "{text}");
    }
}

#[test]
fn every_decision_of_the_page_is_made() {
    let mut document = None;
    let mut lines = 0;
    for (language, text) in blocks() {
        match language {
            "toml" => document = Some(parse(text).unwrap().rules),
            "decisions" => {
                let mut gateway = Gateway::new(document.as_ref().expect("a document comes first"));
                for text in text.lines() {
                    let line = Line::read(text);
                    assert_eq!(gateway.outcome(&line, text), line.expect, "{text}");
                    lines += 1;
                }
            }
            _ => {}
        }
    }
    assert!(lines >= 35, "{lines} decisions");
}
