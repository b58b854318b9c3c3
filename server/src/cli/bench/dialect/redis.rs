//! Redis and its relatives: the same counters as scripts, called by their digests.

use tallyring_engine::{Algorithm, Limit};

use super::resp::{self, Resp};
use super::{Answer, Dialect, Misunderstood, Read};
use crate::cli::bench::accounts::Accounts;
use crate::cli::bench::numbers;
use crate::cli::bench::template::Template;

/// An algorithm in the words of Redis; `None` if there is no script for it here.
pub(in crate::cli::bench) fn script(algorithm: Algorithm) -> Option<&'static str> {
    match algorithm {
        Algorithm::TokenBucket => Some(include_str!("../scripts/token_bucket.lua")),
        Algorithm::FixedWindow => Some(include_str!("../scripts/fixed_window.lua")),
        Algorithm::SlidingCounter => Some(include_str!("../scripts/sliding_counter.lua")),
        Algorithm::LeakyBucket | Algorithm::SlidingLog | Algorithm::Concurrency => None,
    }
}

/// What a server says of itself, and the digest by which it knows the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli::bench) struct Introduction {
    /// Such as `redis 7.0.15`.
    pub(in crate::cli::bench) version: String,
    digest: Vec<u8>,
}

/// What is asked of a server once, before any connection of the load: its version, and to learn the script.
pub(in crate::cli::bench) fn introduce(script: &str) -> Vec<u8> {
    let mut out = Vec::new();
    resp::command(&[b"INFO", b"server"], &mut out);
    resp::command(&[b"SCRIPT", b"LOAD", script.as_bytes()], &mut out);
    out
}

/// Reads the answers to [`introduce`].
pub(in crate::cli::bench) fn introduction(bytes: &[u8]) -> Read<Introduction> {
    let Some((info, taken)) = text(bytes)? else { return Ok(None) };
    let Some((digest, more)) = text(&bytes[taken..])? else { return Ok(None) };
    let version = version(&String::from_utf8_lossy(info));
    Ok(Some((Introduction { version, digest: digest.to_vec() }, taken + more)))
}

/// Accounts under these numbers, asked by script.
pub(in crate::cli::bench) fn dialect(known: &Introduction, accounts: &Accounts, limit: &Limit) -> Dialect {
    let call = |cost: u64| {
        let numbers = [limit.ceiling(), limit.limit(), numbers::period_us(limit), cost];
        let [burst, limit, period_us, cost] = numbers.map(|number| number.to_string().into_bytes());
        Template::new(accounts, |key, out| {
            let parts = [b"EVALSHA", &known.digest[..], b"1", key.as_bytes(), &burst, &limit, &period_us, &cost];
            resp::command(&parts, out);
        })
    };
    Dialect { greeting: greeting(), ask: call(1), drain: call(limit.ceiling()), read }
}

/// Not to ask for an account, but to forget it.
pub(in crate::cli::bench) fn forgetting(accounts: &Accounts) -> Dialect {
    let unlink = Template::new(accounts, |key, out| resp::command(&[b"UNLINK", key.as_bytes()], out));
    Dialect { greeting: greeting(), ask: unlink.clone(), drain: unlink, read }
}

fn greeting() -> Vec<u8> {
    let mut out = Vec::new();
    resp::command(&[b"PING"], &mut out);
    out
}

fn read(bytes: &[u8]) -> Read<Answer> {
    let Some((reply, taken)) = resp::read(bytes)? else { return Ok(None) };
    let answer = match reply {
        Resp::Integers(1) => Answer::Allowed,
        Resp::Integers(0) => Answer::Denied,
        Resp::Integer(_) => Answer::Undecided, // how many keys were forgotten
        Resp::Simple(b"PONG") => Answer::Ready,
        Resp::Error(text) => return Err(Misunderstood::new(String::from_utf8_lossy(text).into_owned())),
        _ => return Err(Misunderstood::new("an answer that the script does not give")),
    };
    Ok(Some((answer, taken)))
}

fn text(bytes: &[u8]) -> Read<&[u8]> {
    match resp::read(bytes)? {
        None => Ok(None),
        Some((Resp::Bulk(text), taken)) => Ok(Some((text, taken))),
        Some((Resp::Error(text), _)) => Err(Misunderstood::new(String::from_utf8_lossy(text).into_owned())),
        Some(_) => Err(Misunderstood::new("not a text where one belongs")),
    }
}

/// The server's name and version in the text of `INFO server`. Relatives call themselves Redis too, for their clients'
/// sake, and say who they are in a line of their own.
fn version(info: &str) -> String {
    let value = |name: &str| info.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let relative = value("valkey_version:").map(|version| format!("valkey {version}"));
    relative.unwrap_or_else(|| format!("redis {}", value("redis_version:").unwrap_or("of unknown version")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::bench::mix::Mix;

    #[test]
    fn a_server_introduces_itself_in_two_replies() {
        let whole = b"$22\r\nredis_version:7.0.15\r\n\r\n$4\r\nabcd\r\n";
        assert_eq!(introduction(&whole[..30]), Ok(None));
        let expect = Introduction { version: "redis 7.0.15".into(), digest: b"abcd".to_vec() };
        assert_eq!(introduction(whole), Ok(Some((expect, whole.len()))));
        assert_eq!(introduction(b"-NOAUTH who?\r\n"), Err(Misunderstood::new("NOAUTH who?")));
    }

    #[test]
    fn a_relative_goes_by_its_own_name() {
        assert_eq!(version("redis_version:7.2.4\r\nvalkey_version:8.0.1\r\n"), "valkey 8.0.1");
        assert_eq!(version(""), "redis of unknown version");
    }

    #[test]
    fn a_question_is_a_call_of_the_script() {
        let known = Introduction { version: String::new(), digest: b"d1".to_vec() };
        let accounts = Accounts { prefix: "rl".into(), count: 1_000 };
        let (limit, mut out) = (numbers::load(Algorithm::TokenBucket, Mix::Uniform), Vec::new());
        dialect(&known, &accounts, &limit).ask.write(7, &mut out);
        let expect = ["*8 $7 EVALSHA $2 d1 $1 1", "$22 rl:{acct_000007}:route", "$4 1000 $1 1 $10 3600000000 $1 1", ""];
        assert_eq!(String::from_utf8(out).unwrap().replace("\r\n", " "), expect.join(" "));
    }

    fn check(bytes: &[u8], expect: Answer) {
        assert_eq!(read(bytes), Ok(Some((expect, bytes.len()))));
    }

    #[test]
    fn replies_are_told_apart() {
        check(b"*4\r\n:1\r\n:9\r\n:0\r\n:5\r\n", Answer::Allowed);
        check(b"*4\r\n:0\r\n:0\r\n:5\r\n:5\r\n", Answer::Denied);
        check(b"+PONG\r\n", Answer::Ready);
        assert_eq!(read(b"-NOSCRIPT gone\r\n"), Err(Misunderstood::new("NOSCRIPT gone")));
        assert!(read(b"*4\r\n:2\r\n:0\r\n:5\r\n:5\r\n").is_err());
    }
}
