//! RESP: commands about keys of three nodes, asked of each of them.

use tallyring::sys::clock::Clock;
use tallyring_tests::cluster::Cluster;
use tallyring_tests::resp::{Answer, Connection, command};

use super::play;

fn bytes(words: &str) -> Vec<u8> {
    command(&words.split(' ').map(str::to_owned).collect::<Vec<String>>())
}

fn ask(connection: &mut Connection, words: &str) -> Answer {
    connection.send(&bytes(words));
    connection.answer()
}

/// Case clus-owner-01: a node that answered from a count of its own would say yes to half of the calls.
#[tokio::test]
async fn of_thirty_calls_to_two_nodes_one_is_admitted() {
    let cluster = Cluster::start(2, 2, Clock::start).await;
    let addresses = [0, 1].map(|at| cluster.nodes[at].resp_addr());
    play(move || {
        let mut doors = addresses.map(Connection::open);
        for key in 0..20 {
            let check = format!("TR.CHECK k{key} token_bucket 1 30000000");
            let calls = (0..30).map(|call| ask(&mut doors[call % 2], &check));
            let admitted: i64 = calls.map(|answer| answer.integers()[0]).sum();
            assert_eq!(admitted, 1, "k{key}");
        }
    })
    .await;
    cluster.stop().await;
}

/// More commands than may be open at once: the connection waits, nobody is told that there is too much to do.
#[tokio::test]
async fn a_long_pipeline_over_keys_of_three_nodes_is_answered_in_its_order() {
    let cluster = Cluster::start(3, 2, Clock::start).await;
    let address = cluster.nodes[0].resp_addr();
    play(move || {
        let mut door = Connection::open(address);
        let pipeline: Vec<u8> =
            (0..3_000).flat_map(|no| bytes(&format!("TR.CHECK k{} token_bucket 1000 86400000000", no % 50))).collect();
        door.send(&pipeline);
        for no in 0..3_000 {
            assert_eq!(door.answer().integers()[..3], [1, 1_000, 999 - no / 50], "command {no}");
        }
    })
    .await;
    cluster.stop().await;
}

#[tokio::test]
async fn every_command_is_done_by_the_owner() {
    let cluster = Cluster::start(3, 2, Clock::start).await;
    let addresses = [0, 1, 2].map(|at| cluster.nodes[at].resp_addr());
    play(move || {
        let [mut a, mut b, mut c] = addresses.map(Connection::open);
        let integers = |door: &mut Connection, words: &str| ask(door, words).integers();
        assert_eq!(integers(&mut a, "TR.RESERVE KEY r1 60000000 fixed_window 10 86400000000 COST 6")[..3], [1, 10, 4]);
        assert_eq!(integers(&mut b, "TR.CHECK KEY fixed_window 10 86400000000 COST 5")[..3], [0, 10, 4]);
        assert_eq!(integers(&mut c, "TR.SETTLE KEY r1 1")[..2], [1, 9]);
        assert_eq!(integers(&mut a, "TR.SETTLE KEY r1 1"), [0, -1, -1]);
        assert_eq!(integers(&mut b, "TR.TAKE KEY fixed_window 10 86400000000 COST 20")[..2], [9, 0]);
        assert_eq!(integers(&mut c, "TR.REFUND KEY fixed_window 10 86400000000 COST 4")[..3], [1, 10, 4]);
        assert_eq!(integers(&mut a, "TR.ACQUIRE KEY me 1 60000000")[..3], [1, 1, 1]);
        assert_eq!(integers(&mut b, "TR.ACQUIRE KEY you 1 60000000")[..3], [0, 1, 1]);
        assert_eq!(integers(&mut c, "TR.RELEASE KEY me"), [1, 0]);
        assert_eq!(integers(&mut b, "CL.THROTTLE KEY 4 5 60")[..3], [0, 5, 4]);
        assert_eq!(integers(&mut a, "CL.THROTTLE KEY 4 5 60")[..3], [0, 5, 3]);
        for (door, found) in [(&mut b, 1), (&mut a, 0)] {
            assert_eq!(ask(door, "TR.RESET KEY"), Answer::Integer(found));
        }
    })
    .await;
    cluster.stop().await;
}
