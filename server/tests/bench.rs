//! `tallyring bench` as a person runs it: its servers, its files, its refusals and its end.
#![allow(clippy::unwrap_used, reason = "what cannot be started or read must fail the test")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn bench() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tallyring"));
    command.arg("bench").stdin(Stdio::null());
    command
}

fn run(args: &[&str]) -> Output {
    bench().args(args).output().unwrap()
}

#[test]
fn a_target_beyond_this_machine_is_refused_before_anything_is_said_to_it() {
    let output = run(&["redis://192.0.2.1"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("redis://192.0.2.1:6379: not a loopback address"), "{said}");
    assert!(said.contains("--yes"), "{said}");
}

#[test]
fn arguments_that_make_no_sense_end_with_2_and_say_what_is_allowed() {
    let check = |args: &[&str], expect: &str| {
        let output = run(args);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(said.contains(expect), "{args:?}: {said}");
    };
    check(&["https://localhost"], "http://");
    check(&["--algorithm", "concurrency"], "one of token_bucket, leaky_bucket");
    check(&["--open-loop=101"], "1..=100");
    check(&["--mix", "zipfian"], "uniform, zipf, hot");
}

#[test]
fn a_target_that_does_not_answer_is_one_line() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    drop(listener);
    let output = run(&[&format!("native://{addr}")]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains(&addr.to_string()) && !said.contains("panicked"), "{said}");
}

#[test]
fn a_quick_run_measures_every_target_once_and_writes_what_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let [json, html] = ["run.json", "run.html"].map(|name| folder.path().join(name));
    let (json_arg, html_arg) = (json.to_str().unwrap(), html.to_str().unwrap());
    let small = ["--quick", "--keys", "500", "--connections", "4", "--callers", "4", "--pipeline", "1,2"];
    let one_algorithm = ["--algorithm", "token_bucket"];
    let more = ["--open-loop=20", "--grow=200", "--memory=300", "--json", json_arg, "--html", html_arg, "--markdown"];
    let output = run(&[&small[..], &one_algorithm[..], &more[..]].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");

    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("| target | algorithm | setting |"), "{table}");
    assert!(fs::read_to_string(html).unwrap().contains("<polyline"));

    let report: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let has_redis = !said.contains("there is no redis-server");
    let names = ["native", "native again", "redis", "resp", "http", "floor", "client", "limiter"];
    for name in names.into_iter().filter(|name| has_redis || *name != "redis") {
        check_target(&report, name);
    }
    assert_eq!(report["memory"].as_array().unwrap().len(), if has_redis { 2 } else { 1 });
}

fn check_target(report: &Value, name: &str) {
    let targets = report["targets"].as_array().unwrap();
    assert_eq!(targets.iter().filter(|target| target["label"] == name).count(), 1, "{name}");
    for target in targets.iter().filter(|target| target["label"] == name) {
        let rows = target["rows"].as_array().unwrap();
        for pace in [Value::from("closed"), serde_json::json!({ "percent": 20 })] {
            let row = rows.iter().find(|row| row["setting"]["pace"] == pace);
            let round = &row.unwrap_or_else(|| panic!("{name}: {pace}"))["rounds"][0];
            assert!(round["decisions"].as_u64().unwrap() > 0, "{name}: {pace}: {round}");
        }
        if name != "floor" {
            assert_eq!(target["exactness"]["admitted"], target["exactness"]["exact"], "{name}");
        }
    }
}

#[test]
fn an_interrupted_run_ends_with_its_servers() {
    let mut run =
        bench().args(["--quick", "--rounds", "1000"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(run.stderr.take().unwrap());
    // The first line of progress: the servers are there.
    let mut line = String::new();
    while !line.starts_with('[') {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended by itself");
    }
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", run.id())).unwrap();
    let children: Vec<&str> = children.split_whitespace().collect();
    assert!(children.len() >= 2, "a store and a floor at least: {children:?}");

    let pid = rustix::process::Pid::from_child(&run);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(1));
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("tallyring: interrupted\n"), "{rest}");
    for child in children {
        assert!(!Path::new("/proc").join(child).exists(), "{child} is still there");
    }
}
