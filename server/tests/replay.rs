//! `tallyring replay` as a process: what goes in, what comes out, and what it says when it cannot.
#![allow(clippy::unwrap_used, reason = "a test that cannot run the binary must fail")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;

const RULES: &str =
    "[[rule]]\nid = \"per-ip\"\nkey = [\"ip\"]\nalgorithm = \"fixed_window\"\nlimit = 2\nwindow = \"1m\"\n";

/// Three requests of one address, not in order, one of them cut; and a line of something else.
const LOG: &str = "\
198.51.100.7 - - [17/May/2015:10:05:09 +0000] \"GET /b HTTP/1.1\" 200 1 \"-\" \"curl\"
198.51.100.7 - - [17/May/2015:10:05:03 +0000] \"GET /a HTTP/1.1\" 200 1 \"-\" \"curl\"
# a remark
198.51.100.7 - - [17/May/2015:10:05:05 +0000] \"GET /c HTTP/1.1\" 200 1 \"-\" \"cu
";

fn write(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// Runs it in `folder` with this on stdin.
fn replay(folder: &Path, arguments: &[&str], stdin: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tallyring"));
    command.arg("replay").args(arguments).current_dir(folder);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes()); // it may have ended before it reads
    child.wait_with_output().unwrap()
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "rules.toml", RULES.as_bytes());
    folder
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn a_log_is_a_log_plain_gzipped_or_on_stdin() {
    let folder = folder();
    write(folder.path(), "access.log", LOG.as_bytes());
    write(folder.path(), "access.log.gz", &gzip(LOG));
    for (log, stdin) in [("access.log", ""), ("access.log.gz", ""), ("-", LOG)] {
        let output = replay(folder.path(), &[log, "--rules", "rules.toml", "--json"], stdin);
        assert_eq!(output.status.code(), Some(0), "{log}: {output:?}");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let rule = &report["rules"][0];
        assert_eq!([&report["lines"], &report["skipped"], &report["cut"]], [4, 1, 1], "{log}");
        assert_eq!([&rule["allowed"], &rule["denied"], &rule["keys"], &rule["keys_denied"]], [2, 1, 1, 1], "{log}");
        assert_eq!(rule["top"], serde_json::json!([["198.51.100.7", 1]]), "{log}");
        let said = text(&output.stderr);
        assert!(said.contains("no known format, skipped: 1") && said.contains("count as far as they go: 1"), "{said}");
    }
}

#[test]
fn the_page_is_written_beside_the_table() {
    let folder = folder();
    let output = replay(folder.path(), &["-", "--rules", "rules.toml", "--html", "report.html"], LOG);
    assert!(text(&output.stdout).contains("per-ip        2       1  33.3 %"), "{output:?}");
    let page = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("198.51.100.7"));
}

#[test]
fn what_is_wrong_is_said_on_a_line_each_and_the_exit_code() {
    let folder = folder();
    write(
        folder.path(),
        "bad.toml",
        b"[[rule]]\nid = \"r\"\nlimt = 5\nalgorithm = \"gcra\"\nlimit = 0\nwindow = \"1s\"\n",
    );
    let check = |arguments: &[&str], expect: &[&str]| {
        let output = replay(folder.path(), arguments, "");
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let said: Vec<&str> = text(&output.stderr).lines().collect();
        let same = said.len() == expect.len() && said.iter().zip(expect).all(|(said, expect)| said.contains(expect));
        assert!(same && output.stdout.is_empty(), "{output:?}");
        output
    };
    let bad = check(
        &["-", "--rules", "bad.toml"],
        &["bad.toml:3: rule[0].limt: unknown field", "bad.toml:5: rule[0].limit: 0 is not in"],
    );
    assert!(text(&bad.stderr).starts_with("bad.toml:3: "), "as `rules check` says it: {bad:?}");
    write(folder.path(), "latin.toml", b"# a\n# caf\xE9\n");
    let latin = check(&["-", "--rules", "latin.toml"], &["latin.toml:2: document: byte 0xE9"]);
    assert!(text(&latin.stderr).starts_with("latin.toml:2: "), "{latin:?}");
    check(&[".", "--rules", "rules.toml"], &["tallyring: replay: .: is a folder, not a file"]);
    check(&["-", "--rules", "none.toml"], &["none.toml: "]);
    check(&["none.log", "--rules", "rules.toml"], &["none.log: "]);
    check(&["-", "--rules", "rules.toml", "--html", "no/such/folder.html"], &["no/such/folder.html: "]);
}

#[test]
fn half_a_log_is_reported_as_half_a_log() {
    let folder = folder();
    let gzipped = gzip(&LOG.repeat(200));
    write(folder.path(), "cut.log.gz", &gzipped[..gzipped.len() - 12]);
    let output = replay(folder.path(), &["cut.log.gz", "--rules", "rules.toml", "--json"], "");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["failures"].as_array().unwrap().len(), 1, "{report}");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

#[test]
fn a_log_of_which_nothing_is_understood_is_no_log() {
    let folder = folder();
    write(folder.path(), "other.log", b"Oct 11 22:14:15 host su[23]: \x1b[31mfailed\nand more\n");
    write(folder.path(), "one.log", b"hello\n");
    write(folder.path(), "access.log", LOG.as_bytes());
    let output = replay(folder.path(), &["other.log", "one.log", "--rules", "rules.toml", "--json"], "");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let formats = "the combined or common log format, or JSON lines that have a time; the first is";
    let expect = format!(
        "tallyring: replay: other.log: none of its lines is in {formats} \"Oct 11 22:14:15 host su[23]: \\u{{1b}}[31mfailed\"\n\
         tallyring: replay: one.log: its only line is not in {formats} \"hello\"\n"
    );
    assert_eq!((text(&output.stderr), text(&output.stdout)), (&*expect, ""));
    // Beside a log that is one the others are reported on, and the one is a failure.
    let output = replay(folder.path(), &["other.log", "access.log", "--rules", "rules.toml", "--json"], "");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["requests"], report["failures"].as_array().unwrap().len()), (&3.into(), 1), "{report}");
    // A log with nothing in it has nothing that could be misunderstood.
    assert_eq!(replay(folder.path(), &["-", "--rules", "rules.toml"], "\n").status.code(), Some(0));
}
