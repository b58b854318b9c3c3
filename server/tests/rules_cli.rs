//! `tallyring rules`, `reset` and `check` as people and scripts meet them: what they print and how they end.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test of a process may wait and panic")]

mod common;

use std::path::PathBuf;

use common::{Serve, command, hash_of};

const RULES: &str = r#"# for everybody
[[rule]]
id = "per-ip"
group = "ip"
key = ["ip"]
algorithm = "token_bucket"
limit = 300
window = "1h"
burst = 3

[[rule]]
id = "free-charges"
match = { tier = "free", route = "POST /v1/charges" }
key = ["client"]
algorithm = "fixed_window"
limit = 2
calendar = "month"
"#;

/// A node, and a folder to work in.
struct Shell {
    node: Serve,
    dir: tempfile::TempDir,
}

/// How a command ended.
#[derive(Debug, PartialEq)]
struct Ended {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Shell {
    fn start(args: &[&str]) -> Shell {
        Shell { node: Serve::start(args), dir: tempfile::tempdir().unwrap() }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn run(&self, args: &[&str]) -> Ended {
        self.run_as("", args)
    }

    fn run_as(&self, token: &str, args: &[&str]) -> Ended {
        let output = command()
            .args(args)
            .current_dir(self.dir.path())
            .env("TALLYRING_HTTP_ADDR", self.node.http.to_string())
            .env("TALLYRING_NATIVE_ADDR", self.node.native.to_string())
            .env("TALLYRING_AUTHOR", "alice")
            .env("TALLYRING_TOKEN", token)
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ended { code: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Runs a command that must end with `code` and print this on stdout, or what this begins with on stderr.
    fn check(&self, args: &[&str], code: i32, expect: &str) {
        let ended = self.run(args);
        let said = if [0, 3, 5].contains(&code) { ended.stdout == *expect } else { ended.stderr.starts_with(expect) };
        assert!(said && ended.code == code, "{args:?}\nexpected {code}: {expect}\n{ended:#?}");
    }
}

/// The column of times, which differ: everything else of a table is compared.
fn without_times(table: &str) -> String {
    table.lines().map(|line| format!("{}…{}\n", &line[..11], &line[31..])).collect()
}

#[test]
fn check_says_what_is_wrong_as_compilers_do() {
    let shell = Shell::start(&["--shards", "1"]);
    shell.write("good.toml", RULES);
    shell.check(&["rules", "check", "good.toml"], 0, "good.toml: 2 rules make sense\n");
    shell.write("bad.toml", &RULES.replace("limit = 300", "limit = 0").replace("tier", "teir"));
    let bad = shell.run(&["rules", "check", "bad.toml"]);
    assert_eq!((bad.code, &*bad.stdout), (1, ""));
    let lines: Vec<&str> = bad.stderr.lines().collect();
    assert!(lines[0].starts_with("bad.toml:7: rule[0].limit: 0 is not in 1 ..= "), "{}", bad.stderr);
    assert!(lines[1].starts_with("bad.toml:13: rule[1].match.teir: unknown field"), "{}", bad.stderr);
    std::fs::write(shell.dir.path().join("latin.toml"), b"# a\n# caf\xE9\n").unwrap();
    shell.check(&["rules", "check", "latin.toml"], 1, "latin.toml:2: document: byte 0xE9 in column 6 is not UTF-8\n");
    shell.write("long.toml", &"#".repeat((4 << 20) + 1));
    shell.check(&["rules", "check", "long.toml"], 1, "long.toml:1: document: a document has at most 4194304 bytes");
    shell.check(&["rules", "check", "."], 1, "tallyring: .: is a folder, not a file\n");
    shell.check(&["rules", "check", "nowhere.toml"], 1, "tallyring: nowhere.toml: No such file or directory");
    shell.check(&["rules", "check"], 2, "error: ");
}

#[test]
fn a_document_that_says_nothing_is_not_published_by_accident() {
    let shell = Shell::start(&["--shards", "1"]);
    shell.write("rules.toml", RULES);
    shell.check(&["rules", "push", "rules.toml"], 0, "version 1 is live\n");
    for nothing in ["", "\n \n", "# rules to come\n", "{}"] {
        shell.write("empty.toml", nothing);
        for command in ["check", "push"] {
            shell.check(
                &["rules", command, "empty.toml"],
                1,
                "empty.toml:1: document: it says nothing: a document has",
            );
        }
        let pushed = shell.node.push(nothing);
        assert_eq!((pushed.code, &pushed.json()["errors"][0]["path"]), (400, &"document".into()), "{}", pushed.body);
        let tier = shell.node.ask("PUT", "/v1/limits/free", &[("If-Match", "*")], nothing);
        assert_eq!(tier.code, 400, "{}", tier.body);
    }
    shell.check(&["rules", "pull"], 0, RULES);
    shell.write("empty.toml", "[defaults]\n");
    shell.check(&["rules", "push", "empty.toml"], 0, "version 2 is live\n");
}

#[test]
fn push_pull_diff_history_and_rollback_tell_one_story() {
    let shell = Shell::start(&["--shards", "1"]);
    shell.write("rules.toml", RULES);
    shell.check(&["rules", "history"], 0, "nobody has published any rules\n");
    shell.check(&["rules", "push", "rules.toml", "--comment", "the first ones"], 0, "version 1 is live\n");
    shell.check(&["rules", "push", "rules.toml"], 0, "version 1 is live already: nothing has changed\n");
    shell.check(&["rules", "diff", "rules.toml"], 0, "");
    shell.check(&["rules", "pull"], 0, RULES);

    shell.write("rules.toml", &RULES.replace("burst = 3", "burst = 5"));
    let diff = "\
--- live, version 1
+++ rules.toml
@@ -6,7 +6,7 @@
 algorithm = \"token_bucket\"
 limit = 300
 window = \"1h\"
-burst = 3
+burst = 5
 
 [[rule]]
 id = \"free-charges\"
";
    shell.check(&["rules", "diff", "rules.toml"], 0, diff);
    assert_eq!(shell.run(&["rules", "diff", "rules.toml", "--exit-code"]).code, 1);
    shell.check(
        &["rules", "push", "rules.toml", "--over", "7"],
        1,
        "tallyring: over: version 1 is live, and there is no version 7\n",
    );
    shell.check(&["rules", "push", "rules.toml", "--over", "1"], 0, "version 2 is live\n");
    shell.check(&["rules", "rollback", "9"], 1, "tallyring: there is no version 9; the newest is 2\n");
    let said = "tallyring: version 2 is live, not 1: somebody has pushed meanwhile";
    shell.check(&["rules", "push", "rules.toml", "--over", "1"], 1, said);
    shell.check(&["rules", "rollback", "1", "--comment", "too many"], 0, "version 3 is live\n");
    shell.check(&["rules", "pull"], 0, RULES);
    let history = "  version  …  by                 comment
*       3  …  alice (127.0.0.1)  back to version 1: too many
        2  …  alice (127.0.0.1)
        1  …  alice (127.0.0.1)  the first ones
";
    let table = shell.run(&["rules", "history"]).stdout;
    assert_eq!(without_times(&table), history, "{table}");
}

#[test]
fn files_of_either_language_can_be_compared_with_what_is_live() {
    let shell = Shell::start(&["--shards", "1"]);
    shell.write("rules.toml", RULES);
    shell.run(&["rules", "push", "rules.toml"]);
    let json = shell.run(&["rules", "pull", "--json"]).stdout;
    shell.write("rules.json", json.trim_end());
    shell.check(&["rules", "diff", "rules.json"], 0, "");
    shell.check(&["rules", "push", "rules.json"], 0, "version 2 is live\n");
    let diff = shell.run(&["rules", "diff", "rules.toml", "--exit-code"]);
    assert!(diff.code == 1 && diff.stdout.contains("+# for everybody"), "the comment is all that was lost: {diff:#?}");
}

#[test]
fn one_decision_from_the_shell_ends_as_scripts_need_it() {
    let shell = Shell::start(&["--shards", "2"]);
    let check = |args: &[&str], code, expect: &str| shell.check(&[&["check"], args].concat(), code, expect);
    let month = ["acct", "--algorithm", "fixed_window", "--limit", "1", "--calendar", "month", "--json"];
    let peek = shell.run(&[&["check"], &month[..], &["--cost", "0"]].concat());
    assert!(peek.code == 0 && peek.stdout.contains("\"remaining\":1"), "{peek:#?}");
    assert_eq!(shell.run(&[&["check"], &month[..]].concat()).code, 0);
    assert_eq!(shell.run(&[&["check"], &month[..]].concat()).code, 3);
    shell.check(&["reset", "acct"], 0, "the key has its whole budget again\n");
    shell.check(&["reset", "acct"], 5, "nothing was counted under this key\n");
    assert_eq!(shell.run(&[&["check"], &month[..]].concat()).code, 0);

    check(&["k", "--limit", "2", "--window", "1h", "--cost", "0"], 0, "allowed: 2 of 2 left\n");
    let never = "denied: 2 of 2 left, and no wait helps: it asks for more than there ever is\n";
    check(&["k", "--limit", "2", "--window", "1h", "--cost", "3"], 3, never);
    check(&["k", "--limit", "0", "--window", "1h"], 2, "tallyring: limit: 0 is not in 1 ..= ");
    check(&["k", "--limit", "1", "--window", "1x"], 2, "tallyring: window: \"1x\" is no window");
    check(&["k", "--limit", "1"], 2, "tallyring: window: missing");
    check(&["k"], 2, "error: the following required arguments were not provided:\n  --limit <N>");
    check(
        &["k", "--limit", "1", "--window", "1h", "--tier", "x"],
        2,
        "error: the argument '[KEY]' cannot be used with",
    );
    shell.check(&["reset", &"k".repeat(513)], 2, "tallyring: key: 513 bytes is not in 1 ..= 512");
    shell.check(&["reset", ""], 2, "tallyring: key: is empty\n");
    check(&["", "--limit", "1", "--window", "1h"], 2, "tallyring: key: 0 bytes is not in 1 ..= 512\n");
}

#[test]
fn one_decision_by_the_rules_names_the_rule_that_speaks() {
    let shell = Shell::start(&["--shards", "2"]);
    let request = ["check", "--client", "c", "--tier", "free", "--ip", "203.0.113.9", "--method", "POST"];
    let request = [&request[..], &["--path", "/v1/charges"]].concat();
    shell.check(&request, 0, "allowed: no rule applies, by version 0 of the rules\n");
    shell.write("rules.toml", RULES);
    shell.run(&["rules", "push", "rules.toml"]);
    for _ in 0..2 {
        let allowed = shell.run(&request);
        assert!(
            allowed.code == 0 && allowed.stdout.starts_with("allowed by free-charges, by version 1"),
            "{allowed:#?}"
        );
    }
    let denied = shell.run(&[&request[..], &["--json"]].concat());
    assert_eq!(denied.code, 3);
    let said: serde_json::Value = serde_json::from_str(&denied.stdout).unwrap();
    assert_eq!((&said["allowed"], &said["rule"]), (&false.into(), &"free-charges".into()));
    assert_eq!((&said["source"], &said["level"], &said["version"]), (&"store".into(), &"denied".into(), &1.into()));
    let rules: Vec<&str> = said["checks"].as_array().unwrap().iter().map(|c| c["rule"].as_str().unwrap()).collect();
    assert_eq!(rules, ["per-ip", "free-charges"]);
    assert_eq!(said["checks"][0]["remaining"], 1, "a denied request has charged nobody");
    let other = ["check", "--client", "c", "--tier", "pro", "--path", "/v1/charges"];
    shell.check(&other, 0, "allowed: no rule applies, by version 1 of the rules\n");
}

#[test]
fn a_node_that_is_not_there_is_told_from_one_that_refuses() {
    let shell = Shell::start(&["--shards", "1"]);
    shell.write("rules.toml", RULES);
    let nobody = "127.0.0.1:9";
    let said = "tallyring: 127.0.0.1:9: nobody listens there: start the node, or say where it is with --";
    let (http, native) = (format!("{said}http-addr\n"), format!("{said}native-addr\n"));
    shell.check(&["rules", "pull", "--http-addr", nobody], 4, &http);
    shell.check(&["rules", "push", "rules.toml", "--http-addr", nobody], 4, &http);
    shell.check(&["reset", "k", "--http-addr", nobody], 4, &http);
    shell.check(&["reset", "--client", "a", "--native-addr", nobody], 4, &native);
    shell.check(&["check", "k", "--limit", "1", "--window", "1h", "--native-addr", nobody], 4, &native);
}

#[test]
fn whoever_answers_and_is_no_node_is_told_from_one() {
    let shell = Shell::start(&["--shards", "1"]);
    let elsewhere = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = elsewhere.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in elsewhere.incoming().flatten() {
            use std::io::{Read, Write};
            let (mut stream, mut question) = (stream, [0; 1_024]);
            let _ = stream.read(&mut question);
            let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>");
        }
    });
    let said = format!("tallyring: {address}: what answers there is no tallyring (");
    shell.check(&["rules", "pull", "--http-addr", &address], 4, &format!("{said}it says 404 Not Found): say where"));
    shell.check(&["reset", "k", "--http-addr", &address], 4, &said);
    shell.check(&["check", "k", "--limit", "1", "--window", "1h", "--native-addr", &address], 4, &said);
}

#[test]
fn a_token_comes_from_a_file_or_the_environment_and_is_never_shown() {
    let dir = tempfile::tempdir().unwrap();
    let tokens = dir.path().join("tokens.toml");
    std::fs::write(&tokens, format!("client = [\"{}\"]\nadmin = [\"{}\"]\n", hash_of("g4teway"), hash_of("0perator")))
        .unwrap();
    let shell = Shell::start(&["--shards", "1", "--token-file", tokens.to_str().unwrap()]);
    shell.write("rules.toml", RULES);
    let push = ["rules", "push", "rules.toml"];
    let said = |token| {
        let ended = shell.run_as(token, &push);
        assert!(token.is_empty() || !format!("{ended:?}").contains(token), "{ended:?}");
        (ended.code, ended.stderr + &ended.stdout)
    };
    let [http, native] = [shell.node.http, shell.node.native].map(|address| format!("tallyring: {address}: "));
    let wants = "it asks for a token: give one with --token-from FILE or in the variable TALLYRING_TOKEN\n";
    let refuses =
        "the token is none of this node's: give another with --token-from FILE or in the variable TALLYRING_TOKEN\n";
    assert_eq!(said(""), (1, format!("{http}{wants}")));
    assert_eq!(said("gu3ss"), (1, format!("{http}{refuses}")));
    assert_eq!(said("g4teway"), (1, "tallyring: this token may read; to change anything takes an admin's\n".into()));
    assert_eq!(said("0perator"), (0, "version 1 is live\n".into()));
    shell.write("token", "0perator\n");
    assert_eq!(shell.run(&["reset", "k", "--token-from", "token"]).code, 5);
    shell.write("token", "two words\n");
    let bad = shell.run(&["reset", "k", "--token-from", "token"]);
    assert_eq!(bad.stderr, "tallyring: token-from: token: a token is 1 ..= 512 visible ASCII characters\n");
    shell.write("token", "0perator\r\n");
    assert_eq!(shell.run(&["reset", "k", "--token-from", "token"]).code, 5, "as an editor on Windows leaves it");
    for (text, expect) in [
        ("", "token-from: token: is empty: a token is 1 ..= 512 visible"),
        ("\u{feff}0perator", "token-from: token: a token is 1 ..= 512 visible"),
        (&*"x".repeat(5_000), "token-from: token: has more than 4096 bytes"),
    ] {
        shell.write("token", text);
        let bad = shell.run(&["reset", "k", "--token-from", "token"]);
        assert!(bad.code == 1 && bad.stderr.starts_with(&format!("tallyring: {expect}")), "{bad:?}");
    }
    let check = ["check", "k", "--limit", "1", "--window", "1h"];
    let said = |token, args: &[&str]| {
        let ended = shell.run_as(token, args);
        (ended.code, ended.stderr)
    };
    assert_eq!(shell.run_as("g4teway", &check).code, 0);
    assert_eq!(said("", &check), (1, format!("{native}{wants}")));
    assert_eq!(said("gu3ss", &check), (1, format!("{native}{refuses}")));
    let no_admin = (1, "tallyring: a reset needs an admin's token\n".to_owned());
    assert_eq!(said("0perator", &push).0, 0);
    assert_eq!(said("g4teway", &["reset", "--ip", "203.0.113.9"]), no_admin);
    assert_eq!(said("g4teway", &["reset", "k"]).0, 1);
}

/// Rules of every kind of counter that somebody may have.
const LAYERS: &str = r#"
[[rule]]
id = "charges"
match = { tier = "free", route = "POST /v1/charges" }
key = ["client"]
algorithm = "fixed_window"
limit = 2
calendar = "month"

[[rule]]
id = "per-path"
group = "path"
match = { route = "/v1/*" }
key = ["client", "method"]
algorithm = "token_bucket"
limit = 300
window = "1h"

[[rule]]
id = "of-all"
group = "all"
key = []
algorithm = "fixed_window"
limit = 1000
calendar = "month"

[[rule]]
id = "per-ip"
group = "ip"
key = ["ip"]
algorithm = "fixed_window"
limit = 10
calendar = "month"
"#;

#[test]
fn a_customer_has_every_budget_back_whatever_it_has_called() {
    let shell = Shell::start(&["--shards", "2"]);
    shell.write("rules.toml", LAYERS);
    shell.check(&["rules", "push", "rules.toml"], 0, "version 1 is live\n");
    let charge = ["check", "--client", "acme", "--tier", "free", "--ip", "203.0.113.9", "--method", "POST"];
    let charge = [&charge[..], &["--path", "/v1/charges"]].concat();
    assert_eq!([0, 0, 3], [(); 3].map(|()| shell.run(&charge).code));

    let reset = shell.run(&["reset", "--client", "acme"]);
    assert_eq!(reset.stdout, "charges acme: 0 of 2 left, now all again\n");
    assert_eq!(reset.stderr, "tallyring: not reset: rule \"per-path\" counts each method apart: say --method METHOD\n");
    assert_eq!(reset.code, 0);
    let reset = ["reset", "--client", "acme", "--method", "POST"];
    shell.check(&reset, 0, "per-path client=acme method=POST: 298 of 300 left, now all again\n");
    shell.check(&reset, 5, "nothing was counted under charges, per-path, by version 1 of the rules\n");
    assert_eq!(shell.run(&charge).code, 0, "it has its budget again");

    // What many share is reset for who asks for just that.
    shell.check(&["reset", "--rule", "of-all"], 0, "of-all (all): 997 of 1000 left, now all again\n");
    shell.check(&["reset", "--ip", "203.0.113.9"], 0, "per-ip 203.0.113.9: 7 of 10 left, now all again\n");
    shell.check(&["reset", "--client", "acme", "--rule", "charges"], 0, "charges acme: 1 of 2 left, now all again\n");
}

#[test]
fn a_reset_that_makes_no_sense_says_what_is_missing() {
    let shell = Shell::start(&["--shards", "1"]);
    shell.check(&["reset"], 2, "tallyring: reset: whose? a raw KEY, or --client, --tenant, --ip,");
    shell.check(&["reset", "--tier", "free"], 2, "tallyring: reset: whose?");
    shell.check(&["reset", "k", "--client", "acme"], 2, "error: the argument '[KEY]' cannot be used with");
    let nothing = "nothing was counted of this: no rule has a counter for it, by version 0 of the rules\n";
    shell.check(&["reset", "--client", "acme"], 5, nothing);
    shell.write("rules.toml", LAYERS);
    shell.run(&["rules", "push", "rules.toml"]);
    let nobody = "tallyring: rule: \"nobody\" is the id of no rule that is live\n";
    shell.check(&["reset", "--client", "acme", "--rule", "nobody"], 2, nobody);
    let lacks = "tallyring: rule \"per-ip\" counts each ip apart: say --ip IP\n";
    shell.check(&["reset", "--client", "acme", "--rule", "per-ip"], 2, lacks);
}

#[test]
fn what_steers_a_terminal_is_shown_and_not_obeyed() {
    let shell = Shell::start(&["--shards", "1"]);
    shell.write("rules.toml", RULES);
    let push = ["rules", "push", "rules.toml", "--comment", "a\u{202e}b\u{1b}[2Jc"];
    shell.check(&push, 0, "version 1 is live\n");
    let table = shell.run(&["rules", "history"]).stdout;
    assert!(table.trim_end().ends_with("a b [2Jc"), "{table:?}");
    shell.write("odd.toml", "\u{202e} = 1\n# \u{2066}x\n");
    let odd = shell.run(&["rules", "check", "odd.toml"]);
    assert!(odd.code == 1 && !odd.stderr.contains('\u{202e}'), "{odd:?}");
    shell.write("rules.toml", &RULES.replace("# for everybody", "# for \u{2066}everybody"));
    let diff = shell.run(&["rules", "diff", "rules.toml"]).stdout;
    assert!(diff.contains("+# for \\u{2066}everybody\n"), "{diff}");
}

#[test]
fn a_misspelt_variable_is_warned_of() {
    let shell = Shell::start(&["--shards", "1"]);
    shell.write("rules.toml", RULES);
    let output = command()
        .args(["rules", "check", "rules.toml"])
        .current_dir(shell.dir.path())
        .env("TALLYRING_HTTP_ADR", "127.0.0.1:1")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let expect = "tallyring: warning: the variable TALLYRING_HTTP_ADR is not read: TALLYRING_HTTP_ADDR may be meant\n";
    assert_eq!((output.status.code(), &*said), (Some(0), expect));
}

#[test]
fn what_is_doubtful_is_said_when_a_file_is_checked_and_when_it_is_pushed() {
    let shell = Shell::start(&["--shards", "1"]);
    let text = "[defaults]\ntrusted_proxies = [\"::/0\"]\n[[rule]]\nid = \"all\"\nalgorithm = \"gcra\"\nlimit = 1\nwindow = \"1s\"\n";
    shell.write("rules.toml", text);
    for command in ["check", "push"] {
        let said = shell.run(&["rules", command, "rules.toml"]);
        let lines: Vec<&str> = said.stderr.lines().collect();
        assert_eq!(said.code, 0, "{said:?}");
        assert!(
            lines[0].starts_with("rules.toml:2: defaults.trusted_proxies[0]: ::/0: everybody is trusted"),
            "{said:?}"
        );
        assert!(lines[1].starts_with("rules.toml:3: rule[0].key: missing: all requests"), "{said:?}");
        assert!(lines.len() == 2 && lines.iter().all(|line| line.ends_with(" (warning)")), "{said:?}");
    }
}
