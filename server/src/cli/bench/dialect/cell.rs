//! The RESP door: the same token bucket by `CL.THROTTLE`, as a service asks that comes from redis-cell.

use super::resp::{self, Resp};
use super::{Answer, Dialect, Misunderstood, Read};
use crate::cli::bench::accounts::Accounts;
use crate::cli::bench::bucket::Bucket;
use crate::cli::bench::template::Template;

const SECOND_US: u64 = 1_000_000;

/// Token buckets of these numbers, which every call brings along.
pub(in crate::cli::bench) fn dialect(token: &str, accounts: &Accounts, bucket: Bucket) -> Dialect {
    Dialect {
        greeting: greeting(token),
        ask: call(accounts, bucket, 1),
        drain: call(accounts, bucket, bucket.burst),
        read,
    }
}

fn greeting(token: &str) -> Vec<u8> {
    let mut out = Vec::new();
    match token {
        "" => resp::command(&[b"PING"], &mut out),
        token => resp::command(&[b"AUTH", token.as_bytes()], &mut out),
    }
    out
}

/// A bucket of redis-cell holds one more than its burst.
fn call(accounts: &Accounts, bucket: Bucket, quantity: u64) -> Template {
    let numbers = [bucket.burst - 1, bucket.limit, bucket.period_us / SECOND_US, quantity];
    let [burst, count, period_s, quantity] = numbers.map(|number| number.to_string().into_bytes());
    Template::new(accounts, |key, out| {
        resp::command(&[b"CL.THROTTLE", key.as_bytes(), &burst, &count, &period_s, &quantity], out);
    })
}

fn read(bytes: &[u8]) -> Read<Answer> {
    let Some((reply, taken)) = resp::read(bytes)? else { return Ok(None) };
    let answer = match reply {
        Resp::Integers(0) => Answer::Allowed,
        Resp::Integers(1) => Answer::Denied,
        Resp::Simple(b"PONG" | b"OK") => Answer::Ready,
        Resp::Error(text) if is_undecided(text) => Answer::Undecided,
        Resp::Error(text) => return Err(Misunderstood::new(String::from_utf8_lossy(text).into_owned())),
        _ => return Err(Misunderstood::new("an answer that the command does not give")),
    };
    Ok(Some((answer, taken)))
}

fn is_undecided(error: &[u8]) -> bool {
    [&b"FULL "[..], b"OVERLOADED ", b"UNAVAILABLE "].iter().any(|word| error.starts_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::bench::bucket::LOAD;

    #[test]
    fn a_question_is_a_throttle_of_its_account() {
        let accounts = Accounts { prefix: "rl".into(), count: 1_000 };
        let mut out = Vec::new();
        dialect("", &accounts, LOAD).ask.write(7, &mut out);
        let expect = "*6 $11 CL.THROTTLE $22 rl:{acct_000007}:route $3 999 $1 1 $4 3600 $1 1 ";
        assert_eq!(String::from_utf8(out).unwrap().replace("\r\n", " "), expect);
    }

    #[test]
    fn whoever_has_a_token_shows_it_first() {
        let accounts = Accounts { prefix: "rl".into(), count: 10 };
        assert_eq!(dialect("t", &accounts, LOAD).greeting, b"*2\r\n$4\r\nAUTH\r\n$1\r\nt\r\n");
    }

    #[test]
    fn replies_are_told_apart() {
        let check = |bytes: &[u8], expect| assert_eq!(read(bytes), Ok(Some((expect, bytes.len()))));
        check(b"*5\r\n:0\r\n:9\r\n:0\r\n:-1\r\n:5\r\n", Answer::Allowed);
        check(b"*5\r\n:1\r\n:9\r\n:0\r\n:5\r\n:5\r\n", Answer::Denied);
        check(b"+OK\r\n", Answer::Ready);
        check(b"-FULL CL.THROTTLE: no room\r\n", Answer::Undecided);
        assert_eq!(read(b"-NOAUTH who?\r\n"), Err(Misunderstood::new("NOAUTH who?")));
    }
}
