//! Frames are where they are, however the bytes that hold them arrive.

use proptest::prelude::*;
use tallyring_protocol::bounds::{HEADER_BYTES, REQUEST_BYTES_MAX};
use tallyring_protocol::{FrameError, frame};

use crate::parts::any_frame;

/// What a reader has seen of a stream: the frames, the error that ended it, the bytes of an unfinished frame.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    frames: Vec<Vec<u8>>,
    error: Option<FrameError>,
    unfinished: Vec<u8>,
}

impl Seen {
    /// One read of a socket.
    fn read(&mut self, arrived: &[u8]) {
        self.unfinished.extend_from_slice(arrived);
        while self.error.is_none() {
            match frame::split(&self.unfinished, REQUEST_BYTES_MAX) {
                Ok(Some((_, taken))) => self.frames.push(self.unfinished.drain(..taken).collect()),
                Ok(None) => return,
                Err(error) => self.error = Some(error),
            }
        }
    }
}

/// A stream: frames one after the other, and at times something else in between or an end too soon.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![8 => any_frame(), 1 => prop::collection::vec(any::<u8>(), 0..20)];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_frames(bytes in stream(), cuts in prop::collection::vec(1..40_usize, 1..20)) {
        let mut whole = Seen::default();
        whole.read(&bytes);

        let mut cut = Seen::default();
        let mut rest = &bytes[..];
        for size in cuts.into_iter().cycle() {
            let (arrived, later) = rest.split_at(size.min(rest.len()));
            cut.read(arrived);
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(cut, whole);
    }

    #[test]
    fn nothing_is_lost_and_nothing_is_read_twice(bytes in stream()) {
        let mut seen = Seen::default();
        seen.read(&bytes);
        prop_assert_eq!([seen.frames.concat(), seen.unfinished].concat(), bytes);
    }

    #[test]
    fn four_bytes_are_enough_to_refuse_a_length(len: u32, len_max in HEADER_BYTES..100_000) {
        let possible = (HEADER_BYTES..=len_max).contains(&(len as usize));
        let expect = if possible { Ok(None) } else { Err(FrameError { len, max: len_max }) };
        let arrived = len.to_le_bytes();
        prop_assert_eq!(frame::split(&arrived, len_max), expect);
    }
}
