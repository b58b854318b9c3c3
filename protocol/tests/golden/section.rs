//! The sections of a golden file: `[name] meaning`, then lines, each up to a `;` behind which is text for people.

/// One section.
pub(crate) struct Section {
    pub(crate) name: &'static str,
    pub(crate) lines: Vec<&'static str>,
}

/// The sections of a file, in its order.
pub(crate) fn sections(file: &'static str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for line in file.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        match line.strip_prefix('[').and_then(|header| header.split_once(']')) {
            Some((name, _meaning)) => sections.push(Section { name, lines: Vec::new() }),
            None => sections.last_mut().expect("a name comes first").lines.push(without_remark(line)),
        }
    }
    sections
}

fn without_remark(line: &str) -> &str {
    line.split(';').next().expect("a split has a first part").trim()
}

impl Section {
    /// All lines as one string of bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        hex(&self.lines.concat().replace(' ', ""))
    }
}

/// The bytes that `digits` spell: two a byte; `-` for none; `61*512` for one byte many times.
pub(crate) fn hex(digits: &str) -> Vec<u8> {
    if digits == "-" {
        return Vec::new();
    }
    if let Some((byte, times)) = digits.split_once('*') {
        return hex(byte).repeat(times.parse().expect("a number of times"));
    }
    assert!(digits.len().is_multiple_of(2), "half a byte: {digits}");
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("digits")).collect()
}
