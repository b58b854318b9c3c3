//! What a document must not say, and what is said about it.

use tallyring_protocol::rules::{Action, Fraction, HeaderFamily, KeyPart, Mode, Priority};
use tallyring_protocol::{AlgorithmCode, PeriodCode};

use crate::{faults, rules};

/// A rule that is right, with more lines, which may say otherwise.
fn rule(more: &str) -> String {
    let mut lines = vec!["id = \"r\"", "algorithm = \"token_bucket\"", "limit = 10", "window = \"1m\""];
    let name = |line: &str| line.split(['=', '.']).next().map(|name| name.trim().to_owned());
    lines.retain(|line| !more.lines().any(|other| name(other) == name(line)));
    format!("[[rule]]\n{}\n{more}\n", lines.join("\n"))
}

/// The faults, by path and the beginning of the reason.
fn check(more: &str, expect: &[&str]) {
    let found = faults(&rule(more));
    let without_line = |fault: &String| fault.split_once(": ").expect("a line").1.to_owned();
    let found: Vec<String> = found.iter().map(without_line).collect();
    let same = found.len() == expect.len() && found.iter().zip(expect).all(|(fault, expect)| fault.starts_with(expect));
    assert!(same, "{more}\n{found:#?}");
}

#[test]
fn numbers_out_of_bounds_are_refused() {
    check("limit = 0", &["rule[0].limit: 0 is not in 1 ..= 1000000000000"]);
    check("limit = 1000000000001", &["rule[0].limit: 1000000000001 is not in"]);
    check(
        "algorithm = \"sliding_log\"\nlimit = 100001",
        &["rule[0].limit: 100001 is not in 1 ..= 100000 for a sliding_log"],
    );
    check(
        "window = \"401d\"",
        &["rule[0].window: \"401d\" is out of bounds: a window is longer than nothing and at most 400d"],
    );
    check("window = \"0s\"", &["rule[0].window: \"0s\" is out of bounds"]);
    check("window = 60", &["rule[0].window: 60 is not a text"]);
    check("burst = 0", &["rule[0].burst: 0 is not in 1 ..="]);
    check("keys_max = 0", &["rule[0].keys_max: 0 is too small"]);
    check("fallback_gateways = 0", &["rule[0].fallback_gateways: 0 is too small"]);
    check("fallback_gateways = 4294967296", &["rule[0].fallback_gateways: 4294967296 gateways are too many"]);
}

#[test]
fn what_an_algorithm_has_not_is_refused() {
    for algorithm in ["fixed_window", "sliding_log", "sliding_counter", "concurrency"] {
        let expect = format!("rule[0].burst: a {algorithm} has none: token_bucket and leaky_bucket do");
        check(&format!("algorithm = \"{algorithm}\"\nburst = 5"), &[&expect]);
    }
    check("calendar = \"day\"", &["rule[0].calendar: a rule has a window or a calendar, not both"]);
    check("window = \"1d\"\ncalendar = \"day\"\nalgorithm = \"fixed_window\"", &["rule[0].calendar: a rule has"]);
    check(
        "algorithm = \"concurrency\"\npriorities = { a = \"always\" }",
        &["rule[0].priorities: a concurrency rule has none"],
    );
    check("algorithm = \"concurrency\"\ngrant = 1", &["rule[0].grant: a concurrency rule has none"]);
    check("algorithm = \"bucket\"", &["rule[0].algorithm: \"bucket\" is none of token_bucket, gcra"]);
}

#[test]
fn a_calendar_is_a_fixed_windows() {
    let calendar = |name: &str, algorithm: &str| {
        format!("[[rule]]\nid = \"r\"\nlimit = 1\nalgorithm = \"{algorithm}\"\ncalendar = \"{name}\"\n")
    };
    let numbers = |text: &str| *rules(text).rules()[0].numbers().unwrap();
    for (name, period) in [("day", PeriodCode::Day), ("week", PeriodCode::Week), ("month", PeriodCode::Month)] {
        assert_eq!(numbers(&calendar(name, "fixed_window")).period, period);
    }
    assert_eq!(faults(&calendar("day", "gcra")), ["5: rule[0].calendar: only a fixed_window goes by the calendar"]);
    assert_eq!(
        faults(&calendar("year", "fixed_window")),
        ["5: rule[0].calendar: \"year\" is none of \"day\", \"week\", \"month\""]
    );
}

#[test]
fn a_rule_says_what_it_counts_by() {
    assert_eq!(
        faults("[[rule]]\nid = \"r\"\n"),
        [
            "1: rule[0].algorithm: missing: one of token_bucket, gcra, leaky_bucket, fixed_window, sliding_log, sliding_counter, concurrency",
            "1: rule[0].limit: missing: 1 ..= 1000000000000 units",
            "1: rule[0].window: missing: a whole number and its unit, like \"60s\"; or a calendar",
        ]
    );
}

#[test]
fn modes_and_durability_must_agree() {
    check(
        "mode = \"hard\"\ndurability = \"async\"",
        &["rule[0].durability: mode \"hard\" is \"deny\" with durability \"sync\""],
    );
    check("mode = \"open\"", &["rule[0].mode: \"open\" is none of"]);
    check("durability = \"fsync\"", &["rule[0].durability: \"fsync\" is neither"]);
    let modes = |more: &str| {
        let rules = rules(&rule(more));
        (rules.rules()[0].mode(), rules.rules()[0].sync())
    };
    assert_eq!(modes(""), (Mode::Protect, false));
    assert_eq!(modes("mode = \"hard\""), (Mode::Deny, true));
    assert_eq!(modes("mode = \"hard\"\ndurability = \"sync\""), (Mode::Deny, true));
    assert_eq!(modes("mode = \"deny\""), (Mode::Deny, false));
    assert_eq!(modes("mode = \"protect\"\ndurability = \"sync\""), (Mode::Protect, true));
    assert_eq!(modes("mode = \"shadow\""), (Mode::Shadow, false));
}

#[test]
fn names_are_names() {
    check("id = \"\"", &["rule[0].id: \"\": a rule's id is 1 ..= 128 visible ASCII characters"]);
    check("id = \"a b\"", &["rule[0].id: \"a b\""]);
    check("group = \"\"", &["rule[0].group: \"\""]);
    check(&format!("id = \"{}\"", "x".repeat(129)), &["rule[0].id: "]);
    check("key = [\"ip\", \"IP\"]", &["rule[0].key[1]: \"IP\" is none of client, tenant, tier, ip"]);
    check("key = [\"ip\", \"ip\"]", &["rule[0].key[1]: \"ip\" is in the key already"]);
    check("key = [\"header:x y\"]", &["rule[0].key[0]: \"x y\" is no name of a header"]);
    check("key = [\"attr:\"]", &["rule[0].key[0]: \"\": an attribute's name is"]);
    check("key = [\"route\"]", &["rule[0].key[0]: \"route\" is the rule's pattern, and it has none"]);
    check("missing = \"client\"", &["rule[0].missing: \"client\" cannot stand in"]);
    check("match.ip = \"10.0.0.0/40\"", &["rule[0].match.ip: \"10.0.0.0/40\" is not an address or a range"]);
    check("match.route = \"v1\"", &["rule[0].match.route: \"v1\" is no path: it begins with a slash"]);
    check("match.client = \"\"", &["rule[0].match.client: 0 bytes are not in"]);
    check("match.header = { X = \"1\", x = \"2\" }", &["rule[0].match.header.x: names of headers do not differ"]);
    check(&format!("key = {:?}", vec!["attr:a"; 9]), &["rule[0].key: 9 parts are too many"]);
}

#[test]
fn fractions_are_decimals() {
    check("soft = \"1.5\"", &["rule[0].soft: \"1.5\" is no decimal fraction"]);
    check("soft = 1e-1", &["rule[0].soft: \"1e-1\" is no decimal fraction"]);
    check("soft = nan", &["rule[0].soft: \"nan\" is no decimal fraction"]);
    check("priorities = { low = \"never\" }", &["rule[0].priorities.low: \"never\" is no decimal fraction"]);
    check("priorities = { low = 0.1234567 }", &["rule[0].priorities.low: \"0.1234567\" is no decimal"]);
}

#[test]
fn a_rule_that_counts_nothing_says_nothing_about_counting() {
    let block = |more: &str| faults(&format!("[[rule]]\nid = \"r\"\naction = \"block\"\n{more}\n"));
    for field in
        ["limit = 5", "window = \"1s\"", "key = [\"ip\"]", "algorithm = \"gcra\"", "soft = \"0.5\"", "grant = 5"]
    {
        let name = field.split(' ').next().unwrap();
        assert_eq!(
            block(field),
            [format!("4: rule[0].{name}: a rule that allows or blocks counts nothing: leave it out")]
        );
    }
    assert_eq!(block("mode = \"deny\"").len(), 1);
    check("action = \"deny\"", &["rule[0].action: \"deny\" is none of \"limit\", \"allow\", \"block\""]);
    let blocked = rules("[[rule]]\nid = \"r\"\naction = \"block\"\nmode = \"shadow\"\n");
    assert_eq!((blocked.rules()[0].action(), blocked.rules()[0].ceiling()), (Action::Block, 0));
}

#[test]
fn grants_fit_what_they_are_taken_from() {
    check("grant = 11", &["rule[0].grant: 11 is over what the rule ever has at once, 10"]);
    check("grant = 5\nburst = 4", &["rule[0].grant: 5 is over what the rule ever has at once, 4"]);
    check("grant = 5\nmode = \"hard\"", &["rule[0].grant: a gateway that takes units ahead is not exact"]);
    let granted = rules(&rule("grant = 5\nprefilter = true\nkeys_max = 1000"));
    let rule = &granted.rules()[0];
    assert_eq!((rule.grant(), rule.prefilter(), rule.keys_max()), (Some(5), true, Some(1_000)));
}

#[test]
fn defaults_are_checked_as_well() {
    let check = |line: &str, expect: &str| {
        assert_eq!(faults(&format!("[defaults]\n{line}\n")), [format!("2: defaults.{expect}")]);
    };
    check("headers = [\"ratelimit\", \"x\"]", "headers[1]: \"x\" is none of ratelimit, x-ratelimit, structured");
    check(
        "trusted_proxies = [\"10.0.0.0/8\", \"proxy\"]",
        "trusted_proxies[1]: \"proxy\" is not an address or a range like 10.0.0.0/8",
    );
    check("ipv6_prefix = 0", "ipv6_prefix: 0 is not in 1 ..= 128, bits of an address");
    check("ipv6_prefix = 129", "ipv6_prefix: 129 is not in 1 ..= 128, bits of an address");
    check("enforce = \"no\"", "enforce: a text is not true or false");
    check("fallback_gateways = 0", "fallback_gateways: 0 is too small: at least 1, or leave it out");
}

#[test]
fn the_documented_example_means_what_it_says() {
    let rules = rules(include_str!("example.toml"));
    let defaults = rules.defaults();
    assert_eq!(defaults.headers, HeaderFamily::ALL);
    assert_eq!((defaults.retry_jitter, defaults.enforce), ("0.2".parse::<Fraction>().unwrap(), true));
    let [per_ip, charges, health] = rules.rules() else { panic!("three rules") };
    let numbers = per_ip.numbers().unwrap();
    assert_eq!((numbers.algorithm, numbers.limit, numbers.burst), (AlgorithmCode::TokenBucket, 300, 100));
    assert_eq!((numbers.period, per_ip.ceiling()), (PeriodCode::Micros(60_000_000), 100));
    assert_eq!((per_ip.group(), per_ip.key_parts()), ("ip", &[KeyPart::Ip][..]));
    assert_eq!((charges.group(), charges.mode(), charges.sync()), ("client", Mode::Protect, false));
    assert_eq!(charges.priority(Some("critical")), Priority { keep: 0, force: true });
    assert_eq!(charges.priority(Some("sheddable")), Priority { keep: 50, force: false });
    assert_eq!(charges.priority(Some("unknown")), Priority::default());
    assert_eq!(charges.priority(None), Priority::default());
    assert!(charges.is_soft(20) && !charges.is_soft(21));
    assert_eq!((health.group(), health.action(), health.order()), ("default", Action::Allow, 2));
}

#[test]
fn a_document_may_have_ten_thousand_rules() {
    let rule = |at: usize| format!("{{\"id\":\"{at}\",\"match\":{{\"client\":\"{at}\"}},\"action\":\"block\"}}");
    let document = |count: usize| format!("{{\"rule\":[{}]}}", (0..count).map(rule).collect::<Vec<_>>().join(","));
    assert_eq!(rules(&document(10_000)).rules().len(), 10_000);
    assert_eq!(faults(&document(10_001)), ["1: rule: 10001 rules are too many: a document has at most 10000"]);
}
