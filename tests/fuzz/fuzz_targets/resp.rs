//! Any bytes, read as RESP: nothing panics, what is found does not depend on how the bytes arrive, and whatever is refused is
//! refused in one short line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tallyring::door::resp::command::Command;
use tallyring::door::resp::parse::{Args, Bounds, Piece, split, words};
use tallyring::door::resp::write;

/// Longest error, in bytes.
const ERROR_BYTES_MAX: usize = 1_024;

fuzz_target!(|bytes: &[u8]| {
    for bounds in [Bounds::STRANGER, Bounds::MEMBER] {
        let mut rest = bytes;
        let mut args = Args::new();
        while let Ok(Some((piece, taken))) = split(rest, bounds, &mut args) {
            assert!(0 < taken && taken <= bounds.bytes_max, "{taken}");
            match piece {
                Piece::Array => read(&args),
                Piece::Line(line) => {
                    let words = words(line, bounds.args_max).unwrap_or_default();
                    read(&words.iter().map(Vec::as_slice).collect::<Vec<_>>());
                }
            }
            whole_or_nothing(&rest[..taken], bounds);
            rest = &rest[taken..];
        }
    }
});

/// Nothing less than all of a command is one, and no beginning of it is a fault.
fn whole_or_nothing(bytes: &[u8], bounds: Bounds) {
    let cut = bytes.len() / 2;
    let mut args = Args::new();
    assert_eq!(split(&bytes[..cut], bounds, &mut args), Ok(None));
}

fn read(args: &[&[u8]]) {
    assert!(args.len() <= Bounds::MEMBER.args_max);
    if args.is_empty() {
        return;
    }
    if let Err(error) = Command::read(args) {
        let mut line = Vec::new();
        write::error(&mut line, &error);
        assert!(line.len() <= ERROR_BYTES_MAX, "{} bytes", line.len());
        let ends = line.iter().filter(|byte| matches!(byte, b'\r' | b'\n')).count();
        assert_eq!(ends, 2, "one line");
    }
}
