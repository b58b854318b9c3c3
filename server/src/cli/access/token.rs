//! The secret that says as whom a command calls. It never stands on the command line, where every process can read it.

use std::path::PathBuf;

use clap::Args;
use tallyring_protocol::bounds::TOKEN_BYTES_MAX;

use super::super::exit::Failure;

/// The variable that the token may stand in.
const VARIABLE: &str = "TALLYRING_TOKEN";

/// Where the token is.
#[derive(Debug, Args)]
pub(in super::super) struct TokenArgs {
    /// File with the node's token alone; without it, the variable TALLYRING_TOKEN
    #[arg(long, value_name = "FILE")]
    token_from: Option<PathBuf>,
}

impl TokenArgs {
    /// The token, if there is one.
    pub(in super::super) fn read(&self) -> Result<Option<String>, Failure> {
        let (place, token) = match &self.token_from {
            Some(path) => {
                let place = path.display().to_string();
                let text = std::fs::read_to_string(path);
                let text = text.map_err(|error| Failure::invalid(format!("{place}: {error}")))?;
                (place, Some(text.trim().to_owned()))
            }
            None => (VARIABLE.to_owned(), std::env::var(VARIABLE).ok().filter(|token| !token.is_empty())),
        };
        match token {
            Some(token) if !is_token(&token) => {
                Err(Failure::invalid(format!("{place}: a token is 1 ..= {TOKEN_BYTES_MAX} visible ASCII characters")))
            }
            token => Ok(token),
        }
    }
}

fn is_token(token: &str) -> bool {
    (1..=TOKEN_BYTES_MAX).contains(&token.len()) && token.bytes().all(|byte| byte.is_ascii_graphic())
}
