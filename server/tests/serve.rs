//! `tallyring serve` as an operator meets it: a process with flags, signals, a log and an exit code.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test of a process may wait and panic")]

mod common;

use std::process::Stdio;

use common::{ANY_PORTS, Got, Native, Serve, command, hash_of};
use rustix::process::Signal;
use tallyring_protocol::{Key, Request, Role, shard_of};

/// Waits until a scrape has that line.
#[track_caller]
fn await_metric(node: &Serve, line: &str) {
    let give_up = std::time::Instant::now() + common::PATIENCE;
    while !node.get("/metrics").1.contains(line) {
        assert!(std::time::Instant::now() < give_up, "{line}: {}", node.get("/metrics").1);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Runs `serve` with arguments that it must refuse, and returns its one line.
fn refusal(args: &[&str]) -> String {
    let output = command().arg("serve").args(args).stderr(Stdio::piped()).output().expect("the binary runs");
    assert!(!output.status.success(), "{args:?} was accepted");
    String::from_utf8(output.stderr).expect("errors are text")
}

#[test]
fn a_taken_port_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let error = refusal(&["--native-addr", &address, "--http-addr", "127.0.0.1:0"]);
    assert_eq!(error, format!("tallyring: native-addr: {address}: Address already in use (os error 98)\n"));
}

#[test]
fn a_bad_flag_says_what_is_allowed() {
    assert!(refusal(&["--shards", "0"]).contains("invalid value '0' for '--shards <N>': 0 is not in 1 ..= 1024"));
    assert!(
        refusal(&["--native-addr", "0.0.0.0:0"]).contains("native-addr: 0.0.0.0:0 can be reached from other machines")
    );
    assert!(refusal(&["--config", "/nowhere.toml"]).contains("/nowhere.toml: No such file"));
}

#[test]
fn a_bad_field_of_the_file_is_named_with_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("node.toml");
    std::fs::write(&path, "# a node\nshards = 2000\n").unwrap();
    let path = path.to_str().unwrap();
    let expect = format!("tallyring: {path}:2:10: shards: 2000 is not in 1 ..= 1024\n");
    assert_eq!(refusal(&["--config", path]), expect);
}

#[test]
fn sigterm_drains_and_exits_zero() {
    let mut node = Serve::start(&["--shards", "2"]);
    let mut native = Native::connect(node.native, 0, "");
    native.welcome();
    native.define_bucket(10, 60_000_000, 10);
    native.reply();
    node.signal(Signal::TERM);
    assert_eq!(native.reply(), (0, Got::Goodbye("Draining".into())));
    // What was on its way when the goodbye came is still answered.
    native.check("k", 1);
    let got = native.reply().1;
    assert!(matches!(got, Got::Decision { allowed: true, remaining: 9, .. }), "{got:?}");
    assert_eq!(native.reply().1, Got::Closed);
    assert_eq!(node.wait().code(), Some(0));
    let log = node.log();
    assert!(log.contains("drained"), "{log}");
}

#[test]
fn health_and_metrics_are_served() {
    let node = Serve::start(&["--shards", "2"]);
    assert_eq!(node.get("/livez"), (200, "alive\n".into()));
    assert_eq!(node.get("/readyz"), (200, "ready\n".into()));
    let mut native = Native::connect(node.native, 0, "");
    native.welcome();
    native.define_bucket(1, 60_000_000, 1);
    for _ in 0..3 {
        native.check("k", 1);
    }
    for _ in 0..4 {
        native.reply();
    }
    let (code, metrics) = node.get("/metrics");
    assert_eq!(code, 200);
    for line in [
        "tallyring_decisions_total{rule=\"\",outcome=\"allowed\"} 1",
        "tallyring_decisions_total{rule=\"\",outcome=\"denied\"} 2",
        "tallyring_shard_up{shard=\"1\"} 1",
        "tallyring_connections{door=\"native\"} 1",
    ] {
        assert!(metrics.contains(&format!("\n{line}\n")), "{line} is not in\n{metrics}");
    }
    assert_eq!(node.get("/nowhere").0, 404);
}

#[test]
fn tokens_decide_who_may_do_what() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tokens.toml");
    std::fs::write(&path, format!("client = [\"{}\"]\nadmin = [\"{}\"]\n", hash_of("gateway"), hash_of("operator")))
        .unwrap();
    let node = Serve::start(&["--token-file", path.to_str().unwrap()]);

    let mut stranger = Native::connect(node.native, 0, "guess");
    assert_eq!(stranger.reply().1, Got::Goodbye("Unauthorized".into()));
    assert_eq!(stranger.reply().1, Got::Closed);

    let mut gateway = Native::connect(node.native, 0, "gateway");
    assert_eq!(gateway.welcome().0.role, Role::Client);
    let key = Key::raw(b"k").unwrap();
    gateway.send(&Request::Reset(key.as_ref()));
    let Got::Invalid { field, reason } = gateway.reply().1 else { panic!("a client may not reset") };
    assert_eq!((field.as_str(), reason.as_str()), ("kind", "a reset needs an admin's token"));

    let mut operator = Native::connect(node.native, 0, "operator");
    assert_eq!(operator.welcome().0.role, Role::Admin);
    operator.send(&Request::Reset(key.as_ref()));
    assert_eq!(operator.reply().1, Got::Other("ResetDone { found: false }".into()));
}

#[test]
fn a_key_is_decided_by_its_shard_whichever_connection_asks() {
    let node = Serve::start(&["--shards", "3"]);
    let mut connections: Vec<Native> = (0..3).map(|shard| Native::connect(node.native, shard, "")).collect();
    let mut topology = None;
    for (shard, native) in connections.iter_mut().enumerate() {
        let (welcome, pushed) = native.welcome();
        assert_eq!((usize::from(welcome.shard), welcome.shards), (shard, 3));
        native.define_bucket(5, 3_600_000_000, 5);
        assert_eq!(native.reply().1, Got::Other("Defined".into()));
        topology = Some(pushed);
    }
    let seed = topology.unwrap().placement_seed;
    let owner = |key: &str| shard_of(seed.place(Key::raw(key.as_bytes()).unwrap().as_ref()), 3);
    for n in 0..30 {
        let key = format!("key-{n}");
        let mut allowed = 0;
        for round in 0..3 {
            for native in &mut connections {
                let id = native.check(&key, 1);
                let (answered, Got::Decision { allowed: yes, .. }) = native.reply() else { panic!("no decision") };
                assert_eq!(answered, id);
                allowed += u32::from(yes);
            }
            assert_eq!(allowed, (3 * (round + 1)).min(5), "{key} of shard {}", owner(&key));
        }
    }
    let owners: std::collections::BTreeSet<u16> = (0..30).map(|n| owner(&format!("key-{n}"))).collect();
    assert_eq!(owners.len(), 3, "the keys above belong to every shard");
}

#[test]
fn pipelined_requests_of_two_shards_are_each_answered_once() {
    let node = Serve::start(&["--shards", "2"]);
    let mut native = Native::connect(node.native, 0, "");
    native.welcome();
    native.define_bucket(1_000, 3_600_000_000, 1_000);
    native.reply();
    let mut open: std::collections::BTreeSet<u32> = (0..900).map(|n| native.check(&format!("k{n}"), 1)).collect();
    while !open.is_empty() {
        let (id, got) = native.reply();
        assert!(matches!(got, Got::Decision { allowed: true, remaining: 999, .. }), "{got:?}");
        assert!(open.remove(&id), "{id} was answered twice");
    }
}

#[test]
fn a_token_that_is_taken_out_ends_what_it_had_opened_and_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tokens.toml");
    let write = |client: &str, admin: &str| {
        std::fs::write(&path, format!("client = [{client}]\nadmin = [\"{}\"]\n", hash_of(admin))).unwrap();
    };
    write(&format!("\"{}\", \"{}\"", hash_of("old"), hash_of("new")), "operator");
    let mut node = Serve::start(&["--shards", "2", "--token-file", path.to_str().unwrap()]);
    let mut opened = ["old", "new", "operator"].map(|token| {
        let mut native = Native::connect(node.native, 1, token);
        native.welcome();
        native
    });

    write(&format!("\"{}\"", hash_of("new")), "operator");
    node.signal(Signal::HUP);
    assert_eq!(opened[0].reply().1, Got::Goodbye("Unauthorized".into()));
    assert_eq!(opened[0].reply().1, Got::Closed);
    for native in &mut opened[1..] {
        native.send(&Request::Ping);
        assert_eq!(native.reply().1, Got::Other("Pong".into()));
    }
    assert_eq!(Native::connect(node.native, 0, "old").reply().1, Got::Goodbye("Unauthorized".into()));

    // What makes no sense changes nothing: the tokens stay, and the log does not say what stands in the file.
    std::fs::write(&path, "client = [\"s3cret\"]").unwrap();
    node.signal(Signal::HUP);
    let stale = "\ntallyring_reload_stale{file=\"tokens\"} 1\n";
    await_metric(&node, stale);
    Native::connect(node.native, 0, "new").welcome();

    // Nor does a file that is gone; and what it was last is taken when it is there again.
    write(&format!("\"{}\"", hash_of("new")), "operator");
    await_metric(&node, "\ntallyring_reload_stale{file=\"tokens\"} 0\n");
    std::fs::remove_file(&path).unwrap();
    node.signal(Signal::HUP);
    await_metric(&node, stale);
    Native::connect(node.native, 0, "new").welcome();
    write(&format!("\"{}\"", hash_of("new")), "operator");
    await_metric(&node, "\ntallyring_reload_stale{file=\"tokens\"} 0\n");
    node.signal(Signal::TERM);
    node.wait();
    let log = node.log();
    assert!(log.contains("not a token file") && !log.contains("s3cret"), "{log}");
    assert!(!log.contains(&hash_of("new")), "{log}");
}

#[test]
fn help_and_the_process_list_show_no_way_to_say_a_token() {
    let output = command().args(["serve", "--help"]).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    assert!(help.contains("--token-file <FILE>") && !help.contains("--token "), "{help}");
}

/// Runs `serve` with arguments that it must refuse at once, and never wait for.
#[track_caller]
fn check_refusal(args: &[&str], expect: &str) {
    let mut child = command().arg("serve").args(args).stderr(Stdio::piped()).spawn().unwrap();
    let give_up = std::time::Instant::now() + common::PATIENCE;
    while child.try_wait().unwrap().is_none() {
        if std::time::Instant::now() > give_up {
            child.kill().unwrap();
            panic!("{args:?} is waited for");
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    // What a node that had begun to start was told before stands in front of it.
    let last = log.lines().last().map(|line| format!("{line}\n")).unwrap_or_default();
    assert_eq!((output.status.code(), last), (Some(1), expect.to_owned()), "{log}");
}

#[test]
fn what_is_no_file_is_refused_and_not_waited_for() {
    use rustix::fs::{CWD, Mode, mkfifoat};
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let pipe = at("pipe");
    mkfifoat(CWD, &*pipe, Mode::RUSR | Mode::WUSR).unwrap();
    let not_a_file = format!("{pipe}: is a named pipe, not a file\n");
    check_refusal(&["--rules", &pipe], &format!("tallyring: rules: {not_a_file}"));
    check_refusal(&["--token-file", &pipe], &format!("tallyring: token-file: {not_a_file}"));
    check_refusal(&["--config", &pipe], &format!("tallyring: config: {not_a_file}"));
    check_refusal(&["--peer-token-from", &pipe], &format!("tallyring: peer-token-from: {not_a_file}"));
    check_refusal(&["--tls-cert", &pipe, "--tls-key", &pipe], &format!("tallyring: tls-cert: {not_a_file}"));
    check_refusal(&["--data", &pipe], &format!("tallyring: data: {pipe}: is a named pipe, not a folder\n"));
    let folder = at("data");
    std::fs::create_dir_all(format!("{folder}/rules")).unwrap();
    let edition = format!("{folder}/rules/00000000000000000001.rules");
    mkfifoat(CWD, &*edition, Mode::RUSR | Mode::WUSR).unwrap();
    let with_data = [&ANY_PORTS[..], &["--log-format", "json", "--data", &folder]].concat();
    check_refusal(&with_data, &format!("tallyring: data: {edition}: is a named pipe, not a file\n"));
}

#[test]
fn a_bad_token_file_is_told_in_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tokens.toml");
    let path_text = path.to_str().unwrap();
    for (text, expect) in [
        ("", "it names no token, so nobody could connect"),
        ("# x\r\nclient = []\r\n", "it names no token, so nobody could connect"),
        (&*"#".repeat(70_000), "has more than 65536 bytes"),
    ] {
        std::fs::write(&path, text).unwrap();
        check_refusal(&["--token-file", path_text], &format!("tallyring: token-file: {path_text}: {expect}\n"));
    }
    check_refusal(
        &["--token-file", "/nowhere"],
        "tallyring: token-file: /nowhere: No such file or directory (os error 2)\n",
    );
}

#[test]
fn a_misspelt_variable_is_in_the_log() {
    let mut node = command();
    node.args(["serve", "--log-format", "json", "--http-addr", "127.0.0.1:0", "--data", "/dev/null/no"]);
    let output = node.env("TALLYRING_SHARD", "3").output().unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(log.contains("the variable TALLYRING_SHARD is not read: TALLYRING_SHARDS may be meant"), "{log}");
}
