//! `tallyring rules history`.

use std::fmt::Write as _;

use axum::http::Method;
use clap::Args;
use serde::Deserialize;

use super::super::exit::{Exit, Failure, say};
use super::super::instant::utc;
use super::super::remote::RemoteArgs;
use crate::rules::visible::visible;

/// What `rules history` takes.
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// As JSON, for programs
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Deserialize)]
struct History {
    live: u64,
    versions: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    version: u64,
    published_at_us: u64,
    author: String,
    comment: String,
}

pub(super) fn run(args: &HistoryArgs) -> Result<Exit, Failure> {
    let remote = args.remote.remote()?;
    let answer = remote.ask(Method::GET, "/v1/rules/history", &[], "")?;
    if args.json {
        return Ok(say(answer.into_line()));
    }
    let history: History =
        serde_json::from_str(&answer.body).map_err(|_| remote.stranger("its history cannot be read"))?;
    Ok(say(visible(&history.table())))
}

impl History {
    /// A line a version, the newest first; the live one has a star.
    fn table(&self) -> String {
        if self.versions.is_empty() {
            return "nobody has published any rules\n".to_owned();
        }
        let width = self.versions.iter().map(|entry| entry.author.chars().count()).max().unwrap_or(0).max("by".len());
        let mut table = format!("  version  {:20}  {:width$}  comment\n", "published", "by");
        for Entry { version, published_at_us, author, comment } in &self.versions {
            let star = if *version == self.live { '*' } else { ' ' };
            let published = utc(*published_at_us);
            let line = format!("{star} {version:7}  {published}  {author:width$}  {comment}");
            writeln!(table, "{}", line.trim_end()).expect("writing to a string cannot fail");
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_is_a_table_with_the_newest_first() {
        let entry = |version, author: &str, comment: &str| Entry {
            version,
            published_at_us: 1_780_272_000_000_000 + version * 1_000_000,
            author: author.to_owned(),
            comment: comment.to_owned(),
        };
        let versions = vec![entry(10, "alice@laptop (127.0.0.1)", "more for the free tier"), entry(9, "10.0.0.7", "")];
        let expect = "  version  published             by                        comment
*      10  2026-06-01 00:00:10Z  alice@laptop (127.0.0.1)  more for the free tier
        9  2026-06-01 00:00:09Z  10.0.0.7
";
        assert_eq!(History { live: 10, versions }.table(), expect);
        assert_eq!(History { live: 0, versions: vec![] }.table(), "nobody has published any rules\n");
    }
}
