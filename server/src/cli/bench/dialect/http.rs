//! The HTTP door: a check of explicit numbers by `POST /v1/limit`, on a connection that is kept.

use serde_json::json;
use tallyring_engine::Limit;

use super::{Answer, Dialect, Misunderstood, Read};
use crate::cli::bench::accounts::Accounts;
use crate::cli::bench::numbers;
use crate::cli::bench::template::Template;

/// Longest head and longest body that are believed, in bytes.
const HEAD_BYTES_MAX: usize = 16 * 1024;
const BODY_BYTES_MAX: usize = 64 * 1024;

/// Accounts under these numbers, which every call brings along. `host` is the node's address.
pub(in crate::cli::bench) fn dialect(host: &str, token: &str, accounts: &Accounts, limit: &Limit) -> Dialect {
    let call = |cost| {
        Template::new(accounts, |key, out| {
            let body = body(key, limit, cost);
            out.extend_from_slice(head("POST /v1/limit", host, token).as_bytes());
            let described = format!("Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            out.extend_from_slice(described.as_bytes());
        })
    };
    let greeting = head("GET /livez", host, token) + "\r\n";
    Dialect { greeting: greeting.into_bytes(), ask: call(1), drain: call(limit.ceiling()), read }
}

fn head(what: &str, host: &str, token: &str) -> String {
    let authorization = if token.is_empty() { String::new() } else { format!("Authorization: Bearer {token}\r\n") };
    format!("{what} HTTP/1.1\r\nHost: {host}\r\n{authorization}")
}

fn body(key: &str, limit: &Limit, cost: u64) -> String {
    let mut body = json!({
        "key": key,
        "algorithm": limit.algorithm().name(),
        "limit": limit.limit(),
        "period_us": numbers::period_us(limit),
        "cost": cost,
    });
    if let Some(burst) = limit.burst() {
        body["burst"] = burst.into();
    }
    body.to_string()
}

fn read(bytes: &[u8]) -> Read<Answer> {
    let Some(head_end) = find(bytes, b"\r\n\r\n") else {
        let is_endless = bytes.len() > HEAD_BYTES_MAX;
        return if is_endless { Err(Misunderstood::new("a head without an end")) } else { Ok(None) };
    };
    let head = std::str::from_utf8(&bytes[..head_end]).map_err(|_| Misunderstood::new("not an answer of HTTP"))?;
    let (start, end) = (head_end + 4, head_end + 4 + body_bytes(head)?);
    let Some(body) = bytes.get(start..end) else { return Ok(None) };
    Ok(Some((answer(head, body)?, end)))
}

fn body_bytes(head: &str) -> Result<usize, Misunderstood> {
    let fields = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    let mut lengths = fields.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length = lengths.next().and_then(|(_, value)| value.trim().parse().ok());
    length.filter(|length| *length <= BODY_BYTES_MAX).ok_or(Misunderstood::new("a body of no or an impossible length"))
}

fn answer(head: &str, body: &[u8]) -> Result<Answer, Misunderstood> {
    match head.split_whitespace().nth(1) {
        Some("200") if find(body, b"\"allowed\":true").is_some() => Ok(Answer::Allowed),
        Some("200") if find(body, b"\"allowed\":false").is_some() => Ok(Answer::Denied),
        Some("200") => Ok(Answer::Ready),
        Some("503") => Ok(Answer::Undecided),
        _ => {
            let status = head.lines().next().unwrap_or_default();
            Err(Misunderstood::new(format!("{status}: {}", String::from_utf8_lossy(body).trim())))
        }
    }
}

/// Where `wanted` begins.
#[inline]
fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use tallyring_engine::Algorithm;

    use super::*;
    use crate::cli::bench::mix::Mix;

    #[test]
    fn a_question_is_an_event_of_its_account() {
        let accounts = Accounts { prefix: "rl".into(), count: 1_000 };
        let limit = numbers::load(Algorithm::TokenBucket, Mix::Uniform);
        let dialect = dialect("127.0.0.1:4171", "t", &accounts, &limit);
        let mut out = Vec::new();
        dialect.ask.write(7, &mut out);
        let text = String::from_utf8(out).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("POST /v1/limit HTTP/1.1\r\nHost: 127.0.0.1:4171\r\nAuthorization: Bearer t\r\n"));
        assert!(head.ends_with(&format!("Content-Length: {}", body.len())), "{head}");
        let expect = json!({"key": "rl:{acct_000007}:route", "algorithm": "token_bucket", "limit": 1,
            "period_us": 3_600_000_000_u64, "burst": 1_000, "cost": 1});
        assert_eq!(serde_json::from_str::<serde_json::Value>(body).unwrap(), expect);
    }

    fn check(status: &str, body: &str, expect: Result<Answer, &'static str>) {
        let text = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nx: y\r\n\r\n{body}", body.len());
        for cut in 0..text.len() {
            assert_eq!(read(&text.as_bytes()[..cut]), Ok(None), "the first {cut} bytes of {text:?}");
        }
        let expect = expect.map(|answer| Some((answer, text.len()))).map_err(Misunderstood::new);
        assert_eq!(read((text + "HTTP/1.1 ").as_bytes()), expect);
    }

    #[test]
    fn replies_are_told_apart_when_they_have_arrived_whole() {
        check("200 OK", "{\"allowed\":true,\"limit\":1}", Ok(Answer::Allowed));
        check("200 OK", "{\"allowed\":false,\"limit\":1}", Ok(Answer::Denied));
        check("200 OK", "alive", Ok(Answer::Ready));
        check("503 Service Unavailable", "{}", Ok(Answer::Undecided));
        check("401 Unauthorized", "who?", Err("HTTP/1.1 401 Unauthorized: who?"));
    }

    #[test]
    fn what_is_no_reply_ends_the_conversation() {
        assert!(read(b"HTTP/1.1 200 OK\r\n\r\n").is_err(), "no length");
        assert!(read(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n").is_err());
        assert!(read(&[b'x'; HEAD_BYTES_MAX + 1]).is_err());
    }
}
