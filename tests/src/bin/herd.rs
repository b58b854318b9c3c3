//! Prints `docs/herd.svg`: when a hundred thousand refused callers come back.
//!
//! ```text
//! cargo run -p tallyring-tests --bin herd > docs/herd.svg
//! ```

fn main() {
    print!("{}", tallyring_tests::herd::plot());
}
