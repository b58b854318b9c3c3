//! What a key takes.

use super::Table;
use crate::cli::bench::memory::Memory;
use crate::cli::bench::report::Report;
use crate::cli::number::grouped;

const MIB: u64 = 1 << 20;

pub(super) fn table(report: &Report) -> Table {
    let head = vec!["target", "algorithm", "keys", "resident before, MiB", "after, MiB", "bytes a key"];
    Table { title: "Memory: resident size, allocator included", head, rows: report.memory.iter().map(line).collect() }
}

fn line(memory: &Memory) -> Vec<String> {
    let tenths = memory.tenths_a_key();
    vec![
        memory.label.clone(),
        memory.algorithm.to_owned(),
        grouped(memory.keys.into()),
        grouped(memory.resident_before_bytes / MIB),
        grouped(memory.resident_bytes / MIB),
        format!("{}.{}", tenths / 10, tenths % 10),
    ]
}
