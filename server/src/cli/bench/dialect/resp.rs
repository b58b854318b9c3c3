//! As much of RESP2 as a benchmark needs: commands as arrays of texts, replies one level deep.

use super::{Misunderstood, Read};

/// Longest reply that is believed, in bytes: `INFO` is the longest that is asked for.
const REPLY_BYTES_MAX: usize = 64 * 1024;

/// Most elements of an array.
const ELEMENTS_MAX: usize = 16;

/// A reply, borrowed from its bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Resp<'a> {
    Simple(&'a [u8]),
    Error(&'a [u8]),
    Integer(i64),
    Bulk(&'a [u8]),
    Null,
    /// The first integer of an array of integers; the others have been read over.
    Integers(i64),
}

/// Appends a command.
pub(super) fn command(parts: &[&[u8]], out: &mut Vec<u8>) {
    out.extend_from_slice(format!("*{}\r\n", parts.len()).as_bytes());
    for part in parts {
        out.extend_from_slice(format!("${}\r\n", part.len()).as_bytes());
        out.extend_from_slice(part);
        out.extend_from_slice(b"\r\n");
    }
}

/// Reads the first reply of `bytes`.
pub(super) fn read(bytes: &[u8]) -> Read<Resp<'_>> {
    let Some(((kind, text), taken)) = line(bytes)? else { return Ok(None) };
    match kind {
        b'+' => Ok(Some((Resp::Simple(text), taken))),
        b'-' => Ok(Some((Resp::Error(text), taken))),
        b':' => Ok(Some((Resp::Integer(number(text)?), taken))),
        b'$' if text == b"-1" => Ok(Some((Resp::Null, taken))),
        b'$' => bulk(bytes, taken, number(text)?),
        b'*' => integers(bytes, taken, number(text)?),
        _ => Err(Misunderstood::new("not a reply of RESP2")),
    }
}

/// Reads the `len` bytes of a text that begins at `start`.
fn bulk(bytes: &[u8], start: usize, len: i64) -> Read<Resp<'_>> {
    let len = usize::try_from(len).ok().filter(|len| *len <= REPLY_BYTES_MAX);
    let end = start + len.ok_or(Misunderstood::new("a text of an impossible length"))?;
    Ok(bytes.get(..end + 2).map(|whole| (Resp::Bulk(&whole[start..end]), end + 2)))
}

/// Reads an array of `count` integers that begins at `at`.
fn integers(bytes: &[u8], mut at: usize, count: i64) -> Read<Resp<'_>> {
    if !(1..=ELEMENTS_MAX as i64).contains(&count) {
        return Err(Misunderstood::new("an array of an unexpected length"));
    }
    let mut first = None;
    for _ in 0..count {
        let Some(((kind, text), taken)) = line(&bytes[at..])? else { return Ok(None) };
        if kind != b':' {
            return Err(Misunderstood::new("an array of other things than integers"));
        }
        first = first.or(Some(number(text)?));
        at += taken;
    }
    Ok(first.map(|first| (Resp::Integers(first), at)))
}

/// Reads the first line: its kind and its text.
fn line(bytes: &[u8]) -> Read<(u8, &[u8])> {
    match bytes.iter().position(|byte| *byte == b'\r') {
        Some(0) => Err(Misunderstood::new("an empty line")),
        Some(end) if end + 1 < bytes.len() => Ok(Some(((bytes[0], &bytes[1..end]), end + 2))),
        None if bytes.len() > REPLY_BYTES_MAX => Err(Misunderstood::new("a line without an end")),
        _ => Ok(None),
    }
}

fn number(digits: &[u8]) -> Result<i64, Misunderstood> {
    let text = std::str::from_utf8(digits).ok();
    text.and_then(|text| text.parse().ok()).ok_or(Misunderstood::new("not a number where one belongs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &str, expect: Resp<'_>) {
        let bytes = bytes.as_bytes();
        for cut in 0..bytes.len() {
            assert_eq!(read(&bytes[..cut]), Ok(None), "the first {cut} bytes of {bytes:?}");
        }
        let followed = [bytes, b"+NEXT\r\n"].concat();
        assert_eq!(read(&followed), Ok(Some((expect, bytes.len()))));
    }

    #[test]
    fn replies_are_read_when_they_have_arrived_whole() {
        check("+PONG\r\n", Resp::Simple(b"PONG"));
        check("-ERR no\r\n", Resp::Error(b"ERR no"));
        check(":-7\r\n", Resp::Integer(-7));
        check("$5\r\na\r\nbc\r\n", Resp::Bulk(b"a\r\nbc"));
        check("$0\r\n\r\n", Resp::Bulk(b""));
        check("$-1\r\n", Resp::Null);
        check("*3\r\n:1\r\n:22\r\n:-1\r\n", Resp::Integers(1));
    }

    #[test]
    fn what_is_no_reply_ends_the_conversation() {
        for bytes in ["\r\n", "?\r\n", ":x\r\n", "$-2\r\n", "$99999999\r\n", "*0\r\n", "*99\r\n", "*1\r\n+no\r\n"] {
            assert!(read(bytes.as_bytes()).is_err(), "{bytes:?}");
        }
        assert!(read(&[b'x'; REPLY_BYTES_MAX + 1]).is_err());
    }

    #[test]
    fn a_command_is_an_array_of_texts() {
        let mut out = Vec::new();
        command(&[b"PING", b"a b"], &mut out);
        assert_eq!(out, b"*2\r\n$4\r\nPING\r\n$3\r\na b\r\n");
    }
}
