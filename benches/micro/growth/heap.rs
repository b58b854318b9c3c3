//! What the operating system has given this process.

/// Bytes of a page on every machine that this runs on.
const PAGE_BYTES: u64 = 4_096;

/// Resident memory of this process, in bytes.
///
/// # Panics
/// If there is no `/proc`.
pub(crate) fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux has a /proc");
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.expect("the second number is the resident pages") * PAGE_BYTES
}
