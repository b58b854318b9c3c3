//! A report of made-up figures in its four forms.

use std::time::Duration;

use clap::Parser;
use serde_json::Value;

use super::*;
use crate::cli::bench::args::BenchArgs;
use crate::cli::bench::round::Round;
use crate::cli::bench::setting::Shape;
use crate::cli::bench::tally::Tally;

#[derive(Debug, Parser)]
struct Program {
    #[command(flatten)]
    bench: BenchArgs,
}

const EVIL: &str = "<script>\"evil\"|";

/// A round of a tenth of a second.
fn round(allowed: u64, offered_per_s: Option<u64>) -> Round {
    let mut tally = Tally { allowed, denied: allowed / 3, ..Tally::new() };
    tally.latency.note(Duration::from_micros(200), 99);
    tally.latency.note(Duration::from_micros(9_000), 1);
    tally.lateness.note(Duration::from_micros(3), 100);
    let cpu_ns = 50_000_000;
    let elapsed = Duration::from_millis(100);
    Round { tally, elapsed, offered_per_s, server_cpu_ns: Some(cpu_ns), generator_cpu_ns: cpu_ns }
}

fn row(setting: Setting, rounds: &[u64], offered_per_s: Option<u64>) -> Row {
    let mut row = Row::new(setting);
    for round in rounds.iter().map(|allowed| round(*allowed, offered_per_s)) {
        row.add(Figures::of(&round), &round.tally.latency);
    }
    row
}

fn measured(label: &str, scheme: Scheme, rows: Vec<Row>) -> Measured {
    let exactness = Exactness { asked: 20, admitted: 10, exact: 10, undecided: 0 };
    Measured {
        label: label.into(),
        scheme,
        algorithm: Some("token_bucket"),
        version: None,
        exactness: Some(exactness),
        rows,
    }
}

fn report() -> Report {
    let closed = Setting::closed(Shape::Pipeline(16));
    let open = Setting { shape: Shape::Pipeline(16), pace: Pace::Percent(50) };
    let memory = Memory {
        label: EVIL.into(),
        algorithm: "token_bucket",
        keys: 1_000_000,
        resident_before_bytes: 10_000_000,
        resident_bytes: 57_900_000,
    };
    Report {
        version: "0.0.0",
        machine: Machine::this(),
        server_cpu: Some(0),
        generator_cpu: Some(1),
        plan: Program::try_parse_from(["bench", "--quick", "--token", "s3cret"]).unwrap().bench.plan(),
        targets: vec![
            measured(
                EVIL,
                Scheme::Native,
                vec![row(closed, &[30_000, 60_000, 90_000], None), row(open, &[30_000], Some(400_000))],
            ),
            measured("redis", Scheme::Redis, vec![row(closed, &[3_000], None)]),
        ],
        memory: vec![memory],
    }
}

#[test]
fn the_text_has_every_table_and_the_ratio_to_redis() {
    let text = report().to_text();
    for part in ["Closed loop", "Open loop", "Memory", "Exactness", "800,000", "20.00", "400,000 – 1,200,000", "47.9"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_store_that_admits_too_much_is_named_and_fails_the_run_and_a_redis_does_not() {
    let mut report = report();
    report.targets[1].exactness = Some(Exactness { asked: 20, admitted: 11, exact: 10, undecided: 0 });
    assert!(report.is_exact());
    assert!(report.to_text().contains("redis token_bucket admitted 11 calls where the limit allows 10."));
    report.targets[0].exactness = Some(Exactness { asked: 20, admitted: 9, exact: 10, undecided: 0 });
    assert!(!report.is_exact());
}

#[test]
fn the_json_has_every_round_for_programs_and_no_secret() {
    let text = serde_json::to_string(&report()).unwrap();
    assert!(!text.contains("s3cret"));
    let json: Value = serde_json::from_str(&text).unwrap();
    let check = |pointer: &str, expect: Value| assert_eq!(json.pointer(pointer), Some(&expect), "{pointer}");
    check("/plan/algorithms", serde_json::json!(["token_bucket", "sliding_counter"]));
    check("/plan/mix", "uniform".into());
    check("/targets/0/scheme", "native".into());
    check("/targets/0/algorithm", "token_bucket".into());
    check("/targets/0/exactness/exact", 10.into());
    check("/targets/0/rows/0/setting", serde_json::json!({"shape": {"pipeline": 16}, "pace": "closed"}));
    check("/targets/0/rows/1/setting/pace", serde_json::json!({"percent": 50}));
    check("/targets/0/rows/0/rounds/1/decisions", 80_000.into());
    check("/targets/0/rows/0/rounds/1/decisions_per_s", 800_000.into());
    check("/targets/0/rows/0/rounds/1/server_cpu_ns", 625.into());
    check("/targets/0/rows/0/rounds/1/offered_per_s", Value::Null);
    check("/targets/0/rows/1/rounds/0/offered_per_s", 400_000.into());
    check("/memory/0/resident_bytes", 57_900_000.into());
    for figure in ["p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns"] {
        for place in ["/targets/0/rows/0/latency", "/targets/0/rows/0/rounds/0"] {
            assert!(json.pointer(&format!("{place}/{figure}")).is_some_and(Value::is_u64), "{place}/{figure}");
        }
    }
}

#[test]
fn the_page_needs_nothing_from_elsewhere_and_a_label_is_no_markup() {
    let page = html::page(&report());
    for outside in ["<script", "http://", "https://", "url(", "@import", "<link", "<img", "src="] {
        assert!(!page.contains(outside), "{outside}");
    }
    for part in ["&lt;script&gt;&quot;evil&quot;|", "<polyline", "<path class=\"range\"", "class=\"peer\"", "47.9"] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn several_loads_of_a_shape_are_one_picture() {
    let mut report = report();
    assert!(!html::page(&report).contains("p99 by load"), "there is one load");
    let more = Setting { shape: Shape::Pipeline(16), pace: Pace::Percent(90) };
    report.targets[0].rows.push(row(more, &[30_000], Some(700_000)));
    let page = html::page(&report);
    assert!(page.contains("<h2>pipeline 16, p99 by load</h2>") && page.contains(">90 %</text>"));
}

#[test]
fn in_markdown_a_label_does_not_end_its_cell() {
    let markdown = report().to_markdown();
    let rows: Vec<&str> = markdown.lines().filter(|line| line.contains("evil")).collect();
    assert!(rows.len() >= 3, "{markdown}");
    for row in rows {
        assert!(row.starts_with("| \\<script>\"evil\"\\| |"), "{row}");
    }
}

#[test]
fn the_rounds_of_a_row_are_one_histogram() {
    let row = row(Setting::closed(Shape::Pipeline(1)), &[1, 2, 3], None);
    assert_eq!(row.latencies.len(), 300);
    assert_eq!(row.latency.p50_ns / 1_000, 200);
    assert_eq!(row.latency.max_ns / 100_000, 90);
}
