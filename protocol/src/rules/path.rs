//! One spelling for each path, so that nobody is counted anew for spelling it otherwise.

use smallvec::SmallVec;

/// Bytes of a path that are normalised without an allocation.
const PATH_BYTES_INLINE: usize = 256;

/// Room for a path that has to be spelled anew.
pub(crate) type PathBuffer = SmallVec<[u8; PATH_BYTES_INLINE]>;

/// The one spelling of `path`: escapes of unreserved characters decoded, other escapes in capitals, empty and dot segments
/// removed, no slash at the end, query and fragment dropped. The case of letters is kept.
///
/// What is not allowed in a path is escaped: bytes beyond ASCII and blanks, and a `%` that begins no escape. So the result
/// is its own normal form. An escape is decoded once: `%252F` stays.
///
/// Source: RFC 3986, sections 6.2.2 and 5.2.4; slashes are folded because routers do.
///
/// ```
/// use tallyring_protocol::rules::normalised_path;
/// assert_eq!(normalised_path("//api/x/../%6Cogin/?a=1"), "/api/login");
/// assert_eq!(normalised_path("/a%2fb"), "/a%2Fb");
/// ```
pub fn normalised_path(path: &str) -> String {
    normalise(path, &mut PathBuffer::new()).to_owned()
}

/// The same, where `path` is if it is in normal form already, else in `buffer`.
pub(crate) fn normalise<'p>(path: &'p str, buffer: &'p mut PathBuffer) -> &'p str {
    if is_normal(path.as_bytes()) {
        return path;
    }
    buffer.clear();
    let path = path.split(['?', '#']).next().expect("a split has a first part");
    path.split('/').for_each(|segment| push_segment(segment.as_bytes(), buffer));
    if buffer.is_empty() {
        buffer.push(b'/');
    }
    std::str::from_utf8(buffer).expect("whatever is not ASCII was escaped")
}

/// Whether nothing would change, as far as one quick look can tell: a path with escapes is looked at in earnest.
fn is_normal(path: &[u8]) -> bool {
    let mut before = Looks::Odd;
    let mut is_normal = path.first() == Some(&b'/') && (path.last() != Some(&b'/') || path.len() == 1);
    // No early exit: every request comes by here, and nearly every path is in normal form.
    for &byte in path {
        let looks = LOOKS[usize::from(byte)];
        // A segment that begins with a dot may be one that goes.
        is_normal &= looks != Looks::Odd && !(before == Looks::Slash && looks != Looks::Plain);
        before = looks;
    }
    is_normal
}

/// What a byte of a path is, at a glance.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Looks {
    /// It would be spelled otherwise, or ends the path, or begins an escape.
    Odd,
    Slash,
    Dot,
    Plain,
}

/// Of every byte.
const LOOKS: [Looks; 256] = {
    let (mut looks, mut byte) = ([Looks::Odd; 256], 0u8);
    while byte < 0x80 {
        looks[byte as usize] = match byte {
            b'/' => Looks::Slash,
            b'.' => Looks::Dot,
            b'%' => Looks::Odd,
            _ if is_path_byte(byte) => Looks::Plain,
            _ => Looks::Odd,
        };
        byte += 1;
    }
    looks
};

/// Whether a byte may stand in a path as it is.
const fn is_path_byte(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#')
}

/// Appends a slash and a segment, or what an empty or dot segment means.
fn push_segment(segment: &[u8], path: &mut PathBuffer) {
    let start = path.len();
    path.push(b'/');
    push_decoded(segment, path);
    match &path[start + 1..] {
        b"" | b"." => path.truncate(start),
        b".." => {
            path.truncate(start);
            let parent = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
            path.truncate(parent);
        }
        _ => {}
    }
}

fn push_decoded(mut segment: &[u8], path: &mut PathBuffer) {
    while let Some((&byte, rest)) = segment.split_first() {
        let (bytes_read, byte, keep) = match escaped(segment) {
            Some(byte) => (3, byte, is_unreserved(byte)),
            None => (1, byte, is_path_byte(byte) && byte != b'%'),
        };
        if keep {
            path.push(byte);
        } else {
            push_escape(byte, path);
        }
        segment = &rest[bytes_read - 1..];
    }
}

/// The byte that the escape at the beginning of `text` stands for.
fn escaped(text: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = text else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(*high)? << 4 | digit(*low)?)
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

fn push_escape(byte: u8, path: &mut PathBuffer) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    path.extend_from_slice(&[b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expect: &str) {
        assert_eq!(normalised_path(path), expect, "{path}");
        assert_eq!(normalised_path(expect), expect, "again");
    }

    /// The kind of rules-path-01.
    #[test]
    fn spellings_of_one_path_are_one() {
        let spellings = [
            "/api/login",
            "//api/login",
            "/api//login",
            "/api/./login",
            "/api/x/../login",
            "/api/%6Cogin",
            "/api/%6cogin",
            "/api/login?x=1",
            "/api/login#f",
            "/./api/login",
            "/api/login/",
            "/api/%2e/login",
            "/api/x/%2E%2e/login",
            "/../api/login",
            "/api/login/.",
            "api/login",
            "/api/login?/../x",
            "/api/x/../login//",
        ];
        spellings.iter().for_each(|path| check(path, "/api/login"));
    }

    /// The kind of rules-path-03.
    #[test]
    fn reserved_escapes_are_not_decoded_but_their_case_is_folded() {
        check("/a%2fb", "/a%2Fb");
        check("/a%2Fb", "/a%2Fb");
        check("/a/b", "/a/b");
        check("/a%252Fb", "/a%252Fb");
    }

    #[test]
    fn the_case_of_letters_is_kept() {
        check("/API/Login", "/API/Login");
        check("/%41pi", "/Api");
    }

    #[test]
    fn nothing_is_left_of_dots_and_slashes_but_the_root() {
        ["", "/", "//", "/.", "/..", "/a/..", "/a/../..", "?x", "#", "/%2e%2E/"]
            .iter()
            .for_each(|path| check(path, "/"));
        check("/.well-known/x", "/.well-known/x");
        check("/a/...", "/a/...");
        check("/a/..b", "/a/..b");
    }

    #[test]
    fn what_is_not_allowed_in_a_path_is_escaped() {
        check("/é", "/%C3%A9");
        check("/%c3%a9", "/%C3%A9");
        check("/a b", "/a%20b");
        check("/100%", "/100%25");
        check("/%zz", "/%25zz");
        check("/%%36%31", "/%2561");
        check("/\u{7f}\t", "/%7F%09");
    }

    #[test]
    fn what_is_reserved_but_allowed_stays() {
        check("/a;v=1,2:3@x!$&'()*+=", "/a;v=1,2:3@x!$&'()*+=");
        check("/{}|\\^`\"<>", "/{}|\\^`\"<>");
    }
}
