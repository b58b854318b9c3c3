//! Who may do what.

use tallyring_tests::resp::{Answer, Connection};

use crate::system::{ADMIN, CLIENT, config, with_node, with_tokens};

fn ok() -> Answer {
    Answer::Simple("OK".into())
}

#[tokio::test]
async fn a_stranger_may_only_say_who_he_is() {
    with_node(with_tokens(config(1)), |address| {
        let mut connection = Connection::open(address);
        assert_eq!(connection.ask("PING"), Answer::Simple("PONG".into()));
        for command in ["CL.THROTTLE k 1 1 1", "GET k", "INFO", "CLIENT ID", "TR.RESET k"] {
            assert_eq!(connection.ask(command).error(), "NOAUTH Authentication required.", "{command}");
        }
        assert!(connection.ask("HELLO 3").error().starts_with("NOAUTH HELLO must be called"));
        assert_eq!(connection.ask(&format!("AUTH {CLIENT}")), ok());
        assert_eq!(connection.ask("CL.THROTTLE k 1 1 1").integers()[0], 0);
    })
    .await;
}

#[tokio::test]
async fn a_token_comes_alone_or_behind_a_name_or_in_the_hello() {
    with_node(with_tokens(config(1)), |address| {
        for command in [format!("AUTH {CLIENT}"), format!("AUTH default {CLIENT}")] {
            assert_eq!(Connection::open(address).ask(&command), ok());
        }
        let mut connection = Connection::open(address);
        let hello = connection.ask(&format!("hello 3 auth default {CLIENT} setname gw-1"));
        assert!(matches!(hello, Answer::Array(pairs) if pairs.len() == 14));
        assert_eq!(connection.ask("CLIENT GETNAME"), Answer::Bulk("gw-1".into()));
        assert_eq!(connection.ask("RESET"), Answer::Simple("RESET".into()));
        assert_eq!(connection.ask("CLIENT GETNAME").error(), "NOAUTH Authentication required.");
    })
    .await;
}

#[tokio::test]
async fn a_wrong_token_is_not_repeated_and_ends_the_connection_when_it_comes_again() {
    with_node(with_tokens(config(1)), |address| {
        let mut connection = Connection::open(address);
        for command in ["AUTH s3cret", "AUTH default s3cret", "HELLO 3 AUTH default s3cret"] {
            let answer = connection.ask(command);
            assert_eq!(answer.error(), "WRONGPASS invalid username-password pair or user is disabled.");
        }
        assert_eq!(connection.answer(), Answer::Closed);
        let mut connection = Connection::open(address);
        assert!(!connection.ask("HELLO 3 AUTHH default s3cret").error().contains("s3cret"));
    })
    .await;
}

#[tokio::test]
async fn a_reset_of_a_key_needs_an_admin() {
    with_node(with_tokens(config(2)), |address| {
        let mut client = Connection::open(address);
        client.ask(&format!("AUTH {CLIENT}"));
        assert_eq!(client.ask("TR.CHECK k fixed_window 5 CAL.MONTH COST 5").integers()[2], 0);
        assert_eq!(client.ask("TR.RESET k").error(), "NOPERM TR.RESET: it needs an admin's token");
        let mut admin = Connection::open(address);
        admin.ask(&format!("AUTH {ADMIN}"));
        assert_eq!(admin.ask("TR.RESET k"), Answer::Integer(1));
        assert_eq!(admin.ask("TR.RESET k"), Answer::Integer(0));
        assert_eq!(client.ask("TR.CHECK k fixed_window 5 CAL.MONTH").integers()[2], 4);
    })
    .await;
}

#[tokio::test]
async fn a_stranger_gets_little_room() {
    with_node(with_tokens(config(1)), |address| {
        for bytes in [&b"*11\r\n"[..], b"*1\r\n$20000\r\n"] {
            let mut connection = Connection::open(address);
            connection.send(bytes);
            assert!(connection.answer().error().starts_with("ERR Protocol error: invalid"));
            assert_eq!(connection.answer(), Answer::Closed);
        }
    })
    .await;
}
