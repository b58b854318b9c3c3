//! What is doubtful is said, and does not keep rules from being used.

use tallyring_protocol::rules::parse;

fn check(rule: &str, expect: &[&str]) {
    let text = format!("[[rule]]\nid = \"r\"\n{rule}\n");
    let warnings = parse(&text).expect("a rule that is right").warnings;
    let texts: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    let same = texts.len() == expect.len() && texts.iter().zip(expect).all(|(text, expect)| text.contains(expect));
    assert!(same, "{rule}: {texts:?}");
}

#[test]
fn a_budget_that_refills_bit_by_bit_is_doubtful() {
    let rule =
        |algorithm: &str, window: &str| format!("key = [\"client\"]\nalgorithm = \"{algorithm}\"\nlimit = 5\n{window}");
    check(&rule("token_bucket", "window = \"1d\""), &["6: rule[0].window: token_bucket: a budget of a day"]);
    check(&rule("leaky_bucket", "window = \"48h\""), &["rule[0].window: leaky_bucket"]);
    check(&rule("token_bucket", "window = \"23h\""), &[]);
    check(&rule("fixed_window", "window = \"30d\""), &[]);
    check(&rule("fixed_window", "calendar = \"month\""), &[]);
}

#[test]
fn a_key_that_whoever_calls_can_choose_is_doubtful() {
    let rule =
        |key: &str| format!("key = {key}\nalgorithm = \"gcra\"\nlimit = 5\nwindow = \"1s\"\nmatch.route = \"/x\"");
    check(&rule("[\"header:x-api-key\"]"), &["3: rule[0].key: whoever calls chooses"]);
    check(&rule("[\"method\", \"route\"]"), &["rule[0].key: whoever calls chooses"]);
    check(&rule("[\"header:x-api-key\", \"ip\"]"), &[]);
    check(&rule("[\"client\", \"method\"]"), &[]);
    check(&rule("[\"attr:plan\"]"), &[]);
    check(&rule("[\"route\"]"), &[]);
    check(&rule("[]"), &[]);
}

#[test]
fn a_path_in_a_key_is_doubtful() {
    check("key = [\"client\", \"path\"]\nalgorithm = \"gcra\"\nlimit = 5\nwindow = \"1s\"", &["rule[0].key: \"path\""]);
}

#[test]
fn one_counter_for_everybody_is_doubtful_unless_it_is_said() {
    let numbers = "algorithm = \"gcra\"\nlimit = 5\nwindow = \"1s\"";
    let shared = "rule[0].key: missing: all requests that it matches share one counter";
    check(numbers, &[shared]);
    check(&format!("{numbers}\nmatch.tier = \"free\""), &[shared]);
    check(&format!("{numbers}\nkey = []"), &[]);
    check(&format!("{numbers}\nmatch.client = \"acme\""), &[]);
    check(&format!("{numbers}\nmatch.tenant = \"acme\""), &[]);
    check("action = \"block\"", &[]);
}

#[test]
fn a_proxy_that_is_everybody_is_doubtful() {
    let check = |proxies: &str, expect: &[&str]| {
        let text = format!("[defaults]\ntrusted_proxies = {proxies}\n[[rule]]\nid = \"r\"\naction = \"allow\"\n");
        let warnings = parse(&text).expect("right").warnings;
        let texts: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        let same =
            texts.len() == expect.len() && texts.iter().zip(expect).all(|(text, expect)| text.starts_with(expect));
        assert!(same, "{proxies}: {texts:?}");
    };
    check("[\"10.0.0.0/8\", \"0.0.0.0/0\"]", &["2: defaults.trusted_proxies[1]: 0.0.0.0/0: everybody is trusted"]);
    check("[\"::/0\"]", &["2: defaults.trusted_proxies[0]: ::/0: everybody is trusted"]);
    check("[\"::ffff:0.0.0.0/96\"]", &["2: defaults.trusted_proxies[0]: 0.0.0.0/0: everybody is trusted"]);
    check("[\"10.0.0.0/8\", \"fd00::/8\"]", &[]);
}

#[test]
fn a_document_without_rules_is_doubtful() {
    for text in ["", "rule = []\n", "{\"rule\":[]}"] {
        let warnings = parse(text).expect("right").warnings;
        let texts: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["1: rule: there is none: nothing is limited"], "{text}");
    }
}
