//! Any bytes, in any pieces: the RESP parser finds the same commands, or the same fault, and never panics.

use proptest::prelude::*;
use tallyring::door::resp::command::Command;
use tallyring::door::resp::parse::{Args, Bounds, Piece, split, words};

/// What was found in a stream: commands as their arguments, and how it ended.
#[derive(Debug, Default, PartialEq)]
struct Found {
    commands: Vec<Vec<Vec<u8>>>,
    fault: Option<String>,
}

impl Found {
    /// Takes what is whole off the front of `inbox`.
    fn take(&mut self, inbox: &mut Vec<u8>) {
        let mut taken = 0;
        while self.fault.is_none() {
            let mut args = Args::new();
            let piece = match split(&inbox[taken..], Bounds::MEMBER, &mut args) {
                Ok(None) => break,
                Ok(Some((piece, len))) => {
                    taken += len;
                    piece
                }
                Err(error) => {
                    self.fault = Some(error.to_string());
                    break;
                }
            };
            let found = match piece {
                Piece::Array => Ok(args.iter().map(|arg| arg.to_vec()).collect()),
                Piece::Line(line) => words(line, Bounds::MEMBER.args_max),
            };
            match found {
                Ok(command) => self.commands.push(command),
                Err(error) => self.fault = Some(error.to_string()),
            }
        }
        inbox.drain(..taken);
    }
}

/// Commands with a few slips of the pen.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let arg = prop_oneof![
        Just(b"CL.THROTTLE".to_vec()),
        Just(b"TR.CHECK".to_vec()),
        Just(b"15".to_vec()),
        prop::collection::vec(any::<u8>(), 0..40),
    ];
    let array = prop::collection::vec(arg, 0..7).prop_map(|args| {
        let mut bytes = format!("*{}\r\n", args.len()).into_bytes();
        for arg in args {
            bytes.extend(format!("${}\r\n", arg.len()).into_bytes());
            bytes.extend(arg);
            bytes.extend(b"\r\n");
        }
        bytes
    });
    let line = "[a-zA-Z0-9 '\"\\\\.]{0,40}\r?\n".prop_map(String::into_bytes);
    let noise = prop::collection::vec(any::<u8>(), 0..30);
    let piece = prop_oneof![8 => array, 4 => line, 1 => noise];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_split_of_a_stream_finds_the_same_commands(bytes in stream(), cuts in prop::collection::vec(1_usize..50, 1..20)) {
        let (mut whole, mut parts) = (Found::default(), Found::default());
        whole.take(&mut bytes.clone());
        let (mut inbox, mut rest) = (Vec::new(), &bytes[..]);
        for cut in cuts.iter().cycle() {
            let (piece, behind) = rest.split_at((*cut).min(rest.len()));
            inbox.extend_from_slice(piece);
            parts.take(&mut inbox);
            rest = behind;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(whole, parts);
    }

    #[test]
    fn any_arguments_are_a_command_or_one_line_that_says_why_not(args in prop::collection::vec(prop_oneof![
        Just(b"CL.THROTTLE".to_vec()), Just(b"TR.CHECK".to_vec()), Just(b"TR.RESERVE".to_vec()), Just(b"HELLO".to_vec()),
        Just(b"CLIENT".to_vec()), Just(b"gcra".to_vec()), Just(b"COST".to_vec()), Just(b"7".to_vec()),
        prop::collection::vec(any::<u8>(), 0..600),
    ], 1..14)) {
        let args: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
        if let Err(error) = Command::read(&args) {
            let text = error.to_string();
            prop_assert!(text.starts_with("ERR ") || text.starts_with("NOPROTO "), "{}", text);
            prop_assert!(text.len() < 1_024, "{} bytes", text.len());
        }
    }
}
