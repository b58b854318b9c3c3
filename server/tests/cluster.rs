//! Clusters of real processes: they agree on rules and members through kills, restarts, growth and the loss of a majority.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test of processes may wait and panic")]

mod common;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::{ANY_PORTS, PATIENCE, Serve, command};
use serde_json::Value;

/// How often something is looked at that takes its time.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Nodes and their folders; a node that is `None` does not run.
struct Cluster {
    dir: tempfile::TempDir,
    nodes: Vec<Option<Serve>>,
}

impl Cluster {
    /// So many nodes, numbered from 1: the first founds the cluster, the others join it.
    fn start(nodes: usize) -> Cluster {
        let mut cluster = Cluster { dir: tempfile::tempdir().unwrap(), nodes: Vec::new() };
        (0..nodes).for_each(|_| cluster.grow());
        cluster
    }

    /// One more node.
    fn grow(&mut self) {
        let seed = self.nodes.iter().flatten().next().map(|node| node.peer.to_string());
        let join = seed.iter().flat_map(|seed| ["--join", seed]).collect::<Vec<_>>();
        let node = self.serve(self.nodes.len() + 1, &join);
        self.nodes.push(Some(node));
    }

    fn folder(&self, id: usize) -> PathBuf {
        self.dir.path().join(id.to_string())
    }

    fn serve(&self, id: usize, args: &[&str]) -> Serve {
        let (folder, number) = (self.folder(id), id.to_string());
        let own = ["--shards", "1", "--node-id", &number, "--data", folder.to_str().unwrap()];
        Serve::start(&[&own[..], args].concat())
    }

    fn node(&self, id: usize) -> &Serve {
        self.nodes[id - 1].as_ref().unwrap()
    }

    fn running(&self) -> impl Iterator<Item = &Serve> {
        self.nodes.iter().flatten()
    }

    /// Ends a node without a word; where it listened for others.
    fn kill(&mut self, id: usize) -> String {
        let node = self.nodes[id - 1].take().unwrap(); // dropped: kill -9
        node.peer.to_string()
    }

    fn restart(&mut self, id: usize, peer: &str) {
        self.nodes[id - 1] = Some(self.serve(id, &["--peer-addr", peer]));
    }

    /// Waits until every running node has it.
    fn all(&self, what: &str, has: impl Fn(&Serve) -> bool) -> Duration {
        let began = Instant::now();
        for node in self.running() {
            while !has(node) {
                assert!(began.elapsed() < PATIENCE, "waited for: {what}");
                std::thread::sleep(LOOK_EVERY);
            }
        }
        began.elapsed()
    }

    fn all_vote(&self, ids: &[u64]) {
        self.all("voters", |node| voters(node) == ids);
    }

    /// Publishes rules at one node; how long it takes until all have them.
    fn push(&self, id: usize, limit: u64) -> Duration {
        let pushed = self.node(id).push(&rules(limit));
        assert_eq!(pushed.code, 200, "{}", pushed.body);
        assert_eq!(self.node(id).get("/v1/rules").1, rules(limit), "what was acknowledged is shown");
        self.all("rules", |node| node.get("/v1/rules").1 == rules(limit))
    }
}

fn rules(limit: u64) -> String {
    format!(
        "[[rule]]\nid = \"a\"\nkey = [\"client\"]\nalgorithm = \"token_bucket\"\nlimit = {limit}\nwindow = \"60s\"\n"
    )
}

fn status(node: &Serve) -> Value {
    node.ask("GET", "/v1/cluster", &[], "").json()
}

fn members(node: &Serve, which: impl Fn(&Value) -> bool) -> Vec<u64> {
    let status = status(node);
    let members = status["members"].as_array().unwrap().iter().filter(|member| which(member));
    members.map(|member| member["id"].as_u64().unwrap()).collect()
}

fn voters(node: &Serve) -> Vec<u64> {
    members(node, |member| member["votes"] == true)
}

/// Exit code and all that `tallyring cluster …` says.
fn cluster(args: &[&str]) -> (i32, String) {
    let output = command().arg("cluster").args(args).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(said).unwrap())
}

fn cluster_at(node: &Serve, args: &[&str]) -> (i32, String) {
    cluster(&[args, &["--http-addr", &node.http.to_string()]].concat())
}

#[test]
fn three_nodes_agree_through_kills_restarts_growth_and_a_farewell() {
    let mut nodes = Cluster::start(3);
    nodes.all_vote(&[1, 2, 3]);
    for id in 1..=3 {
        let took = nodes.push(id, id as u64);
        println!("rules pushed to node {id} are in force on all after {} ms", took.as_millis());
    }
    for id in 1..=3 {
        let peer = nodes.kill(id);
        nodes.push(id % 3 + 1, 10 + id as u64);
        nodes.restart(id, &peer);
        nodes.all("rules", |node| node.get("/v1/rules").1 == rules(10 + id as u64));
    }
    nodes.grow();
    nodes.all("four members", |node| members(node, |_| true) == [1, 2, 3, 4]);
    nodes.push(4, 20);
    let (code, said) = cluster_at(nodes.node(1), &["leave", "2"]);
    assert_eq!((code, said.starts_with("node 2 is no member any more: stop it;")), (0, true), "{said}");
    let ready = |node: &Serve| node.get("/readyz");
    let left = (503, "this node has left its cluster\n".to_owned());
    let gone = nodes.nodes[1].take().unwrap();
    let began = Instant::now();
    while ready(&gone) != left {
        assert!(began.elapsed() < PATIENCE, "node 2 does not say that it has left");
        std::thread::sleep(LOOK_EVERY);
    }
    drop(gone);
    nodes.all_vote(&[1, 3, 4]);
    nodes.push(3, 30);
    assert!(nodes.running().all(|node| ready(node).0 == 200));
}

#[test]
fn without_a_majority_the_last_rules_stay_until_a_survivor_founds_the_cluster_anew() {
    let mut nodes = Cluster::start(3);
    nodes.all_vote(&[1, 2, 3]);
    nodes.push(1, 1);
    let peers: Vec<String> = [2, 3].map(|id| nodes.kill(id)).into();
    nodes.all("nobody leads", |node| status(node)["leader"].is_null());
    let refused = nodes.node(1).push(&rules(2));
    assert_eq!((refused.code, refused.header("retry-after")), (503, Some("1")), "{}", refused.body);
    assert!(
        refused.json()["detail"].as_str().unwrap().contains("no majority of the cluster has answered"),
        "{}",
        refused.body
    );
    assert_eq!(nodes.node(1).get("/v1/rules").1, rules(1), "the last good rules stay");
    let folder = nodes.folder(1).to_str().unwrap().to_owned();
    let recover = |args: &[&str]| cluster(&[&["recover", "--data", &folder], args].concat());
    let (code, said) = recover(&["--yes"]);
    assert_eq!((code, said), (1, format!("tallyring: data: {folder}: another node uses it\n")));
    nodes.kill(1);
    let (code, said) = recover(&[]);
    assert!(code == 1 && said.contains("\nwithout   2, 3\n") && said.contains("say --yes"), "{said}");
    let (code, said) = recover(&["--yes"]);
    assert!(code == 0 && said.contains("\ndone: start node 1,"), "{said}");
    assert_eq!(recover(&["--yes"]), (1, "tallyring: node 1 is the only member: start it\n".to_owned()));
    nodes.restart(1, "127.0.0.1:0");
    assert_eq!(nodes.node(1).get("/v1/rules").1, rules(2), "what stood in the log is taken as agreed on");
    assert_eq!(members(nodes.node(1), |_| true), [1]);
    nodes.push(1, 3);
    // A node of the old cluster is one for itself, and comes back with another folder.
    std::fs::remove_dir_all(nodes.folder(2)).unwrap();
    let join = nodes.node(1).peer.to_string();
    nodes.nodes[1] = Some(nodes.serve(2, &["--peer-addr", &peers[0], "--join", &join]));
    nodes.all("two members", |node| members(node, |_| true) == [1, 2]);
    nodes.push(2, 4);
}

/// How often a node heard of no leader for a while.
fn silences(node: &Serve) -> u64 {
    let (_, metrics) = node.get("/metrics");
    let line = metrics.lines().find(|line| line.starts_with("tallyring_cluster_leaderless_seconds_count "));
    line.unwrap().rsplit(' ').next().unwrap().parse().unwrap()
}

/// How long that takes on a machine that is as busy as it can be is what `leader_load` of the tests measures.
#[test]
fn a_leader_that_is_killed_under_load_is_missed_and_followed_by_another() {
    let mut nodes = Cluster::start(3);
    nodes.all_vote(&[1, 2, 3]);
    let (is_over, doors) = (AtomicBool::new(false), nodes.running().map(|node| node.http).collect::<Vec<_>>());
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for door in doors.iter().cycle().take_while(|_| !is_over.load(Ordering::Relaxed)) {
                let _ = common::try_ask(*door, "POST", "/v1/limit", &[], LIMIT); // it may be dead
            }
        });
        let _over = Over(&is_over);
        for _ in 0..2 {
            nodes.all("a leader", |node| status(node)["leader"].is_u64());
            let leader = status(nodes.running().next().unwrap())["leader"].as_u64().unwrap();
            let before: Vec<(u64, u64)> = survivors(&nodes, leader).map(|(id, node)| (id, silences(node))).collect();
            let peer = nodes.kill(leader as usize);
            for (id, before) in before {
                let node = nodes.node(id as usize);
                nodes.all("another leader", |node| ![Value::Null, leader.into()].contains(&status(node)["leader"]));
                nodes.all("a leader's first word", |_| silences(node) > before);
            }
            nodes.push(leader as usize % 3 + 1, leader);
            nodes.restart(leader as usize, &peer);
        }
    });
}

/// A question that any node can answer.
const LIMIT: &str = r#"{"key":"k","algorithm":"token_bucket","limit":1,"period_us":1000000}"#;

/// Ends the load, also if the test fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn survivors(nodes: &Cluster, dead: u64) -> impl Iterator<Item = (u64, &Serve)> {
    (1..=3).filter(move |id| *id != dead).map(|id| (id, nodes.node(id as usize)))
}

/// What `serve` says with arguments that it refuses.
fn refusal(args: &[&str]) -> String {
    let output = command().arg("serve").env("TALLYRING_LOG", "off").args(ANY_PORTS).args(args).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn who_may_not_join_is_told_why_in_a_line() {
    let nodes = Cluster::start(1);
    let (one, alone) = (nodes.node(1), Serve::start(&[]));
    let new = nodes.folder(9);
    let check = |id: &str, peer: &str, expect: &str| {
        let said = refusal(&["--node-id", id, "--data", new.to_str().unwrap(), "--join", peer]);
        assert_eq!(said, format!("tallyring: join: {expect}\n"));
        std::fs::remove_dir_all(&new).unwrap();
    };
    let peer = one.peer.to_string();
    check("1", &peer, &format!("{peer}: it is node 1 itself: give this node another --node-id"));
    let forgetful = "node 1 keeps nothing on a disk, so nobody can join it: start it with --data first";
    check("2", &alone.peer.to_string(), forgetful);
    let said = refusal(&["--node-id", "2", "--join", &peer]);
    assert!(said.starts_with("tallyring: join: give --data with it: "), "{said}");
    // A folder belongs to one node.
    let _two = nodes.serve(2, &["--join", &peer]);
    let folder = nodes.folder(3).to_str().unwrap().to_owned();
    drop(nodes.serve(3, &["--join", &peer]));
    let said = refusal(&["--node-id", "4", "--data", &folder]);
    assert_eq!(
        said,
        format!("tallyring: {folder}/control.redb: belongs to node 3: give --node-id 3, or another --data\n")
    );
    let said = refusal(&["--node-id", "3", "--data", new.to_str().unwrap(), "--join", &peer]);
    assert!(said.starts_with("tallyring: join: node 3 is a member already, from another data folder"), "{said}");
}

#[test]
fn a_cluster_is_shown_and_changed_from_the_shell() {
    let nodes = Cluster::start(2);
    let first = nodes.node(1);
    nodes.all("two members", |node| members(node, |_| true) == [1, 2]);
    let (code, table) = cluster_at(first, &["status"]);
    assert_eq!(code, 0, "{table}");
    for expect in ["as node 1 sees it\n", "\nleader    node 1, term 1, ", "\nvoters    1\n", "\n2     serving  1  "] {
        assert!(table.contains(expect), "{expect:?} is not in\n{table}");
    }
    let (_, json) = cluster_at(first, &["status", "--json"]);
    let shown: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&shown["cluster"], &shown["leader"]), (&status(first)["cluster"], &1.into()));
    let (code, said) = cluster_at(first, &["weight", "2", "3"]);
    assert_eq!((code, said), (0, "node 2 has the weight 3 from now on\n".to_owned()));
    nodes.all("the weight", |node| status(node)["members"][1]["weight"] == 3);
    for (args, expect) in [
        (&["weight", "2", "101"][..], "tallyring: weight: weight: at most 100\n"),
        (&["weight", "9", "1"], "tallyring: node 9 is not a member\n"),
        (&["leave", "9"], "tallyring: node 9 is not a member\n"),
    ] {
        assert_eq!(cluster_at(first, args), (1, expect.to_owned()), "{args:?}");
    }
    let (code, said) = cluster(&["join", "10.0.0.1:4174"]);
    assert!(code == 2 && said.ends_with("tallyring serve --node-id N --data DIR --join 10.0.0.1:4174\n"), "{said}");
}
