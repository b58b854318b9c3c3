//! Answers come in the order of their commands, whichever shards decide and however the bytes arrive.

use tallyring_tests::resp::{Answer, Connection, command};

use crate::system::{config, with_node};

/// Commands of all kinds on many keys, each with an answer that tells it from the others.
fn script() -> Vec<Vec<u8>> {
    let step = |n: usize| {
        let key = format!("key-{}", n % 17);
        match n % 7 {
            0 => command(&["ECHO", &n.to_string()]),
            1 => command(&["CL.THROTTLE", &key, "99", "100", "86400"]),
            2 => format!("ECHO {n}\r\n").into_bytes(),
            3 => command(&["TR.CHECK", &key, "fixed_window", &(1_000 + n).to_string(), "CAL.MONTH"]),
            4 => command(&["TR.ACQUIRE", &key, &n.to_string(), "500", "60000000"]),
            5 => command(&["CL.THROTTLE", &key, "0", "0", "1"]),
            _ => command(&["TR.RESERVE", &key, &n.to_string(), "60000000", "sliding_log", "1000", "86400000000"]),
        }
    };
    (0..700).map(step).collect()
}

/// What of an answer does not depend on the moment.
fn essence(answer: &Answer) -> Answer {
    match answer {
        Answer::Array(elements) => Answer::Array(elements[..3].to_vec()),
        other => other.clone(),
    }
}

/// The answers to the whole script, whose bytes arrive in pieces of these lengths, over and over.
fn answers(address: std::net::SocketAddr, pieces: &[usize]) -> Vec<Answer> {
    let mut connection = Connection::open(address);
    let (bytes, mut at) = (script().concat(), 0);
    for piece in pieces.iter().cycle() {
        let end = (at + piece).min(bytes.len());
        connection.send(&bytes[at..end]);
        at = end;
        if at == bytes.len() {
            break;
        }
    }
    script().iter().map(|_| essence(&connection.answer())).collect()
}

#[tokio::test]
async fn any_split_of_the_bytes_gets_the_same_answers_in_the_same_order() {
    for pieces in [&[usize::MAX][..], &[1_000], &[1, 2, 3, 5, 8, 13, 21], &[77, 1, 4_096]] {
        with_node(config(3), move |address| {
            let answers = answers(address, &pieces.iter().map(|len| (*len).min(1 << 20)).collect::<Vec<_>>());
            for (n, answer) in answers.iter().enumerate() {
                check(n, answer);
            }
            let denied = answers.iter().skip(1).step_by(7).map(|answer| answer.integers()[2]).min();
            assert!(denied.is_some_and(|remaining| remaining < 99), "the same keys came again");
        })
        .await;
    }
}

/// Each answer is to its own command.
fn check(n: usize, answer: &Answer) {
    match n % 7 {
        0 | 2 => assert_eq!(*answer, Answer::Bulk(n.to_string())),
        1 => assert_eq!(answer.integers()[..2], [0, 100]),
        3 => assert_eq!(answer.integers()[..2], [1, 1_000 + n as i64]),
        4 => assert_eq!(answer.integers()[..2], [1, 500]),
        5 => assert!(answer.error().starts_with("ERR CL.THROTTLE: count:"), "{answer:?}"),
        _ => assert_eq!(answer.integers()[..2], [1, 1_000]),
    }
}

#[tokio::test]
async fn a_peer_that_closes_its_side_still_gets_its_answers() {
    with_node(config(2), |address| {
        let mut connection = Connection::open(address);
        let commands: Vec<u8> =
            (0..200).flat_map(|n| command(&["CL.THROTTLE", &format!("k{n}"), "1", "1", "60"])).collect();
        connection.send(&commands);
        connection.finish();
        (0..200).for_each(|_| assert_eq!(connection.answer().integers()[0], 0));
        assert_eq!(connection.answer(), Answer::Closed);
    })
    .await;
}

#[tokio::test]
async fn quit_is_the_last_that_is_answered() {
    with_node(config(2), |address| {
        let mut connection = Connection::open(address);
        connection.send(b"CL.THROTTLE a 1 1 60\r\nCL.THROTTLE b 1 1 60\r\nQUIT\r\nPING\r\n");
        assert_eq!(connection.answer().integers()[0], 0);
        assert_eq!(connection.answer().integers()[0], 0);
        assert_eq!(connection.answer(), Answer::Simple("OK".into()));
        assert_eq!(connection.answer(), Answer::Closed);
    })
    .await;
}

/// Whichever shard decides it.
#[tokio::test]
async fn a_reserve_that_is_repeated_names_the_limit_that_it_was_charged_under() {
    with_node(config(2), |address| {
        let mut connection = Connection::open(address);
        for key in ["a", "b", "c", "d", "e", "f"] {
            let mut reserve = |limit: u64| {
                let words = format!("TR.RESERVE {key} job 60000000 fixed_window {limit} 86400000000 COST 4");
                connection.ask(&words).integers()[..3].to_vec()
            };
            assert_eq!(reserve(10), [1, 10, 6]);
            assert_eq!(reserve(50), [1, 10, 6]);
        }
    })
    .await;
}
