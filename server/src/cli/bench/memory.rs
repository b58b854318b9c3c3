//! What a key takes: resident memory of a server with so many keys, less that of the server before, divided by the keys.
//! So the allocator, the index and everything else that is there for keys is in it.

use super::accounts::Accounts;
use super::error::BenchError;
use super::mix::Mix;
use super::numbers;
use super::plan::Plan;
use super::process;
use super::progress::Progress;
use super::subject::{Subject, fresh_prefix};

/// One reading.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(super) struct Memory {
    pub(super) label: String,
    pub(super) algorithm: &'static str,
    pub(super) keys: u32,
    pub(super) resident_before_bytes: u64,
    pub(super) resident_bytes: u64,
}

impl Memory {
    /// Tenths of a byte a key.
    pub(super) fn tenths_a_key(&self) -> u64 {
        let grown = u128::from(self.resident_bytes.saturating_sub(self.resident_before_bytes));
        u64::try_from(grown * 10 / u128::from(self.keys.max(1))).unwrap_or(u64::MAX)
    }
}

/// Fills the subject with fresh keys, and reads its memory at every count of the plan; nothing if its process cannot be
/// seen.
pub(super) async fn read(subject: &Subject, plan: &Plan, progress: &mut Progress) -> Result<Vec<Memory>, BenchError> {
    let label = subject.target().label.clone();
    let resident = || subject.target().pid.and_then(process::resident_bytes);
    let Some(before) = resident() else { return Ok(Vec::new()) };
    let mut counts = plan.memory.clone();
    counts.sort_unstable();
    let accounts = Accounts { prefix: fresh_prefix("mem"), count: counts.last().copied().unwrap_or(0) };
    let limit = numbers::load(subject.algorithm, Mix::Uniform);
    let (mut memories, mut from) = (Vec::new(), 0);
    for keys in counts {
        progress.begin(format_args!("{label}: {keys} keys"));
        subject.spread(&accounts, from..keys, &limit).await?;
        from = keys;
        let memory = Memory {
            label: label.clone(),
            algorithm: subject.algorithm.name(),
            keys,
            resident_before_bytes: before,
            resident_bytes: resident().unwrap_or(before),
        };
        progress.done(format_args!("{label}: {} bytes a key at {keys}", memory.tenths_a_key() / 10));
        memories.push(memory);
    }
    subject.forget(&accounts).await?;
    Ok(memories)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_takes_what_the_server_has_grown_by_its_share() {
        let memory = |resident_bytes| Memory {
            label: "native".into(),
            algorithm: "token_bucket",
            keys: 1_000,
            resident_before_bytes: 5_000,
            resident_bytes,
        };
        assert_eq!(memory(52_950).tenths_a_key(), 479);
        assert_eq!(memory(4_000).tenths_a_key(), 0, "it shrank");
    }
}
