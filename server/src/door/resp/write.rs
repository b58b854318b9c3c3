//! Answers as bytes of RESP2 and RESP3.

use std::fmt::{self, Display, Write as _};

/// Which of the two a connection speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// What every connection begins with.
    #[default]
    Resp2,
    /// After `HELLO 3`: maps and nulls are types of their own.
    Resp3,
}

impl Version {
    /// The number that `HELLO` says.
    pub const fn number(self) -> u64 {
        match self {
            Version::Resp2 => 2,
            Version::Resp3 => 3,
        }
    }
}

/// Appends the header of an array of so many elements.
#[inline]
pub fn array(out: &mut Vec<u8>, len: usize) {
    header(out, b'*', len as u64);
}

/// Appends the header of a map of so many pairs; a flat array in RESP2.
pub fn map(out: &mut Vec<u8>, version: Version, pairs: usize) {
    match version {
        Version::Resp2 => array(out, 2 * pairs),
        Version::Resp3 => header(out, b'%', pairs as u64),
    }
}

/// Appends an integer, which a Redis client reads with 64 bits and a sign.
#[inline]
pub fn integer(out: &mut Vec<u8>, number: u64) {
    header(out, b':', number.min(i64::MAX as u64));
}

/// Appends -1, which stands for "none" and "never".
pub fn minus_one(out: &mut Vec<u8>) {
    out.extend_from_slice(b":-1\r\n");
}

/// Appends a text of any bytes.
pub fn bulk(out: &mut Vec<u8>, text: &[u8]) {
    header(out, b'$', text.len() as u64);
    out.extend_from_slice(text);
    out.extend_from_slice(b"\r\n");
}

/// Appends "there is none".
pub fn null(out: &mut Vec<u8>, version: Version) {
    out.extend_from_slice(match version {
        Version::Resp2 => b"$-1\r\n",
        Version::Resp3 => b"_\r\n",
    });
}

/// Appends "there is none" where an array would stand.
pub fn null_array(out: &mut Vec<u8>, version: Version) {
    out.extend_from_slice(match version {
        Version::Resp2 => b"*-1\r\n",
        Version::Resp3 => b"_\r\n",
    });
}

/// Appends a word of ours, such as `OK`.
pub fn simple(out: &mut Vec<u8>, word: &str) {
    out.push(b'+');
    out.extend_from_slice(word.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Appends an error: its text is one line, whatever stands in it.
#[cold]
pub fn error(out: &mut Vec<u8>, text: &impl Display) {
    out.push(b'-');
    write!(OneLine(out), "{text}").expect("writing to memory cannot fail");
    out.extend_from_slice(b"\r\n");
}

struct OneLine<'a>(&'a mut Vec<u8>);

impl fmt::Write for OneLine<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend(text.bytes().map(|byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { byte }));
        Ok(())
    }
}

/// Digits of the largest 64-bit number.
const DIGITS_MAX: usize = 20;

#[inline]
fn header(out: &mut Vec<u8>, kind: u8, number: u64) {
    // Kind, digits and line end are put together first: one append instead of three.
    let mut line = [0; DIGITS_MAX + 3];
    let mut at = line.len() - 2;
    line[at] = b'\r';
    line[at + 1] = b'\n';
    let mut left = number;
    loop {
        at -= 1;
        line[at] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    at -= 1;
    line[at] = kind;
    out.extend_from_slice(&line[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(write: impl FnOnce(&mut Vec<u8>), expect: &str) {
        let mut out = Vec::new();
        write(&mut out);
        assert_eq!(String::from_utf8(out).unwrap(), expect);
    }

    #[test]
    fn golden_bytes() {
        check(|out| array(out, 5), "*5\r\n");
        check(|out| integer(out, 0), ":0\r\n");
        check(|out| integer(out, u64::MAX), ":9223372036854775807\r\n");
        check(minus_one, ":-1\r\n");
        check(|out| bulk(out, b"a\r\nb"), "$4\r\na\r\nb\r\n");
        check(|out| simple(out, "OK"), "+OK\r\n");
        check(|out| null(out, Version::Resp2), "$-1\r\n");
        check(|out| null(out, Version::Resp3), "_\r\n");
        check(|out| map(out, Version::Resp2, 7), "*14\r\n");
        check(|out| map(out, Version::Resp3, 7), "%7\r\n");
    }

    #[test]
    fn an_error_stays_on_its_line() {
        check(|out| error(out, &"ERR 'a\r\n+OK'"), "-ERR 'a  +OK'\r\n");
    }
}
