//! A caller of an API that has limits, to copy from: it waits as long as it is told, and a random time more.
//!
//! ```text
//! cargo run --release -- demo &
//! cargo run -p tallyring-client --example caller -- --url http://127.0.0.1:8080/hello --calls 15
//! ```
//! All calls start at once. Ten pass; the others are refused, wait, and come back one by one, until each has made its
//! attempts or the retry budget that they share is spent: ten retries, and one more for every ten successes.
//!
//! | flag | default | |
//! |---|---|---|
//! | `--url` | `http://127.0.0.1:8080/hello` | what is called |
//! | `--calls` | 15 | calls that are made at once, at most 1,000 |
//! | `--key` | `caller` | the value of `X-Api-Key` |
//! | `--attempts` | 3 | attempts of each call, the first included |

#![allow(clippy::disallowed_types, reason = "a program of its own: its sockets are nobody's to simulate")]
#![allow(clippy::disallowed_methods, reason = "a program of its own: nobody simulates its clock either")]

use std::error::Error;
use std::time::SystemTime;

use axum::http::{Request, StatusCode, Uri};
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use tallyring_client::retry::{Outcome, RetryConfig, RetryPolicy};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// Calls that may be asked for.
const CALLS_MAX: usize = 1_000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args = Args::parse(std::env::args().skip(1))?;

    // One policy for all calls to one server: together they may retry what its budget allows.
    let policy = RetryPolicy::new(RetryConfig { attempts_max: args.attempts, ..RetryConfig::default() });

    let mut calls = JoinSet::new();
    for number in 0..args.calls {
        calls.spawn(call(number, args.url.clone(), args.key.clone(), policy.clone()));
    }
    let statuses = calls.join_all().await;
    let passed = statuses.iter().filter(|status| status.is_some_and(|status| status.is_success())).count();
    println!("{passed} of {} calls passed; {} tokens are left in the budget", args.calls, policy.budget_tokens());
    Ok(())
}

/// Calls until it passes, or until the policy gives up. `None`: the last attempt had no answer.
async fn call(number: usize, url: Uri, key: String, policy: RetryPolicy) -> Option<StatusCode> {
    let mut attempts = policy.start();
    loop {
        let (said, status, outcome) = match attempt(&url, &key).await {
            Ok((status, outcome)) => (status.to_string(), Some(status), outcome),
            Err(error) => (error.to_string(), None, Outcome::Failed),
        };
        let Some(wait) = attempts.next(outcome) else {
            println!("call {number}: {said}");
            return status;
        };
        println!("call {number}: {said}; again in {} ms", wait.as_millis());
        tokio::time::sleep(wait).await;
    }
}

/// One request on a connection of its own.
async fn attempt(url: &Uri, key: &str) -> Result<(StatusCode, Outcome), Box<dyn Error + Send + Sync>> {
    let authority = url.authority().ok_or("the url names no host")?;
    let stream = TcpStream::connect((authority.host(), authority.port_u16().unwrap_or(80))).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let request = Request::get(url.path()).header("host", authority.as_str()).header("x-api-key", key);
    let response = sender.send_request(request.body(Empty::<Bytes>::new())?).await?;
    let outcome = Outcome::of(response.status(), response.headers(), SystemTime::now());
    let status = response.status();
    response.into_body().collect().await?;
    Ok((status, outcome))
}

struct Args {
    url: Uri,
    calls: usize,
    key: String,
    attempts: u32,
}

impl Args {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Args, Box<dyn Error>> {
        let url = Uri::from_static("http://127.0.0.1:8080/hello");
        let mut parsed = Args { url, calls: 15, key: "caller".into(), attempts: 3 };
        while let Some(flag) = args.next() {
            let value = args.next().ok_or_else(|| format!("{flag}: a value is missing"))?;
            match flag.as_str() {
                "--url" => parsed.url = value.parse()?,
                "--calls" => parsed.calls = value.parse::<usize>()?.min(CALLS_MAX),
                "--key" => parsed.key = value,
                "--attempts" => parsed.attempts = value.parse()?,
                _ => return Err(format!("{flag}: no such flag").into()),
            }
        }
        Ok(parsed)
    }
}
