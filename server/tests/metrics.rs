//! What a node tells Prometheus: in the format, by its conventions, and as much as the dashboard and the alerts ask for.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test of a process may wait and panic")]

mod common;
mod exposition;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{Native, Serve};

fn monitoring(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("docs/monitoring").join(file)
}

/// A node that has decided something, and what it says then.
fn scraped() -> String {
    let node = Serve::start(&["--shards", "2"]);
    let mut native = Native::connect(node.native, 0, "");
    native.welcome();
    native.define_bucket(1, 60_000_000, 1);
    native.reply();
    for _ in 0..3 {
        native.check("k", 1);
        native.reply();
    }
    node.get("/livez");
    let (code, text) = node.get("/metrics");
    assert_eq!(code, 200);
    text
}

#[test]
fn a_scrape_is_what_prometheus_reads_and_recommends() {
    let text = scraped();
    assert_eq!(exposition::faults(&text), Vec::<String>::new(), "{text}");
    if !promtool(&["check", "metrics"], &text) {
        eprintln!("promtool is not installed: only our own check has run");
    }
}

#[test]
fn what_can_happen_is_there_before_it_happens() {
    let node = Serve::start(&["--shards", "1"]);
    let text = node.get("/metrics").1;
    for line in [
        "tallyring_decisions_total{rule=\"\",outcome=\"allowed\"} 0",
        "tallyring_decisions_total{rule=\"\",outcome=\"full\"} 0",
        "tallyring_connections{door=\"native\"} 0",
        "tallyring_connections_accepted_total{door=\"native\"} 0",
        "tallyring_connections_refused_total{door=\"native\",reason=\"full\"} 0",
        "tallyring_connections_refused_total{door=\"http\",reason=\"tls\"} 0",
        "tallyring_refused_bytes_total{door=\"native\"} 0",
        "tallyring_reloads_total{file=\"certificates\",result=\"refused\"} 0",
        "tallyring_reload_stale{file=\"tokens\"} 0",
        "tallyring_request_duration_seconds_count{door=\"native\"} 0",
        "tallyring_shard_turn_duration_seconds_bucket{shard=\"0\",le=\"+Inf\"} 0",
        "tallyring_rules_version 0",
        "tallyring_rules_agreed_version 0",
        "tallyring_cluster_members{state=\"up\"} 1",
        "tallyring_cluster_members{state=\"down\"} 0",
        "tallyring_cluster_member 1",
        "tallyring_control_up 1",
        "tallyring_control_leader_known 1",
        "tallyring_control_voters 1",
        "tallyring_control_lag_entries 0",
        "tallyring_control_proposals_total{outcome=\"unknown\"} 0",
        "tallyring_peers_refused_total{reason=\"token\"} 0",
    ] {
        assert!(text.contains(&format!("\n{line}\n")), "{line} is not in\n{text}");
    }
}

#[test]
fn requests_are_timed_and_counted_once() {
    let text = scraped();
    // One define and three checks, a turn each.
    assert!(text.contains("\ntallyring_request_duration_seconds_count{door=\"native\"} 4\n"), "{text}");
    assert!(text.contains("\ntallyring_shard_turn_duration_seconds_count{shard=\"0\"} 4\n"), "{text}");
    let http = text.lines().find(|line| line.starts_with("tallyring_request_duration_seconds_count{door=\"http\"}"));
    assert_eq!(http, Some("tallyring_request_duration_seconds_count{door=\"http\"} 1"), "{text}");
}

#[test]
fn a_scrape_does_not_grow_with_what_strangers_send() {
    let node = Serve::start(&["--shards", "1"]);
    let series = || node.get("/metrics").1.lines().count();
    let before = series();
    for n in 0..200_u8 {
        let mut native = Native::silent(node.native);
        native.stream.write_all(&[n; 64]).unwrap();
        node.get(&format!("/v1/nowhere-{n}"));
    }
    assert_eq!(series(), before);
}

/// The names of ours that a text asks for, without the endings of a histogram's parts.
fn asked_for(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let ours = words.filter(|word| word.starts_with("tallyring_"));
    ours.map(|word| exposition::family_of(word).to_owned()).collect()
}

#[test]
fn the_dashboard_and_the_alerts_ask_only_for_what_there_is_and_for_all_of_it() {
    let text = scraped();
    let told: BTreeSet<String> = exposition::families(&text).map(str::to_owned).collect();
    let dashboard = std::fs::read_to_string(monitoring("dashboard.json")).unwrap();
    let parsed: serde_json::Value = serde_json::from_str(&dashboard).expect("the dashboard is JSON");
    assert!(parsed["panels"].as_array().is_some_and(|panels| panels.len() > 20));
    let alerts = std::fs::read_to_string(monitoring("alerts.yml")).unwrap();
    let asked = &asked_for(&dashboard) | &asked_for(&alerts);
    assert_eq!(asked.difference(&told).collect::<Vec<_>>(), Vec::<&String>::new(), "asked for, not told");
    let unseen: Vec<_> = told.difference(&asked).map(String::as_str).collect();
    // Which shard has a connection, and since when there are rules: for people who look, not for a picture.
    assert_eq!(unseen, ["tallyring_rules_lineage_timestamp_seconds", "tallyring_shard_connections"], "told, not shown");
}

#[test]
fn for_every_alarm_there_is_a_line_that_says_what_to_do() {
    let alerts = std::fs::read_to_string(monitoring("alerts.yml")).unwrap();
    let alarms: BTreeSet<&str> = alerts.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    let operations = std::fs::read_to_string(monitoring("../operations.md")).unwrap();
    let rows = operations.lines().filter_map(|line| line.strip_prefix("| `Tallyring")?.split_once('`'));
    let told: BTreeSet<String> = rows.map(|(name, _)| format!("Tallyring{name}")).collect();
    assert_eq!(alarms, told.iter().map(String::as_str).collect());
}

#[test]
fn promtool_reads_the_alerts() {
    let alerts = monitoring("alerts.yml");
    if !promtool(&["check", "rules", alerts.to_str().unwrap()], "") {
        eprintln!("promtool is not installed: nothing was checked");
    }
}

/// Runs promtool, which has to be content; false if there is none on this machine.
fn promtool(args: &[&str], input: &str) -> bool {
    let mut command = Command::new("promtool");
    let command = command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut child) = command.spawn() else { return false };
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "promtool {args:?}: {said}");
    true
}
