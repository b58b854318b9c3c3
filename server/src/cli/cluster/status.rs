//! `tallyring cluster status`.

use axum::http::Method;
use clap::Args;

use super::super::columns::Columns;
use super::super::exit::{Exit, Failure, say};
use super::super::remote::RemoteArgs;
use crate::cluster::status::{Standing, State, Status};
use crate::rules::visible::visible;

/// What `cluster status` takes.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// As JSON, for programs
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub(super) fn run(args: &StatusArgs) -> Result<Exit, Failure> {
    let answer = args.remote.remote()?.ask(Method::GET, "/v1/cluster", &[], "")?;
    if args.json {
        return Ok(say(answer.into_line()));
    }
    let status: Status =
        serde_json::from_str(&answer.body).map_err(|_| Failure::unreachable("the node's status cannot be read"))?;
    Ok(say(visible(&report(&status))))
}

/// What a node sees, for people.
fn report(status: &Status) -> String {
    let voters: Vec<String> =
        status.members.iter().filter(|member| member.votes).map(|member| member.id.to_string()).collect();
    let leader = status.leader.map_or("nobody".to_owned(), |leader| format!("node {leader}"));
    let milliseconds = Milliseconds(status.clock_behind_us);
    let mut text = format!(
        "as node {} sees it\n\
         cluster   {}, feature level {}\n\
         epoch     {}\n\
         leader    {leader}, term {}, {} entries applied\n\
         voters    {}\n\
         gateways  {}\n\
         clock     {milliseconds} behind\n\n",
        status.node,
        status.cluster,
        status.feature_level,
        status.epoch,
        status.term,
        status.applied,
        voters.join(", "),
        status.gateways,
    );
    text += &table(&status.members);
    if status.leader.is_some_and(|leader| leader != status.node) {
        text += "\nthe leader knows what each one lacks of the log\n";
    }
    text
}

/// A line a member, each column as wide as it has to be.
fn table(members: &[Standing]) -> String {
    let head =
        ["node", "state", "weight", "share", "lag", "zone", "native", "http", "peer", "version"].map(str::to_owned);
    let rows: Vec<[String; 10]> = std::iter::once(head).chain(members.iter().map(row)).collect();
    let columns = Columns::of(&rows, rows[0].len());
    rows.iter().map(|row| columns.line(row)).collect()
}

fn row(member: &Standing) -> [String; 10] {
    let state = match member.state {
        State::Serving => "serving",
        State::Draining => "draining",
        State::Down => "down",
    };
    let or_none = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
    [
        member.id.to_string(),
        state.to_owned(),
        member.weight.to_string(),
        format!("{}.{} %", member.share_ppm / 10_000, member.share_ppm / 1_000 % 10),
        member.lag.map_or("-".to_owned(), |lag| lag.to_string()),
        or_none(&member.zone),
        member.native.clone(),
        member.http.clone(),
        member.peer.clone(),
        or_none(&member.version),
    ]
}

/// Microseconds, written as milliseconds.
struct Milliseconds(i64);

impl std::fmt::Display for Milliseconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let us = self.0.unsigned_abs();
        write!(f, "{}{}.{:03} ms", if self.0 < 0 { "-" } else { "" }, us / 1_000, us % 1_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(id: u64, votes: bool, lag: Option<u64>, zone: &str) -> Standing {
        let at = |port: u16| format!("store-{id}:{port}");
        Standing {
            id,
            native: at(4170),
            http: at(4171),
            resp: at(4172),
            peer: at(4174),
            zone: zone.to_owned(),
            weight: 1,
            shards: 2,
            share_ppm: 333_333,
            state: if id == 3 { State::Down } else { State::Serving },
            votes,
            lag,
            version: "0.1.0".to_owned(),
            feature_level: 1,
        }
    }

    #[test]
    fn people_see_a_table() {
        let status = Status {
            node: 1,
            cluster: "0000000000000000000000000000000a".to_owned(),
            epoch: 17,
            gateways: 4,
            feature_level: 1,
            leader: Some(1),
            term: 2,
            applied: 31,
            clock_behind_us: -1_250,
            members: vec![
                standing(1, true, Some(0), "a"),
                standing(2, true, Some(12), ""),
                standing(3, false, None, ""),
            ],
        };
        let expect = "\
as node 1 sees it
cluster   0000000000000000000000000000000a, feature level 1
epoch     17
leader    node 1, term 2, 31 entries applied
voters    1, 2
gateways  4
clock     -1.250 ms behind

node  state    weight  share   lag  zone  native        http          peer          version
1     serving  1       33.3 %  0    a     store-1:4170  store-1:4171  store-1:4174  0.1.0
2     serving  1       33.3 %  12   -     store-2:4170  store-2:4171  store-2:4174  0.1.0
3     down     1       33.3 %  -    -     store-3:4170  store-3:4171  store-3:4174  0.1.0
";
        assert_eq!(report(&status), expect);
        let follower = Status { leader: Some(2), ..status.clone() };
        assert!(report(&follower).ends_with("\nthe leader knows what each one lacks of the log\n"));
        assert!(report(&Status { leader: None, ..status }).contains("\nleader    nobody, term 2"));
    }
}
