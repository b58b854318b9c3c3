//! Logs as lines: from files or stdin, gzipped or not, each line within bounds.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

use crate::sys::file::{self, FileError};

/// Longest line that is kept, in bytes; what is behind is dropped. Time and address stand in front.
const LINE_BYTES_MAX: usize = 64 << 10;
/// Bytes that are read at once.
const BUFFER_BYTES: usize = 256 << 10;
/// What every gzip stream begins with.
const GZIP_MAGIC: [u8; 2] = [0x1F, 0x8B];

/// One log.
pub(super) struct Input {
    name: String,
    lines: Box<dyn BufRead>,
    line: Vec<u8>,
    bytes: u64,
    read: Arc<AtomicU64>,
    /// Why it ended early, if it did.
    failure: Option<String>,
}

impl Input {
    /// Opens a log; `-` is stdin.
    ///
    /// # Errors
    /// One line: the file and why it cannot be opened.
    pub(super) fn open(path: &Path) -> Result<Input, String> {
        if path.as_os_str() == "-" {
            return Input::new("stdin", io::stdin(), 0).map_err(|error| format!("stdin: {error}"));
        }
        let name = path.display().to_string();
        let open = || -> Result<Input, FileError> {
            let file = file::open_stream(path)?;
            let bytes = file.metadata()?.len();
            Ok(Input::new(&name, file, bytes)?)
        };
        open().map_err(|error| format!("{name}: {error}"))
    }

    /// A log of so many bytes, 0 if that is not known. Whether it is gzipped its first bytes say.
    pub(super) fn new(name: &str, source: impl Read + 'static, bytes: u64) -> io::Result<Input> {
        let read = Arc::new(AtomicU64::new(0));
        let counted = Counted { source, read: Arc::clone(&read) };
        let mut raw = BufReader::with_capacity(BUFFER_BYTES, counted);
        let lines: Box<dyn BufRead> = if raw.fill_buf()?.starts_with(&GZIP_MAGIC) {
            Box::new(BufReader::with_capacity(BUFFER_BYTES, MultiGzDecoder::new(raw)))
        } else {
            Box::new(raw)
        };
        Ok(Input { name: name.to_owned(), lines, line: Vec::new(), bytes, read, failure: None })
    }

    /// What it is called.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of the log as it lies on the disk; 0 if that is not known.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many of them have been read.
    pub(super) fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Why it ended early, if it did: its name and the reason.
    pub(super) fn failure(&self) -> Option<String> {
        self.failure.as_ref().map(|failure| format!("{}: {failure}", self.name))
    }

    /// The next line that is not empty, without its end; bytes that are no UTF-8 are replaced. A log that cannot be read any
    /// further has ended.
    pub(super) fn next_line(&mut self) -> Option<std::borrow::Cow<'_, str>> {
        loop {
            self.line.clear();
            match read_line(&mut *self.lines, &mut self.line) {
                Ok(true) if self.line.trim_ascii().is_empty() => {}
                Ok(true) => return Some(String::from_utf8_lossy(&self.line)),
                Ok(false) => return None,
                Err(error) => {
                    self.failure = Some(format!("read no further: {error}"));
                    return None;
                }
            }
        }
    }
}

/// Appends the next line up to [`LINE_BYTES_MAX`] bytes and reads past the rest of it. Whether there was one.
fn read_line(lines: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    let mut is_there = false;
    loop {
        let buffer = lines.fill_buf()?;
        if buffer.is_empty() {
            return Ok(is_there);
        }
        is_there = true;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let part = &buffer[..end.unwrap_or(buffer.len())];
        let kept = part.len().min(LINE_BYTES_MAX - line.len());
        line.extend_from_slice(&part[..kept]);
        let used = end.map_or(buffer.len(), |end| end + 1);
        lines.consume(used);
        if end.is_some() {
            return Ok(true);
        }
    }
}

/// Counts what passes.
struct Counted<R> {
    source: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write as _};

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn check(bytes: Vec<u8>, expect: &[&str]) -> Input {
        let mut input = Input::new("log", Cursor::new(bytes), 0).unwrap();
        let lines: Vec<String> = std::iter::from_fn(|| input.next_line().map(|line| line.into_owned())).collect();
        assert_eq!(lines, expect);
        input
    }

    #[test]
    fn lines_are_lines_whatever_ends_them() {
        check(b"a\nb\n".into(), &["a", "b"]);
        check(b"a\n\n  \nb".into(), &["a", "b"]);
        check(b"".into(), &[]);
        check(b"a\r\n\xFF\n".into(), &["a\r", "\u{fffd}"]);
    }

    #[test]
    fn a_gzipped_log_is_read_through() {
        check(gzip(b"a\nb\n"), &["a", "b"]);
        check([gzip(b"a\n"), gzip(b"b\n")].concat(), &["a", "b"]); // as some programs append
    }

    #[test]
    fn a_gzipped_log_that_was_cut_is_read_as_far_as_it_goes() {
        let whole = gzip(&"a line\n".repeat(100_000).into_bytes());
        let mut input = Input::new("log", Cursor::new(whole[..whole.len() / 2].to_vec()), 0).unwrap();
        let lines = std::iter::from_fn(|| input.next_line().map(|_| ())).count();
        assert!(lines > 10_000, "{lines}");
        assert!(input.failure().unwrap().starts_with("log: read no further: "));
    }

    #[test]
    fn what_follows_a_gzipped_log_and_is_none_is_reported() {
        for junk in [&b"junk that is as long as a header"[..], b"xy"] {
            let input = check([&gzip(b"a\nb\n"), junk].concat(), &["a", "b"]);
            assert!(input.failure().unwrap().starts_with("log: read no further: "), "{junk:?}");
        }
    }

    #[test]
    fn an_endless_line_is_kept_up_to_its_bound() {
        let long = "x".repeat(1_000_000);
        let input = check(format!("{long}\nb\n").into_bytes(), &[&long[..LINE_BYTES_MAX], "b"]);
        assert_eq!(input.bytes_read(), 1_000_003);
        assert_eq!(input.failure(), None);
    }
}
