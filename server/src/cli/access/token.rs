//! The secret that says as whom a command calls. It never stands on the command line, where every process can read it.

use std::path::PathBuf;

use clap::Args;
use tallyring_protocol::bounds::TOKEN_BYTES_MAX;

use super::super::exit::Failure;
use crate::sys::file;

/// The variable that the token may stand in.
const VARIABLE: &str = "TALLYRING_TOKEN";

/// Bytes of a file with a token, what stands around it included.
const FILE_BYTES_MAX: usize = 4 * 1_024;

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
                let place = format!("token-from: {}", path.display());
                let bytes = file::read(path, FILE_BYTES_MAX);
                let bytes = bytes.map_err(|error| Failure::invalid(format!("{place}: {error}")))?;
                // No token has a byte that is replaced here.
                (place, Some(String::from_utf8_lossy(bytes.trim_ascii()).into_owned()))
            }
            None => (VARIABLE.to_owned(), std::env::var(VARIABLE).ok().filter(|token| !token.is_empty())),
        };
        match token {
            Some(token) if !is_token(&token) => {
                let found = if token.is_empty() { "is empty: " } else { "" };
                let allowed = format!("a token is 1 ..= {TOKEN_BYTES_MAX} visible ASCII characters");
                Err(Failure::invalid(format!("{place}: {found}{allowed}")))
            }
            token => Ok(token),
        }
    }
}

fn is_token(token: &str) -> bool {
    (1..=TOKEN_BYTES_MAX).contains(&token.len()) && token.bytes().all(|byte| byte.is_ascii_graphic())
}
