use super::*;

fn check(lines: &[(&str, &str)]) {
    let mut trace = Trace::new();
    for (line, expect) in lines {
        assert_eq!(trace.line(line).as_deref(), Some(*expect), "{line}");
    }
}

fn bad(fields: &str, expect: &str) {
    let line = format!(r#"{{"t_us":5,"key":"k","algorithm":"token_bucket","limit":3,"period_us":10{fields}}}"#);
    let expect = format!(r#"{{"error":"invalid","field":"{expect}"}}"#);
    assert_eq!(Trace::new().line(&line), Some(expect), "{line}");
}

#[test]
fn an_empty_line_is_skipped() {
    assert_eq!(Trace::new().line(""), None);
    assert_eq!(Trace::new().line(" \r"), None);
}

#[test]
fn the_last_of_a_name_counts() {
    bad(r#","cost":1,"cost":-1"#, "cost");
    bad(r#","cost":-1,"cost":1,"keep":null"#, "keep");
}

#[test]
fn an_integer_is_written_as_one() {
    for number in ["5.0", "1e0", "1e300", "-1", "18446744073709551616", "null", "\"1\"", "true", "[]", "{}"] {
        bad(&format!(r#","cost":{number}"#), "cost");
    }
}

#[test]
fn the_first_bad_field_is_named() {
    bad(r#","limit":0,"calendar":1,"burst":0"#, "limit");
    bad(r#","calendar":"day","burst":0"#, "calendar");
    bad(r#","algorithm":"fixed_window","calendar":"day","burst":0"#, "calendar");
    bad(r#","period_us":0,"burst":0"#, "period_us");
    bad(r#","burst":0,"cost":-1"#, "burst");
    bad(r#","algorithm":"sliding_log","burst":1,"cost":-1"#, "burst");
    bad(r#","cost":-1,"keep":-1"#, "cost");
    bad(r#","keep":-1,"force":1"#, "keep");
    bad(r#","op":"nope","t_us":-1"#, "op");
}

#[test]
fn fields_without_a_use_are_not_looked_at() {
    let settle = r#"{"t_us":1,"op":"settle","key":"k","id":"i","actual":1,"limit":-1,"cost":null}"#;
    let release = r#"{"t_us":1,"op":"release","key":"k","holder":"h","ttl_us":-1}"#;
    check(&[(settle, r#"{"settled":false}"#), (release, r#"{"released":false,"in_use":0}"#)]);
}

#[test]
fn input_that_is_no_text_is_a_bad_line() {
    let mut output = Vec::new();
    run(&b"\xff\xfe\n\n{\"t_us\":1}\n"[..], &mut output).unwrap();
    let expect = "{\"error\":\"invalid\",\"field\":\"line\"}\n{\"error\":\"invalid\",\"field\":\"key\"}\n";
    assert_eq!(String::from_utf8(output).unwrap(), expect);
}

#[test]
fn a_line_without_end_is_refused() {
    let error = run(std::io::BufReader::new(std::io::repeat(b' ')), std::io::sink()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
}

#[test]
fn a_field_that_no_event_has_changes_nothing_and_is_told_of_once() {
    let mut trace = Trace::new();
    for _ in 0..2 {
        let event = r#"{"t_us":1,"key":"k","algorithm":"token_bucket","limit":9,"period_us":10,"cots":5}"#;
        assert!(trace.line(event).unwrap().contains("\"allowed\":true"));
    }
    let strangers: Vec<&str> = trace.strangers().collect();
    assert!(strangers.len() == 1 && strangers[0].starts_with("cots: unknown field: "), "{strangers:?}");
    for no in 0..100 {
        trace.line(&format!(r#"{{"t_us":1,"f{no}":1}}"#));
    }
    assert_eq!(trace.strangers().count(), STRANGERS_MAX);
}
