//! The RESP door: a token bucket by `CL.THROTTLE`, as a service asks that comes from redis-cell; the other algorithms by
//! `TR.CHECK`.

use tallyring_engine::{Algorithm, Limit};

use super::resp::{self, Resp};
use super::{Answer, Dialect, Misunderstood, Read};
use crate::cli::bench::accounts::Accounts;
use crate::cli::bench::numbers;
use crate::cli::bench::template::Template;

const SECOND_US: u64 = 1_000_000;

/// Accounts under these numbers, which every call brings along.
pub(in crate::cli::bench) fn dialect(token: &str, accounts: &Accounts, limit: &Limit) -> Dialect {
    let greeting = greeting(token);
    match limit.algorithm() {
        Algorithm::TokenBucket => Dialect {
            greeting,
            ask: throttle(accounts, limit, 1),
            drain: throttle(accounts, limit, limit.ceiling()),
            read: throttled,
        },
        _ => Dialect {
            greeting,
            ask: check(accounts, limit, 1),
            drain: check(accounts, limit, limit.ceiling()),
            read: checked,
        },
    }
}

/// What the command is called that asks under this algorithm.
pub(in crate::cli::bench) fn command(algorithm: Algorithm) -> &'static str {
    if algorithm == Algorithm::TokenBucket { "CL.THROTTLE" } else { "TR.CHECK" }
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
fn throttle(accounts: &Accounts, limit: &Limit, quantity: u64) -> Template {
    let numbers = [limit.ceiling() - 1, limit.limit(), numbers::period_us(limit) / SECOND_US, quantity];
    let [burst, count, period_s, quantity] = numbers.map(|number| number.to_string().into_bytes());
    Template::new(accounts, |key, out| {
        resp::command(&[b"CL.THROTTLE", key.as_bytes(), &burst, &count, &period_s, &quantity], out);
    })
}

fn check(accounts: &Accounts, limit: &Limit, cost: u64) -> Template {
    let algorithm = limit.algorithm().name().as_bytes();
    let numbers = [limit.limit(), numbers::period_us(limit), cost].map(|number| number.to_string().into_bytes());
    let burst = limit.burst().map(|burst| burst.to_string().into_bytes());
    Template::new(accounts, |key, out| {
        let [limit, period_us, cost] = &numbers;
        let mut parts = vec![b"TR.CHECK", key.as_bytes(), algorithm, limit, period_us, b"COST", cost];
        if let Some(burst) = &burst {
            parts.extend([&b"BURST"[..], burst]);
        }
        resp::command(&parts, out);
    })
}

/// `CL.THROTTLE` says whether a call is limited.
fn throttled(bytes: &[u8]) -> Read<Answer> {
    read(bytes, [Answer::Allowed, Answer::Denied])
}

/// `TR.CHECK` says whether it is allowed.
fn checked(bytes: &[u8]) -> Read<Answer> {
    read(bytes, [Answer::Denied, Answer::Allowed])
}

/// Reads a reply whose first integer chooses a meaning.
fn read(bytes: &[u8], meanings: [Answer; 2]) -> Read<Answer> {
    let Some((reply, taken)) = resp::read(bytes)? else { return Ok(None) };
    let answer = match reply {
        Resp::Integers(first @ (0 | 1)) => meanings[usize::from(first == 1)],
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
    use crate::cli::bench::mix::Mix;

    fn check_question(algorithm: Algorithm, expect: &str) {
        let accounts = Accounts { prefix: "rl".into(), count: 1_000 };
        let (limit, mut out) = (numbers::load(algorithm, Mix::Uniform), Vec::new());
        dialect("", &accounts, &limit).ask.write(7, &mut out);
        assert_eq!(String::from_utf8(out).unwrap().replace("\r\n", " "), expect);
    }

    #[test]
    fn a_question_is_a_throttle_or_a_check_of_its_account() {
        check_question(
            Algorithm::TokenBucket,
            "*6 $11 CL.THROTTLE $22 rl:{acct_000007}:route $3 999 $1 1 $4 3600 $1 1 ",
        );
        check_question(
            Algorithm::SlidingCounter,
            "*7 $8 TR.CHECK $22 rl:{acct_000007}:route $15 sliding_counter $4 1000 $14 34560000000000 $4 COST $1 1 ",
        );
        check_question(
            Algorithm::LeakyBucket,
            "*9 $8 TR.CHECK $22 rl:{acct_000007}:route $12 leaky_bucket $1 1 $10 3600000000 $4 COST $1 1 $5 BURST $4 1000 ",
        );
    }

    #[test]
    fn whoever_has_a_token_shows_it_first() {
        assert_eq!(greeting("t"), b"*2\r\n$4\r\nAUTH\r\n$1\r\nt\r\n");
    }

    #[test]
    fn replies_are_told_apart() {
        let check = |bytes: &[u8], read: fn(&[u8]) -> Read<Answer>, expect| {
            assert_eq!(read(bytes), Ok(Some((expect, bytes.len()))));
        };
        check(b"*5\r\n:0\r\n:9\r\n:0\r\n:-1\r\n:5\r\n", throttled, Answer::Allowed);
        check(b"*5\r\n:1\r\n:9\r\n:0\r\n:5\r\n:5\r\n", throttled, Answer::Denied);
        check(b"*5\r\n:1\r\n:9\r\n:0\r\n:0\r\n:5\r\n", checked, Answer::Allowed);
        check(b"*5\r\n:0\r\n:9\r\n:0\r\n:5\r\n:5\r\n", checked, Answer::Denied);
        check(b"+OK\r\n", throttled, Answer::Ready);
        check(b"-FULL CL.THROTTLE: no room\r\n", throttled, Answer::Undecided);
        assert_eq!(throttled(b"-NOAUTH who?\r\n"), Err(Misunderstood::new("NOAUTH who?")));
        assert!(throttled(b"*5\r\n:2\r\n:9\r\n:0\r\n:0\r\n:5\r\n").is_err());
    }
}
