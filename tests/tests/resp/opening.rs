//! What stock clients say first, byte by byte as they were seen to; the clients themselves are tried in `tests/resp-clients`.

use tallyring_tests::resp::{Answer, Connection, command};

use crate::system::{CLIENT, config, with_node, with_tokens};

fn pairs(answer: &Answer) -> Vec<(String, Answer)> {
    let Answer::Array(elements) = answer else { panic!("no map: {answer:?}") };
    let pair = |pair: &[Answer]| match pair {
        [Answer::Bulk(name), value] => (name.clone(), value.clone()),
        other => panic!("no pair: {other:?}"),
    };
    elements.chunks(2).map(pair).collect()
}

#[tokio::test]
async fn a_hello_says_the_version_that_is_spoken_from_then_on() {
    with_node(config(1), |address| {
        for version in [2, 3] {
            let mut connection = Connection::open(address);
            let hello = pairs(&connection.ask(&format!("HELLO {version}")));
            let names: Vec<&str> = hello.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, ["server", "version", "proto", "id", "mode", "role", "modules"]);
            assert_eq!(hello[2].1, Answer::Integer(version));
            assert_eq!(connection.ask("CLIENT GETNAME"), Answer::Null);
        }
        let mut connection = Connection::open(address);
        assert_eq!(connection.ask("HELLO 4").error(), "NOPROTO unsupported protocol version");
        assert_eq!(pairs(&connection.ask("HELLO"))[2].1, Answer::Integer(2));
    })
    .await;
}

/// go-redis 9: HELLO 3 with the credentials, then its name and its library in one pipeline.
#[tokio::test]
async fn go_redis_opens_a_connection() {
    with_node(with_tokens(config(2)), |address| {
        let mut connection = Connection::open(address);
        connection.send(&command(&["hello", "3", "auth", "default", CLIENT]));
        assert_eq!(pairs(&connection.answer())[2].1, Answer::Integer(3));
        let pipeline = [
            command(&["client", "setname", "gateway"]),
            command(&["client", "setinfo", "LIB-NAME", "go-redis(,go1.24)"]),
            command(&["client", "setinfo", "LIB-VER", "9.14.0"]),
            command(&["client", "maint_notifications", "on", "moving-endpoint-type", "internal-ip"]),
            command(&["cl.throttle", "k", "5", "5", "5", "1"]),
        ];
        connection.send(&pipeline.concat());
        (0..3).for_each(|_| assert_eq!(connection.answer(), Answer::Simple("OK".into())));
        assert!(connection.answer().error().starts_with("ERR unknown subcommand 'maint_notifications'"));
        assert_eq!(connection.answer().integers()[0], 0);
    })
    .await;
}

/// go-redis falls back to RESP2 if it is told `ERR unknown command`; nobody is told that here of what stock clients open with.
#[tokio::test]
async fn what_clients_open_with_is_known() {
    with_node(config(1), |address| {
        let mut connection = Connection::open(address);
        for words in
            ["PING", "ECHO hi", "INFO server", "COMMAND", "COMMAND COUNT", "COMMAND DOCS", "CLIENT ID", "SELECT 0"]
        {
            assert_eq!(connection.ask(words).error(), "", "{words}");
        }
        let Answer::Array(commands) = connection.ask("COMMAND") else { panic!("no list") };
        assert_eq!(connection.ask("COMMAND COUNT"), Answer::Integer(commands.len() as i64));
        let Answer::Array(some) = connection.ask("COMMAND INFO nobody ping") else { panic!("no list") };
        assert!(matches!(&some[..], [Answer::Null, Answer::Array(ping)] if ping[0] == Answer::Bulk("ping".into())));
        let Answer::Array(names) = connection.ask("COMMAND LIST") else { panic!("no list") };
        assert!(names.len() == commands.len() && names.contains(&Answer::Bulk("cl.throttle".into())), "{names:?}");
        assert_eq!(connection.ask("SELECT 1").error(), "ERR DB index is out of range");
        assert_eq!(connection.ask("CLIENT SETNAME gw"), Answer::Simple("OK".into()));
        let Answer::Bulk(line) = connection.ask("CLIENT INFO") else { panic!("no line") };
        assert!(line.contains(" name=gw ") && line.ends_with("resp=2\n"), "{line}");
    })
    .await;
}
