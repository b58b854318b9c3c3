//! What the nodes heard.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

use super::load::Asked;
use super::silence::{Phase, Silence};

/// How long a cluster that nobody does anything to may be without a leader, at the 99th percentile.
const LEADERLESS_MAX: Duration = Duration::from_millis(400);

/// What came of it.
#[derive(Clone, Debug)]
pub struct Report {
    pub(super) alone: Duration,
    pub(super) kills: u32,
    pub(super) asked: Asked,
    pub(super) silences: Vec<Silence>,
}

/// The silences of one phase.
#[derive(Clone, Debug)]
struct Row {
    name: &'static str,
    /// Leaders that were not there before.
    leaders: usize,
    /// From the shortest to the longest.
    lasted: Vec<Duration>,
}

impl Row {
    fn percentile(&self, percent: usize) -> Duration {
        let last = self.lasted.len().saturating_sub(1);
        self.lasted.get((last * percent).div_ceil(100)).copied().unwrap_or_default()
    }

    fn json(&self) -> Value {
        let ms = |percent| u64::try_from(self.percentile(percent).as_millis()).unwrap_or(u64::MAX);
        json!({
            "silences": self.lasted.len(),
            "leaders": self.leaders,
            "p50_ms": ms(50),
            "p99_ms": ms(99),
            "max_ms": ms(100),
        })
    }
}

impl Report {
    fn row(&self, name: &'static str, phase: Phase) -> Row {
        let of_phase = || self.silences.iter().filter(move |silence| silence.phase == phase);
        let leaders: BTreeSet<u64> =
            of_phase().filter(|silence| silence.is_another).map(|silence| silence.term).collect();
        let mut lasted: Vec<Duration> = of_phase().map(|silence| silence.lasted).collect();
        lasted.sort_unstable();
        Row { name, leaders: leaders.len(), lasted }
    }

    fn rows(&self) -> [Row; 3] {
        [("alone", Phase::Alone), ("killed", Phase::Killed), ("back", Phase::Back)]
            .map(|(name, phase)| self.row(name, phase))
    }

    /// Whether a cluster that nobody did anything to kept its leader, but for moments.
    pub fn is_good(&self) -> bool {
        self.row("alone", Phase::Alone).percentile(99) <= LEADERLESS_MAX
    }

    /// The same for programs.
    pub fn json(&self) -> Value {
        let mut json = json!({
            "alone_s": self.alone.as_secs(),
            "kills": self.kills,
            "decided": self.asked.decided,
            "not_decided_in_time": self.asked.failed,
            "is_good": self.is_good(),
        });
        self.rows().iter().for_each(|row| json[row.name] = row.json());
        json
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "left alone for {} s, leader killed {} times; {}", self.alone.as_secs(), self.kills, self.asked)?;
        writeln!(f, "cluster | silences of 0.1 s and more | new leaders | p50 ms | p99 ms | max ms")?;
        for row in self.rows() {
            let [p50, p99, max] = [50, 99, 100].map(|percent| row.percentile(percent).as_millis());
            writeln!(f, "{} | {} | {} | {p50} | {p99} | {max}", row.name, row.lasted.len(), row.leaders)?;
        }
        write!(f, "{}", if self.is_good() { "good" } else { "not good" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(silences: &[(Phase, u64, u64)]) -> Report {
        let silence = |&(phase, ms, term): &(Phase, u64, u64)| {
            let lasted = Duration::from_millis(ms);
            Silence { phase, node: 1, lasted, term, is_another: term > 1 }
        };
        let asked = Asked { decided: 7, failed: 1 };
        let silences = silences.iter().map(silence).collect();
        Report { alone: Duration::from_secs(60), kills: 1, asked, silences }
    }

    #[test]
    fn silences_count_where_they_ended_and_leaders_once() {
        let report =
            report(&[(Phase::Start, 900, 1), (Phase::Alone, 120, 1), (Phase::Killed, 350, 2), (Phase::Killed, 340, 2)]);
        assert_eq!(
            report.json()["alone"],
            json!({"silences": 1, "leaders": 0, "p50_ms": 120, "p99_ms": 120, "max_ms": 120})
        );
        assert_eq!(
            report.json()["killed"],
            json!({"silences": 2, "leaders": 1, "p50_ms": 350, "p99_ms": 350, "max_ms": 350})
        );
        assert!(report.to_string().ends_with("back | 0 | 0 | 0 | 0 | 0\ngood"), "{report}");
    }

    #[test]
    fn a_cluster_that_lost_its_leader_by_itself_for_long_is_not_good() {
        assert!(report(&[(Phase::Alone, 400, 2)]).is_good());
        assert!(!report(&[(Phase::Alone, 401, 2)]).is_good());
        assert!(report(&[(Phase::Killed, 900, 2)]).is_good());
    }

    #[test]
    fn a_log_line_of_a_silence_is_read_and_no_other() {
        let line = r#"{"fields":{"message":"nobody led for a while","silent_ms":331,"term":4,"is_another":true}}"#;
        let expect =
            Silence { phase: Phase::Killed, node: 2, lasted: Duration::from_millis(331), term: 4, is_another: true };
        assert_eq!(Silence::read(line, 2, Phase::Killed), Some(expect));
        assert_eq!(Silence::read(r#"{"fields":{"message":"serving","term":4}}"#, 2, Phase::Killed), None);
        assert_eq!(Silence::read("not JSON", 2, Phase::Killed), None);
    }
}
