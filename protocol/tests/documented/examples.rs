//! The frames that the document takes apart are golden frames.

use crate::DOCUMENT;
use crate::section::{hex, sections};

/// The bytes of the document's worked examples: in a block of text, what stands before three spaces.
fn examples() -> Vec<Vec<u8>> {
    let (_, chapter) = DOCUMENT.split_once("\n## 13. ").expect("a chapter of examples");
    let blocks = chapter.split("```text\n").skip(1).map(|block| block.split("```").next().expect("a first part"));
    let digits = |line: &str| line.split("   ").next().expect("a first part").replace(' ', "");
    blocks.map(|block| hex(&block.lines().map(digits).collect::<String>())).collect()
}

#[test]
fn the_worked_examples_are_golden_frames() {
    let golden = sections(include_str!("../../testdata/frames.txt"));
    let frame = |name| golden.iter().find(|section| section.name == name).expect("a golden frame").bytes();
    assert_eq!(examples(), [frame("check"), frame("decision_denied")]);
}
