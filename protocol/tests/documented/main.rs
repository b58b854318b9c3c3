//! `docs/protocol.md` says what the code does: its tables are read, and compared with the code and the golden frames.

mod bounds;
mod codes;
mod examples;
mod fields;
mod markdown;
#[path = "../golden/section.rs"]
mod section;

/// The document.
const DOCUMENT: &str = include_str!("../../../docs/protocol.md");

/// A name of the code as the document writes it: `WrongOwner` is `wrong_owner`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}
