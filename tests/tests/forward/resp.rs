//! RESP: commands about keys of three nodes, asked of each of them.

use tallyring::sys::clock::Clock;
use tallyring_tests::cluster::Cluster;
use tallyring_tests::resp::{Answer, Connection, command};

fn ask(connection: &mut Connection, words: &str) -> Answer {
    let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
    connection.send(&command(&words));
    connection.answer()
}

/// Runs what blocks beside the nodes' own threads.
async fn play<T: Send + 'static>(play: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(play).await.unwrap()
}

/// Case clus-owner-01: a node that answered from a count of its own would say yes to half of the calls.
#[tokio::test]
async fn of_thirty_calls_to_two_nodes_one_is_admitted() {
    let cluster = Cluster::start(2, 2, Clock::start).await;
    let addresses = [0, 1].map(|at| cluster.nodes[at].resp_addr());
    play(move || {
        let mut doors = addresses.map(Connection::open);
        for key in 0..20 {
            let calls =
                (0..30).map(|call| ask(&mut doors[call % 2], &format!("TR.CHECK k{key} token_bucket 1 30000000")));
            let admitted: i64 = calls.map(|answer| answer.integers()[0]).sum();
            assert_eq!(admitted, 1, "k{key}");
        }
    })
    .await;
    cluster.stop().await;
}
