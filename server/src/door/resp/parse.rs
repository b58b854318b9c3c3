//! Bytes to arguments: the first command of what a socket brought.
//!
//! A command is an array of bulk strings, or a line as a person types it. "Not all of it has arrived" is not "malformed":
//! the first waits, the second ends the connection, because no byte behind it can be trusted. Every length is compared with
//! a bound before anything is waited for, and nothing is copied.

use smallvec::SmallVec;

/// Longest header (`*3` or `$11`) without its line end, in bytes: a longer one is no number that is allowed.
const HEADER_BYTES_MAX: usize = 32;

/// What one command may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Arguments, the command's name included.
    pub args_max: usize,
    /// Bytes, framing included.
    pub bytes_max: usize,
}

impl Bounds {
    /// Before a connection is authenticated: what Redis grants a stranger.
    pub const STRANGER: Bounds = Bounds { args_max: 10, bytes_max: 16 * 1024 };
    /// Afterwards: far more than any command needs.
    pub const MEMBER: Bounds = Bounds { args_max: 64, bytes_max: 64 * 1024 };
}

/// The arguments of a command, its name first.
pub type Args<'a> = SmallVec<[&'a [u8]; 16]>;

/// How a command was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// As an array; its arguments are where the caller wanted them. None: an empty array, which has no answer.
    Array,
    /// As a line, without its end; [`words`] takes it apart.
    Line(&'a [u8]),
}

impl Piece<'_> {
    /// Whether nothing is asked: an empty array, or a line of blanks.
    pub fn is_empty(&self, args: &[&[u8]]) -> bool {
        match self {
            Piece::Array => args.is_empty(),
            Piece::Line(line) => line.trim_ascii().is_empty(),
        }
    }
}

pub use super::inline::words;

/// Bytes that are no command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// The number behind `*` is none, or too large.
    #[error("ERR Protocol error: invalid multibulk length")]
    ArgumentCount,
    /// The number behind `$` is none, or too large.
    #[error("ERR Protocol error: invalid bulk length")]
    ArgumentLength,
    /// The arguments together are too long.
    #[error("ERR Protocol error: a command is at most {bytes_max} bytes")]
    TooLong {
        /// The bound.
        bytes_max: usize,
    },
    /// An argument is no bulk string: nested arrays and other types have no place in a command.
    #[error("ERR Protocol error: expected '$', got '{}'", found.escape_ascii())]
    ArgumentType {
        /// What stands where `$` belongs.
        found: u8,
    },
    /// A line or a bulk string does not end as it must.
    #[error("ERR Protocol error: expected CRLF")]
    LineEnd,
    /// A line without an end.
    #[error("ERR Protocol error: too big inline request")]
    LineLength,
    /// A line with a quote that is not closed.
    #[error("ERR Protocol error: unbalanced quotes in request")]
    Quotes,
    /// HTTP: a browser was lured here, or somebody took the wrong port.
    #[error("ERR Protocol error: this port speaks RESP, not HTTP")]
    Http,
}

/// Takes the first command off the front of `bytes`: how it was written and how many bytes it took; `None` if it has not
/// arrived whole. The arguments of an array are left in `args`, in place of what was there.
///
/// # Errors
/// [`ProtocolError`]: the bytes are no command, nor will be when more arrive.
///
/// ```
/// use tallyring::door::resp::parse::{Args, Bounds, Piece, split};
/// let mut args = Args::new();
/// let ping = b"*1\r\n$4\r\nPING\r\n*1\r\n";
/// assert_eq!(split(ping, Bounds::MEMBER, &mut args), Ok(Some((Piece::Array, 14))));
/// assert_eq!(args.as_slice(), [b"PING"]);
/// assert_eq!(split(&ping[14..], Bounds::MEMBER, &mut args), Ok(None));
/// ```
#[inline]
pub fn split<'a>(
    bytes: &'a [u8],
    bounds: Bounds,
    args: &mut Args<'a>,
) -> Result<Option<(Piece<'a>, usize)>, ProtocolError> {
    args.clear();
    match bytes.first() {
        None => Ok(None),
        Some(b'*') => Ok(array(bytes, bounds, args)?.map(|taken| (Piece::Array, taken))),
        Some(_) => line(bytes, bounds),
    }
}

fn array<'a>(bytes: &'a [u8], bounds: Bounds, args: &mut Args<'a>) -> Result<Option<usize>, ProtocolError> {
    let Some((count, mut at)) = header(bytes, ProtocolError::ArgumentCount)? else { return Ok(None) };
    let count = match count {
        Number::Negative => 0,
        Number::Natural(count) if count <= bounds.args_max => count,
        Number::Natural(_) => return Err(ProtocolError::ArgumentCount),
    };
    for _ in 0..count {
        let Some((arg, taken)) = bulk(&bytes[at..], bounds.bytes_max.saturating_sub(at), bounds)? else {
            return Ok(None);
        };
        args.push(arg);
        at += taken;
    }
    Ok(Some(at))
}

/// A bulk string that must fit into `room` bytes.
#[inline]
fn bulk(bytes: &[u8], room: usize, bounds: Bounds) -> Result<Option<(&[u8], usize)>, ProtocolError> {
    match bytes.first() {
        None => return Ok(None),
        Some(b'$') => {}
        Some(found) => return Err(ProtocolError::ArgumentType { found: *found }),
    }
    let Some((len, start)) = header(bytes, ProtocolError::ArgumentLength)? else { return Ok(None) };
    let Number::Natural(len) = len else { return Err(ProtocolError::ArgumentLength) };
    if len > bounds.bytes_max {
        return Err(ProtocolError::ArgumentLength);
    }
    let end = start + len;
    if end + 2 > room {
        return Err(ProtocolError::TooLong { bytes_max: bounds.bytes_max });
    }
    match bytes.get(end..end + 2) {
        Some(b"\r\n") => Ok(Some((&bytes[start..end], end + 2))),
        Some(_) => Err(ProtocolError::LineEnd),
        None => Ok(None),
    }
}

/// The number of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    Natural(usize),
    Negative,
}

/// The number behind the first byte, and where the next line begins.
#[inline]
fn header(bytes: &[u8], malformed: ProtocolError) -> Result<Option<(Number, usize)>, ProtocolError> {
    let mut number: usize = 0;
    for (at, byte) in bytes.iter().enumerate().skip(1).take(HEADER_BYTES_MAX) {
        match byte {
            b'0'..=b'9' => {
                let more = number.checked_mul(10).and_then(|n| n.checked_add(usize::from(byte - b'0')));
                number = more.ok_or(malformed)?;
            }
            b'\r' if at > 1 => return Ok(end_of_line(bytes, at)?.map(|next| (Number::Natural(number), next))),
            b'-' if at == 1 => return negative(bytes, malformed),
            _ => return Err(malformed),
        }
    }
    if bytes.len() > HEADER_BYTES_MAX { Err(malformed) } else { Ok(None) }
}

/// `*-1` and its like: no array, which Redis takes for an empty one.
#[cold]
fn negative(bytes: &[u8], malformed: ProtocolError) -> Result<Option<(Number, usize)>, ProtocolError> {
    for (at, byte) in bytes.iter().enumerate().skip(2).take(HEADER_BYTES_MAX) {
        match byte {
            b'0'..=b'9' => {}
            b'\r' if at > 2 => return Ok(end_of_line(bytes, at)?.map(|next| (Number::Negative, next))),
            _ => return Err(malformed),
        }
    }
    if bytes.len() > HEADER_BYTES_MAX { Err(malformed) } else { Ok(None) }
}

/// Where the next line begins, if the one that ends at `at` has ended whole.
#[inline]
fn end_of_line(bytes: &[u8], at: usize) -> Result<Option<usize>, ProtocolError> {
    match bytes.get(at + 1) {
        Some(b'\n') => Ok(Some(at + 2)),
        Some(_) => Err(ProtocolError::LineEnd),
        None => Ok(None),
    }
}

fn line(bytes: &[u8], bounds: Bounds) -> Result<Option<(Piece<'_>, usize)>, ProtocolError> {
    let window = &bytes[..bytes.len().min(bounds.bytes_max)];
    let Some(end) = window.iter().position(|byte| *byte == b'\n') else {
        return if window.len() < bounds.bytes_max { Ok(None) } else { Err(ProtocolError::LineLength) };
    };
    let line = &window[..end];
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if is_http(line) { Err(ProtocolError::Http) } else { Ok(Some((Piece::Line(line), end + 1))) }
}

/// Whether this is the beginning of an HTTP request or its host: a page in somebody's browser can send those to loopback,
/// with commands in the body.
fn is_http(line: &[u8]) -> bool {
    let begins = |with: &[u8]| line.len() >= with.len() && line[..with.len()].eq_ignore_ascii_case(with);
    begins(b"POST ") || begins(b"host:")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Bounds = Bounds { args_max: 3, bytes_max: 40 };

    /// What the first command of `bytes` is, in words.
    fn found(bytes: &[u8], bounds: Bounds) -> String {
        let mut args = Args::new();
        match split(bytes, bounds, &mut args) {
            Ok(None) => "more".to_owned(),
            Ok(Some((Piece::Array, taken))) => format!("{:?} {taken}", text(&args)),
            Ok(Some((Piece::Line(line), taken))) => format!("line {:?} {taken}", String::from_utf8_lossy(line)),
            Err(error) => error.to_string(),
        }
    }

    fn text(args: &[&[u8]]) -> Vec<String> {
        args.iter().map(|arg| String::from_utf8_lossy(arg).into_owned()).collect()
    }

    fn check(bytes: &str, expect: &str) {
        assert_eq!(found(bytes.as_bytes(), SMALL), expect, "{bytes:?}");
    }

    #[test]
    fn an_array_of_texts_is_a_command() {
        check("*1\r\n$4\r\nPING\r\n", r#"["PING"] 14"#);
        check("*2\r\n$4\r\nECHO\r\n$2\r\n\r\n\r\n+", r#"["ECHO", "\r\n"] 22"#);
        check("*1\r\n$0\r\n\r\n", r#"[""] 10"#);
        check("*0\r\n+", "[] 4");
        check("*-1\r\n", "[] 5");
    }

    #[test]
    fn a_line_is_a_command() {
        check("PING\r\nx", r#"line "PING" 6"#);
        check("PING\nx", r#"line "PING" 5"#);
        check("\r\n", r#"line "" 2"#);
    }

    #[test]
    fn what_has_not_arrived_whole_is_waited_for() {
        for whole in ["*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n", "*-1\r\n", "PING\r\n"] {
            for cut in 0..whole.len() {
                check(&whole[..cut], "more");
            }
        }
    }

    #[test]
    fn what_can_be_no_command_is_refused_at_once() {
        check("*4\r\n", "ERR Protocol error: invalid multibulk length");
        check("*x\r\n", "ERR Protocol error: invalid multibulk length");
        check("*\r\n", "ERR Protocol error: invalid multibulk length");
        check("*99999999999999999999999\r\n", "ERR Protocol error: invalid multibulk length");
        check("*00000000000000000000000000000000001\r\n", "ERR Protocol error: invalid multibulk length");
        check("*--1\r\n", "ERR Protocol error: invalid multibulk length");
        check("*1\rx", "ERR Protocol error: expected CRLF");
        check("*1\r\n$41\r\n", "ERR Protocol error: invalid bulk length");
        check("*1\r\n$-1\r\n", "ERR Protocol error: invalid bulk length");
        check("*1\r\n$1.5\r\n", "ERR Protocol error: invalid bulk length");
        check("*2\r\n$20\r\n12345678901234567890\r\n$9\r\n", "ERR Protocol error: a command is at most 40 bytes");
        check("*1\r\n*1\r\n", "ERR Protocol error: expected '$', got '*'");
        check("*1\r\n:1\r\n", "ERR Protocol error: expected '$', got ':'");
        check("*1\r\n\n", r"ERR Protocol error: expected '$', got '\n'");
        check("*1\r\n$1\r\nab\r\n", "ERR Protocol error: expected CRLF");
        check(&"x".repeat(40), "ERR Protocol error: too big inline request");
        check("POST /v1/check HTTP/1.1\r\n", "ERR Protocol error: this port speaks RESP, not HTTP");
        check("Host: localhost:4172\r\n", "ERR Protocol error: this port speaks RESP, not HTTP");
    }

    #[test]
    fn a_stranger_gets_less_room_than_a_member() {
        let long = format!("*1\r\n${}\r\n", 20 * 1024);
        assert_eq!(found(long.as_bytes(), Bounds::STRANGER), "ERR Protocol error: invalid bulk length");
        assert_eq!(found(long.as_bytes(), Bounds::MEMBER), "more");
        assert_eq!(found(b"*11\r\n", Bounds::STRANGER), "ERR Protocol error: invalid multibulk length");
        assert_eq!(found(b"*64\r\n", Bounds::MEMBER), "more");
    }
}
