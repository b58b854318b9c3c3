use super::*;

const SECOND_US: u64 = 1_000_000;

fn budget(name: &str, limit: u64, remaining: u64, wait_us: u64) -> Budget<'_> {
    let wait = Duration::from_micros(wait_us);
    let policy = Policy { name, quota: limit, window_s: Some(60) };
    Budget { policy, limit, remaining, more_after: Some(wait), reset_after: wait }
}

/// Compares everything that is sent, a header a line.
fn check(told: &Told<'_>, families: &[HeaderFamily], expect: &[&str]) {
    let mut lines = Vec::new();
    told.write(families, |name, value| lines.push(format!("{}: {value}", name.lower)));
    assert_eq!(lines, expect);
}

#[test]
fn single_valued_headers_are_one_rules_and_a_list_has_all_in_their_order() {
    // http-head-02
    let budgets = [budget("minute", 10, 4, 12_300_000), budget("hour", 100, 2, 1_800 * SECOND_US)];
    let told = Told { budgets: &budgets, speaker: Some(1), now_us: 1_700_000_000_000_000 };
    check(
        &told,
        &[HeaderFamily::RateLimit],
        &["ratelimit-limit: 100", "ratelimit-remaining: 2", "ratelimit-reset: 1800"],
    );
    check(
        &told,
        &[HeaderFamily::XRateLimit],
        &["x-ratelimit-limit: 100", "x-ratelimit-remaining: 2", "x-ratelimit-reset: 1700001800"],
    );
    check(
        &told,
        &[HeaderFamily::Structured],
        &[
            r#"ratelimit-policy: "minute";q=10;w=60, "hour";q=100;w=60"#,
            r#"ratelimit: "minute";r=4;t=13, "hour";r=2;t=1800"#,
        ],
    );
}

#[test]
fn an_absolute_reset_is_never_in_the_past() {
    // http-head-05: 1700000000.990 s and 0.020 s more, written 0.030 s later
    let told = Told { budgets: &[budget("p", 5, 0, 20_000)], speaker: Some(0), now_us: 1_700_000_000_990_000 };
    check(
        &told,
        &[HeaderFamily::XRateLimit, HeaderFamily::RateLimit],
        &[
            "x-ratelimit-limit: 5",
            "x-ratelimit-remaining: 0",
            "x-ratelimit-reset: 1700000002",
            "ratelimit-limit: 5",
            "ratelimit-remaining: 0",
            "ratelimit-reset: 1",
        ],
    );
}

#[test]
fn a_rule_that_no_wait_helps_has_no_time() {
    let never = Budget { more_after: None, ..budget("p", 10, 7, SECOND_US) };
    let told = Told { budgets: &[never], speaker: Some(0), now_us: 0 };
    check(&told, &[HeaderFamily::Structured], &[r#"ratelimit-policy: "p";q=10;w=60"#, r#"ratelimit: "p";r=7"#]);
}

#[test]
fn a_request_that_no_rule_counts_is_told_nothing() {
    check(&Told { budgets: &[], speaker: None, now_us: 0 }, &HeaderFamily::ALL, &[]);
}

#[test]
fn no_two_families_write_the_same_header() {
    let told = Told { budgets: &[budget("p", 10, 7, 1)], speaker: Some(0), now_us: 0 };
    let mut names = Vec::new();
    told.write(&HeaderFamily::ALL, |name, _| names.push(name.lower));
    let distinct: std::collections::BTreeSet<_> = names.iter().collect();
    assert_eq!((names.len(), distinct.len()), (8, 8));
}

#[test]
fn the_largest_numbers_are_cut_and_do_not_wrap() {
    let huge = Budget { reset_after: Duration::MAX, more_after: Some(Duration::MAX), ..budget("p", 10, u64::MAX, 0) };
    let told = Told { budgets: &[huge], speaker: Some(0), now_us: u64::MAX };
    let mut lines = Vec::new();
    told.write(&[HeaderFamily::Structured, HeaderFamily::XRateLimit], |name, value| {
        lines.push(format!("{}: {value}", name.lower));
    });
    assert_eq!(lines[1], r#"ratelimit: "p";r=999999999999999;t=999999999999999"#);
    assert_eq!(lines[4], "x-ratelimit-reset: 18446744073710");
}
