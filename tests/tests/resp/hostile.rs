//! Hostile bytes: a precise error or a closed connection, others unaffected, nothing without a bound.

use std::net::SocketAddr;

use tallyring_tests::resp::{Answer, Connection, command};

use crate::system::{config, with_node};

/// A client that must not notice what the others do.
fn is_served(address: SocketAddr) {
    assert_eq!(Connection::open(address).ask("CL.THROTTLE witness 99 9 9 0").integers()[0], 0);
}

/// What is said to bytes that are no command, before the connection ends.
fn check(address: SocketAddr, bytes: &[u8], expect: &str) {
    let mut connection = Connection::open(address);
    connection.send(bytes);
    assert_eq!(connection.answer().error(), format!("ERR Protocol error: {expect}"), "{}", bytes.escape_ascii());
    assert_eq!(connection.answer(), Answer::Closed);
}

/// proto-len-01 and proto-nil-01, in the words of RESP: a length is compared before anything is waited for, and a null is no
/// argument.
#[tokio::test]
async fn bytes_that_are_no_command_end_the_connection_with_the_reason() {
    with_node(config(2), |address| {
        check(address, b"*5500000000000000000\r\n", "invalid multibulk length");
        check(address, b"*1\r\n$536870912\r\n", "invalid bulk length");
        check(address, b"*2\r\n$4\r\nECHO\r\n$-1\r\n", "invalid bulk length");
        check(address, b"*2\r\n$4\r\nECHO\r\n*1\r\n", "expected '$', got '*'");
        check(address, b"*2\r\n$4\r\nECHO\r\n_\r\n", "expected '$', got '_'");
        check(address, &b"x".repeat(70_000), "too big inline request");
        check(address, b"ECHO \"a\r\n", "unbalanced quotes in request");
        check(address, b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\nTR.RESET k\r\n", "this port speaks RESP, not HTTP");
        is_served(address);
    })
    .await;
}

#[tokio::test]
async fn what_came_before_nonsense_is_answered() {
    with_node(config(2), |address| {
        let mut connection = Connection::open(address);
        connection.send(b"CL.THROTTLE a 1 1 60\r\nCL.THROTTLE b 1 1 60\r\n*x\r\n");
        assert_eq!(connection.answer().integers()[0], 0);
        assert_eq!(connection.answer().integers()[0], 0);
        assert_eq!(connection.answer().error(), "ERR Protocol error: invalid multibulk length");
        assert_eq!(connection.answer(), Answer::Closed);
    })
    .await;
}

#[tokio::test]
async fn an_empty_array_and_an_empty_line_have_no_answer() {
    with_node(config(1), |address| {
        let mut connection = Connection::open(address);
        connection.send(b"*0\r\n\r\n   \r\n*-1\r\nPING\r\n");
        assert_eq!(connection.answer(), Answer::Simple("PONG".into()));
    })
    .await;
}

#[tokio::test]
async fn a_new_limit_with_every_command_takes_no_room_from_others() {
    with_node(config(2), |address| {
        let mut flood = Connection::open(address);
        for first in (0..20_000).step_by(500) {
            let limits = first..first + 500;
            let commands = limits.map(|n| command(&["CL.THROTTLE", "k", &n.to_string(), "7", "60", "0"]));
            flood.send(&commands.flatten().collect::<Vec<u8>>());
            (first..first + 500).for_each(|n| assert_eq!(flood.answer().integers()[1], n + 1));
        }
        is_served(address);
    })
    .await;
}

#[tokio::test]
async fn noise_is_answered_or_cut_off() {
    with_node(config(2), |address| {
        let mut state = 1_u64;
        let mut noise = |len: usize| -> Vec<u8> {
            let next = |_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 56) as u8
            };
            (0..len).map(next).collect()
        };
        for n in 0..200 {
            let mut connection = Connection::open(address);
            connection
                .send(&[[&b"*2\r\n$4\r\nECHO\r\n"[..], b"*1\r\n", b"", b"$5\r\n"][n % 4], &noise(n * 7)].concat());
            connection.finish();
            while connection.answer() != Answer::Closed {}
        }
        is_served(address);
    })
    .await;
}

#[tokio::test]
async fn a_peer_that_never_reads_blocks_nobody_and_is_not_read_either() {
    with_node(config(2), |address| {
        let mut deaf = Connection::open(address);
        let flood = command(&["ECHO", &"x".repeat(8 * 1_024)]).repeat(16);
        let mut sent = 0;
        while deaf.send_now(&flood) {
            sent += flood.len();
            assert!(sent < 256 << 20, "the server takes bytes that it cannot answer");
        }
        is_served(address);
    })
    .await;
}
