//! A command as a person types it: words between spaces, quoted if they contain some.

use super::parse::ProtocolError;

/// The words of a line. `"…"` may contain `\n`, `\r`, `\t`, `\b`, `\a` and `\xHH`, and `'…'` may contain `\'`.
///
/// # Errors
/// [`ProtocolError::Quotes`]: a quote is not closed, or something follows it without a space between;
/// [`ProtocolError::ArgumentCount`]: there are more than `args_max` words.
pub fn words(line: &[u8], args_max: usize) -> Result<Vec<Vec<u8>>, ProtocolError> {
    let mut words = Vec::new();
    let mut rest = line.trim_ascii_start();
    while let Some(first) = rest.first() {
        if words.len() == args_max {
            return Err(ProtocolError::ArgumentCount);
        }
        let (word, behind) = match first {
            b'"' => double_quoted(&rest[1..])?,
            b'\'' => single_quoted(&rest[1..])?,
            _ => bare(rest),
        };
        words.push(word);
        rest = behind.trim_ascii_start();
    }
    Ok(words)
}

type Word<'a> = (Vec<u8>, &'a [u8]);

fn bare(text: &[u8]) -> Word<'_> {
    let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
    (text[..end].to_vec(), &text[end..])
}

fn single_quoted(mut text: &[u8]) -> Result<Word<'_>, ProtocolError> {
    let mut word = Vec::new();
    loop {
        text = match text {
            [b'\\', b'\'', rest @ ..] => {
                word.push(b'\'');
                rest
            }
            [b'\'', rest @ ..] => return closed(word, rest),
            [byte, rest @ ..] => {
                word.push(*byte);
                rest
            }
            [] => return Err(ProtocolError::Quotes),
        };
    }
}

fn double_quoted(mut text: &[u8]) -> Result<Word<'_>, ProtocolError> {
    let mut word = Vec::new();
    loop {
        text = match text {
            [b'\\', b'x', high, low, rest @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                word.push(digit(*high) << 4 | digit(*low));
                rest
            }
            [b'\\', escaped, rest @ ..] => {
                word.push(unescaped(*escaped));
                rest
            }
            [b'"', rest @ ..] => return closed(word, rest),
            [byte, rest @ ..] => {
                word.push(*byte);
                rest
            }
            [] => return Err(ProtocolError::Quotes),
        };
    }
}

fn closed(word: Vec<u8>, rest: &[u8]) -> Result<Word<'_>, ProtocolError> {
    if rest.first().is_none_or(u8::is_ascii_whitespace) { Ok((word, rest)) } else { Err(ProtocolError::Quotes) }
}

fn unescaped(byte: u8) -> u8 {
    match byte {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 0x08,
        b'a' => 0x07,
        other => other,
    }
}

fn digit(hex: u8) -> u8 {
    match hex {
        b'0'..=b'9' => hex - b'0',
        _ => (hex | 0x20) - b'a' + 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expect: Result<&[&str], ProtocolError>) {
        let found = words(line.as_bytes(), 4);
        let expect = expect.map(|words| words.iter().map(|word| word.as_bytes().to_vec()).collect());
        assert_eq!(found, expect, "{line}");
    }

    #[test]
    fn words_stand_between_spaces() {
        check("", Ok(&[]));
        check("  PING\t", Ok(&["PING"]));
        check("TR.CHECK k  gcra", Ok(&["TR.CHECK", "k", "gcra"]));
        check("a b c d e", Err(ProtocolError::ArgumentCount));
    }

    #[test]
    fn quotes_keep_spaces_together() {
        check(r#"ECHO "a b" 'c d'"#, Ok(&["ECHO", "a b", "c d"]));
        check(r#"ECHO "\x41\n\"\\" 'it\'s'"#, Ok(&["ECHO", "A\n\"\\", "it's"]));
        check(r#""""#, Ok(&[""]));
        check(r#"a"b c"#, Ok(&["a\"b", "c"]));
    }

    #[test]
    fn a_quote_that_is_not_closed_is_refused() {
        for line in [r#"ECHO "a"#, "ECHO 'a", r#""a"b"#, "'a'b", r#""a\"#] {
            check(line, Err(ProtocolError::Quotes));
        }
    }
}
