//! What to try.

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;

use super::node::DemoNode;

/// Units that a full bucket of the sample rules holds: a person empties it with curl in a few seconds.
const BURST: u64 = 10;

/// Seconds until a used unit is back: an empty bucket is whole again in half a minute.
const REFILL_S: u64 = 3;

/// The tour.
pub(super) struct Tour<'a> {
    pub(super) gateway: SocketAddr,
    /// One at least.
    pub(super) nodes: &'a [DemoNode],
    pub(super) folder: &'a Path,
}

impl fmt::Display for Tour<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (gateway, whole_s) = (self.gateway, BURST * REFILL_S);
        writeln!(f, "gateway  http://{gateway}, a toy backend behind the limiter")?;
        for node in self.nodes {
            let (id, pid, http, native) = (node.id, node.pid, node.addresses.http, node.addresses.native);
            writeln!(
                f,
                "node {id}   http://{http} has rules, cluster and /metrics; native protocol at {native}; pid {pid}"
            )?;
        }
        let folder = self.folder.display();
        write!(
            f,
            "\
files    {folder}: settings, log and data of each node, gone when the demo ends
limit    {BURST} requests at once for each X-Api-Key (else each address), then 1 every {REFILL_S} s; whole again after {whole_s} s

Try, in another terminal:
  # what is left stands in the headers
  curl -i -H 'X-Api-Key: alice' http://{gateway}/

  # use it up: {BURST} requests pass, the rest are 429
  for i in $(seq 12); do curl -s -o /dev/null -w '%{{http_code}} ' -H 'X-Api-Key: alice' http://{gateway}/; done; echo

  # when to come back: Retry-After, and a problem to read
  curl -i -H 'X-Api-Key: alice' http://{gateway}/

  # Bob has a budget of his own
  curl -i -H 'X-Api-Key: bob' http://{gateway}/

  # who decided, and how often
  curl http://{gateway}/counts

  # other rules, in force at once: edit the file before you push it
  export TALLYRING_HTTP_ADDR={http}
  tallyring rules pull > rules.toml
  tallyring rules diff rules.toml
  tallyring rules push rules.toml --comment 'more for everybody'
  tallyring rules history; tallyring rules rollback 1
",
            http = self.nodes[0].addresses.http
        )?;
        if let [.., last] = self.nodes.get(1..).unwrap_or_default() {
            of_a_cluster(f, gateway, last)?;
        }
        writeln!(f, "\nCtrl-C stops it.")
    }
}

/// What there is to try with several nodes: the last one is in for it.
fn of_a_cluster(f: &mut fmt::Formatter<'_>, gateway: SocketAddr, last: &DemoNode) -> fmt::Result {
    let (id, pid, http, settings) = (last.id, last.pid, last.addresses.http, last.settings.display());
    write!(
        f,
        "
  # any node shows the cluster, and takes rules for all of them
  tallyring cluster status
  TALLYRING_HTTP_ADDR={http} tallyring rules push rules.toml

  # a crash: its keys are decided by the gateway's own share of each limit until node {id} is back
  kill -9 {pid}
  tallyring cluster status
  for key in a b c d e f; do curl -s -o /dev/null -w '%{{http_code}} ' -H \"X-Api-Key: $key\" http://{gateway}/; done; echo
  tallyring serve --config {settings}
"
    )
}

#[cfg(test)]
mod tests {
    use tallyring_protocol::PeriodCode;
    use tallyring_protocol::rules::parse;

    use super::super::RULES;
    use super::*;

    #[test]
    fn the_sample_rules_are_those_of_the_tour_and_leave_nothing_to_warn_of() {
        let parsed = parse(RULES).unwrap();
        assert_eq!(parsed.warnings, []);
        let numbers = *parsed.rules.rules()[0].numbers().unwrap();
        let refill = PeriodCode::Micros(REFILL_S * 1_000_000);
        assert_eq!((numbers.limit, numbers.period, numbers.burst), (1, refill, BURST));
    }
}
