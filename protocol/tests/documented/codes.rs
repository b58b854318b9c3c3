//! Numbers that stand for names: the tables hold all of the code's, and no others.

use std::collections::BTreeMap;

use tallyring_protocol::{AlgorithmCode, GoodbyeCode, Kind, PROTOCOL_VERSION, Role};

use crate::markdown::{table, tables};
use crate::{DOCUMENT, snake};

type Numbers = BTreeMap<u8, String>;

/// The numbers and names of the table under a heading.
fn documented(heading: &str, number: &str) -> Numbers {
    let table = table(DOCUMENT, heading, number).expect("a table");
    table.pairs(number, "name").into_iter().map(|(number, name)| (parse(number), name.into())).collect()
}

fn parse(number: &str) -> u8 {
    match number.strip_prefix("0x") {
        Some(digits) => u8::from_str_radix(digits, 16).expect("hexadecimal digits"),
        None => number.parse().expect("a number"),
    }
}

/// The numbers and names of the code.
fn known<C: std::fmt::Debug>(from_code: impl Fn(u8) -> Option<C>) -> Numbers {
    (0..=u8::MAX).filter_map(|number| Some((number, snake(&format!("{:?}", from_code(number)?))))).collect()
}

#[test]
fn every_kind_is_in_the_table() {
    assert_eq!(documented("3. Kinds", "kind"), known(Kind::from_code));
}

#[test]
fn every_algorithm_is_in_the_table() {
    assert_eq!(documented("Algorithms", "algorithm"), known(AlgorithmCode::from_code));
}

#[test]
fn every_role_is_in_the_table() {
    assert_eq!(documented("Roles", "role"), known(Role::from_code));
}

#[test]
fn every_goodbye_code_is_in_the_table() {
    assert_eq!(documented("Goodbye codes", "code"), known(GoodbyeCode::from_code));
}

#[test]
fn every_outcome_says_what_a_client_does() {
    let all = tables(DOCUMENT);
    let table = all.iter().find(|table| table.heading.starts_with("10. Outcomes")).expect("a table of outcomes");
    let outcomes = table.column("outcome").join(" ");
    for (number, name) in known(Kind::from_code).range(0xE0..Kind::Goodbye as u8) {
        assert!(outcomes.contains(name), "{number:#x} {name}");
    }
}

#[test]
fn every_answer_is_a_kind() {
    let kinds = table(DOCUMENT, "3. Kinds", "kind").expect("a table");
    let names = kinds.column("name");
    for answer in kinds.column("answered by").iter().flat_map(|cell| cell.split(" or ")) {
        let answer = answer.trim_matches('`');
        assert!(answer.is_empty() || names.contains(&answer), "{answer}");
    }
}

#[test]
fn the_document_is_of_this_version() {
    assert!(DOCUMENT.starts_with(&format!("# The native protocol, version {PROTOCOL_VERSION}\n")));
}
