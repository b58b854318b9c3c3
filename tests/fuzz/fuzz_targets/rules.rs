//! Any text, read as a rules document: nothing panics; every fault is one line about a line that there is; rules that make
//! sense read the same from what gateways are sent, and any request finds its winners among them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tallyring_protocol::rules::{Fault, RuleSet, Subject, WINNERS_MAX, parse};

fn faults_are_placed(text: &str, faults: &[Fault]) {
    let lines = text.bytes().filter(|byte| *byte == b'\n').count() + 1;
    for fault in faults {
        assert!((1..=lines).contains(&fault.line), "{fault} of {lines} lines");
        assert!(!fault.to_string().contains('\n'), "{fault:?}");
    }
}

fn gateways_read_the_same(rules: &RuleSet) {
    let json = rules.to_json();
    let again = RuleSet::from_json(json.as_bytes()).expect("what a store sends makes sense to a gateway");
    assert_eq!(again.to_json(), json);
}

fn somebody_is_counted(rules: &RuleSet, text: &str) {
    let word = text.split(|c: char| !c.is_alphanumeric()).next_back().unwrap_or_default();
    let path = format!("/v1/{word}/%2e%2e//{word}");
    let subject = Subject {
        client: Some(word),
        tenant: Some("acme"),
        tier: Some("free"),
        ip: Some([203, 0, 113, 9].into()),
        ..Subject::new("POST", &path)
    };
    let resolution = rules.resolve(&subject);
    assert!(resolution.enforced.len() <= WINNERS_MAX && resolution.shadow.len() <= WINNERS_MAX);
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match parse(text) {
        Err(faults) => {
            assert!(!faults.is_empty());
            faults_are_placed(text, &faults);
        }
        Ok(parsed) => {
            faults_are_placed(text, &parsed.warnings);
            gateways_read_the_same(&parsed.rules);
            somebody_is_counted(&parsed.rules, text);
        }
    }
});
