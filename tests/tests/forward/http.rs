//! HTTP: every question about a key has the owner's answer, and a request over rules of several nodes is all or nothing.

use serde_json::{Value, json};
use tallyring::sys::clock::Clock;
use tallyring_tests::cluster::Cluster;

use super::play;
use super::web::ask;

const RULES: &str = r#"
[[rule]]
id = "per-client"
group = "client"
key = ["client"]
algorithm = "fixed_window"
limit = 1000
window = "1d"

[[rule]]
id = "per-ip"
group = "ip"
key = ["ip"]
algorithm = "fixed_window"
limit = 2
window = "1d"
"#;

#[tokio::test]
async fn what_one_rule_denies_is_charged_to_no_rule_of_any_node() {
    let cluster = Cluster::start(3, 2, Clock::start).await;
    let addresses = [0, 1, 2].map(|at| cluster.nodes[at].http_addr());
    play(move || {
        let (status, said) = put_rules(addresses[1]);
        assert_eq!(status, 200, "{said}");
        std::thread::sleep(std::time::Duration::from_secs(1)); // all nodes follow within a tenth of that
        for ip in 0..12 {
            let check = |at: usize| {
                let body = json!({ "client": "one", "ip": format!("203.0.113.{ip}"), "method": "GET", "path": "/" });
                let (status, said) = ask(addresses[at % 3], "POST", "/v1/check", &body.to_string());
                assert_eq!(status, 200, "{said}");
                said
            };
            let calls: Vec<Value> = (0..6).map(check).collect();
            let allowed = calls.iter().filter(|said| said["allowed"] == json!(true)).count();
            assert_eq!(allowed, 2, "{calls:?}");
            let of_client = calls[5]["checks"].as_array().unwrap().iter().find(|check| check["rule"] == "per-client");
            assert_eq!(of_client.unwrap()["remaining"], json!(1_000 - 2 * (ip + 1)), "{calls:?}");
        }
    })
    .await;
    cluster.stop().await;
}

fn put_rules(at: std::net::SocketAddr) -> (u16, Value) {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(at).unwrap();
    let head = "PUT /v1/rules HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nIf-Match: *\r\nContent-Type: application/toml";
    write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{RULES}", RULES.len()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, Value::String(answer))
}

#[tokio::test]
async fn a_key_is_looked_at_and_reset_through_any_node() {
    let cluster = Cluster::start(3, 2, Clock::start).await;
    let addresses = [0, 1, 2].map(|at| cluster.nodes[at].http_addr());
    play(move || {
        for no in 0..12 {
            let path = format!("/v1/keys/k{no}");
            let event = json!({ "op": "check", "key": format!("k{no}"), "algorithm": "token_bucket", "limit": 9,
                "period_us": 86_400_000_000_u64, "cost": 4 });
            let (status, said) = ask(addresses[0], "POST", "/v1/limit", &event.to_string());
            assert_eq!((status, &said["remaining"]), (200, &json!(5)), "{said}");
            let (status, held) = ask(addresses[1], "GET", &path, "");
            assert_eq!((status, &held["budgets"][0]["remaining"]), (200, &json!(5)), "{held}");
            assert_eq!(ask(addresses[2], "DELETE", &path, ""), (200, json!({ "found": true })));
            let (_, held) = ask(addresses[0], "GET", &path, "");
            assert_eq!(held["budgets"], json!([]));
        }
    })
    .await;
    cluster.stop().await;
}
