//! Whether a cluster keeps its leader under load: three nodes, each a process with a disk, on a machine that gateways keep
//! as busy as it can be; left alone for some minutes, and then with its leader killed again and again.
//!
//! Real processes and real time, so the figures are worth as much as the machine is quiet but for the load: this is a
//! program and no test. `server/tests/leader.rs` holds what must be true on any machine.
//!
//! The nodes say themselves how long they heard of no leader (`tallyring_cluster_leaderless_seconds` of their metrics, and
//! a line of their logs for each time), so that a watcher which gets no processor time distorts nothing.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "real processes are measured in real time")]

mod load;
mod node;
mod report;
mod silence;

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use self::load::Load;
use self::node::Cluster;
pub use self::report::Report;
pub use self::silence::{Phase, Silence};

/// How long the load goes on before anything counts.
const WARM_UP: Duration = Duration::from_secs(2);

/// How long a node is away after it was killed, and how long it is left alone after it is back.
const SPELL: Duration = Duration::from_secs(3);

/// What is to be done.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The program `tallyring`.
    pub program: PathBuf,
    /// How long the cluster is left alone.
    pub alone: Duration,
    /// How often its leader is killed afterwards.
    pub kills: u32,
}

/// Loads a cluster, kills its leaders, and says how long nobody led.
///
/// # Errors
/// A node cannot be started, or does not say what it has to.
pub fn run(plan: &Plan) -> io::Result<Report> {
    let mut cluster = Cluster::start(&plan.program)?;
    let load = Load::start(&cluster.native_addrs())?;
    std::thread::sleep(WARM_UP);
    cluster.begins(Phase::Alone);
    let begun = Instant::now();
    std::thread::sleep(plan.alone);
    let alone = begun.elapsed();
    for _ in 0..plan.kills {
        cluster.begins(Phase::Killed);
        let leader = cluster.leader()?;
        cluster.kill(leader)?;
        std::thread::sleep(SPELL);
        cluster.begins(Phase::Back);
        cluster.start_again(leader)?;
        std::thread::sleep(SPELL);
    }
    let asked = load.stop();
    Ok(Report { alone, kills: plan.kills, asked, silences: cluster.stop() })
}
