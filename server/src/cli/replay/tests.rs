//! Whole replays, and what they show.

use std::io::Cursor;
use std::path::PathBuf;

use tallyring_protocol::rules::{RuleSet, parse};

use super::input::Input;
use super::report::{Report, html, json, table};

fn rules(text: &str) -> RuleSet {
    parse(text).unwrap_or_else(|faults| panic!("{faults:?}")).rules
}

fn replay(log: &str, rules_text: &str) -> Report {
    super::judge(vec![Input::new("log", Cursor::new(log.to_owned()), 0).unwrap()], &rules(rules_text))
}

/// One rule by address.
fn by_ip(numbers: &str) -> String {
    format!("[[rule]]\nid = \"per-ip\"\nkey = [\"ip\"]\n{numbers}\n")
}

/// A line a request: second, address, path.
fn log(requests: &[(u64, &str, &str)]) -> String {
    let line = |(second, ip, path): &(u64, &str, &str)| {
        format!(
            "{{\"t\":{},\"ip\":\"{ip}\",\"method\":\"GET\",\"path\":\"{path}\",\"client\":\"c\"}}\n",
            1_431_857_100 + second
        )
    };
    requests.iter().map(line).collect()
}

/// The log of a real server; it is not part of this repository.
fn real_log() -> Option<String> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/access.log");
    let path = std::env::var_os("TALLYRING_ACCESS_LOG").map_or(beside, PathBuf::from);
    std::fs::read_to_string(&path).inspect_err(|error| println!("skipped: {}: {error}", path.display())).ok()
}

/// `expect` is allowed, denied, keys denied and the two worst.
fn check_real(numbers: &str, expect: (u64, u64, u64, [(&str, u64); 2])) {
    let Some(log) = real_log() else { return };
    let value: serde_json::Value = serde_json::from_str(&json::text(&replay(&log, &by_ip(numbers)))).unwrap();
    assert_eq!((&value["lines"], &value["skipped"], &value["cut"]), (&10_000.into(), &0.into(), &1.into()));
    let rule = &value["rules"][0];
    assert_eq!(rule["keys"], 1_753);
    let (allowed, denied, keys_denied, worst) = expect;
    assert_eq!([&rule["allowed"], &rule["denied"], &rule["keys_denied"]], [allowed, denied, keys_denied], "{numbers}");
    for (at, (key, denied)) in worst.into_iter().enumerate() {
        assert_eq!(rule["top"][at], serde_json::json!([key, denied]), "{numbers}");
    }
}

#[test]
fn a_real_log_gives_the_numbers_that_were_counted_elsewhere() {
    const WORST: [&str; 2] = ["198.18.4.138", "198.18.0.97"];
    let worst = |first, second| [(WORST[0], first), (WORST[1], second)];
    check_real("algorithm = \"fixed_window\"\nlimit = 20\nwindow = \"1h\"", (9_069, 931, 50, worst(214, 179)));
    check_real("algorithm = \"sliding_log\"\nlimit = 10\nwindow = \"60s\"", (8_271, 1_729, 79, worst(284, 219)));
    check_real(
        "algorithm = \"token_bucket\"\nlimit = 30\nwindow = \"1h\"\nburst = 10",
        (8_271, 1_729, 79, worst(284, 219)),
    );
    check_real("algorithm = \"sliding_counter\"\nlimit = 20\nwindow = \"1h\"", (8_839, 1_161, 55, worst(274, 217)));
    check_real("algorithm = \"sliding_log\"\nlimit = 5\nwindow = \"10s\"", (9_243, 757, 61, worst(165, 152)));
}

const LAYERS: &str = r#"
[[rule]]
id = "per-ip"
group = "ip"
key = ["ip"]
algorithm = "fixed_window"
limit = 2
window = "1m"

[[rule]]
id = "per-client"
key = ["client"]
algorithm = "fixed_window"
limit = 3
window = "1m"

[[rule]]
id = "tighter"
mode = "shadow"
key = ["client"]
algorithm = "fixed_window"
limit = 1
window = "1m"

[[rule]]
id = "banned"
group = "ip"
match.ip = "192.0.2.0/24"
action = "block"

[[rule]]
id = "held"
group = "held"
algorithm = "concurrency"
limit = 1
window = "1m"
"#;

/// Per rule: allowed, denied.
fn outcomes(report: &Report) -> Vec<(String, u64, u64)> {
    let value: serde_json::Value = serde_json::from_str(&json::text(report)).unwrap();
    let rules = value["rules"].as_array().unwrap().iter();
    rules
        .map(|rule| {
            (
                rule["rule"].as_str().unwrap().to_owned(),
                rule["allowed"].as_u64().unwrap(),
                rule["denied"].as_u64().unwrap(),
            )
        })
        .collect()
}

#[test]
fn all_groups_charge_a_request_or_none_does() {
    let requests = [
        (0, "1.1.1.1", "/"),
        (1, "1.1.1.1", "/"),
        (2, "1.1.1.1", "/"), // too many of this address: the client does not pay
        (3, "2.2.2.2", "/"),
        (4, "2.2.2.2", "/"), // too many of this client: the address does not pay
        (5, "192.0.2.1", "/"),
    ];
    let report = replay(&log(&requests), LAYERS);
    let expect = [("per-ip", 4, 1), ("per-client", 4, 1), ("tighter", 1, 2), ("banned", 0, 1)];
    assert_eq!(outcomes(&report), expect.map(|(id, allowed, denied)| (id.to_owned(), allowed, denied)));
    assert!(table::text(&report).starts_with("6 requests, 3 admitted, 3 rejected (50.0 %)"));
    assert_eq!(report.remarks(), ["rule \"held\" was left out: a log does not say how long its slots would be held"]);
}

#[test]
fn the_order_of_lines_within_five_minutes_changes_nothing() {
    let requests: Vec<(u64, &str, &str)> = (0..200).map(|n| (n, ["1.1.1.1", "2.2.2.2"][n as usize % 2], "/")).collect();
    let shuffled: Vec<_> = requests.chunks(50).flat_map(|chunk| chunk.iter().rev().copied()).collect();
    let rules = by_ip("algorithm = \"sliding_log\"\nlimit = 3\nwindow = \"10s\"");
    assert_eq!(json::text(&replay(&log(&requests), &rules)), json::text(&replay(&log(&shuffled), &rules)));
}

#[test]
fn the_table_says_what_happened() {
    let requests = [(0, "1.1.1.1", "/"), (1, "1.1.1.1", "/"), (2, "1.1.1.1", "/"), (3, "2.2.2.2", "/")];
    let report = replay(&log(&requests), &by_ip("algorithm = \"fixed_window\"\nlimit = 2\nwindow = \"1m\""));
    assert_eq!(
        table::text(&report),
        "4 requests, 3 admitted, 1 rejected (25.0 %), 2015-05-17 10:05:00 to 2015-05-17 10:05:03 UTC\n\
         \n\
         rule    allowed  denied          keys  denied  peak\n\
         per-ip        3       1  25.0 %     2       1     3\n  most denied: 1.1.1.1: 1\n"
    );
    assert_eq!(
        table::text(&replay("", &by_ip("action = \"allow\"").replace("key = [\"ip\"]", ""))),
        "0 requests, 0 admitted, 0 rejected (-)\n"
    );
}

#[test]
fn the_json_has_the_documented_shape() {
    let report =
        replay(&log(&[(0, "1.1.1.1", "/")]), &by_ip("algorithm = \"fixed_window\"\nlimit = 2\nwindow = \"1m\""));
    assert_eq!(
        json::text(&report),
        "{\"admitted\":1,\"cut\":0,\"failures\":[],\"first\":\"2015-05-17 10:05:00\",\"full\":0,\"last\":\"2015-05-17 10:05:00\",\"late\":0,\"lines\":1,\
         \"not_judged\":[],\"nowhere\":0,\"rejected\":0,\"requests\":1,\"rules\":[{\"allowed\":1,\"denied\":0,\"group\":\"default\",\"keys\":1,\"keys_denied\":0,\
         \"peak\":{\"at\":\"2015-05-17 10:05:00\",\"key\":\"1.1.1.1\",\"requests\":1},\"rule\":\"per-ip\",\"shadow\":false,\
         \"top\":[]}],\"skipped\":0,\"untracked\":0}\n"
    );
}

/// Every tag that is opened is closed, in order.
fn check_nesting(page: &str) {
    const VOID: [&str; 2] = ["meta", "!doctype"];
    let mut open: Vec<&str> = Vec::new();
    for tag in page.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').expect("a tag ends");
        let name = tag.trim_start_matches('/').split([' ', '/', '\n']).next().unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "{tag}");
        } else if !VOID.contains(&name) && !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert_eq!(open, Vec::<&str>::new());
}

#[test]
fn the_page_is_whole_and_needs_nothing_from_elsewhere() {
    let evil = "<script>alert(1)</script>";
    let requests: Vec<(u64, &str, &str)> = (0..500).map(|n| (n * 60, "1.1.1.1", evil)).collect();
    let rules = format!(
        "{LAYERS}\n[[rule]]\nid = \"<b>\"\ngroup = \"path\"\nkey = [\"path\"]\nalgorithm = \"gcra\"\nlimit = 1\nwindow = \"1h\"\n"
    );
    let page = html::page(&replay(&log(&requests), &rules));
    check_nesting(&page);
    for outside in ["<script", "http://", "https://", "url(", "@import", "<link", "<img", "<b>\"", "src="] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("&lt;b&gt;") && page.contains("class=\"denied\"") && page.contains("2015-05-17 10:05"));
    assert!(page.contains("No request was for it."), "the blocked network");
}
