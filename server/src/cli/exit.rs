//! How commands end, for scripts.

use std::process::ExitCode;

use crate::rules::visible::visible;

/// What a command's exit code says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// Done; of a check: allowed.
    Good = 0,
    /// What was given makes no sense, or was refused.
    Invalid = 1,
    /// The command line makes no sense; clap ends so too.
    Usage = 2,
    /// A check was denied.
    Denied = 3,
    /// The node cannot be reached, or does not answer.
    Unreachable = 4,
    /// There was nothing to do: of a reset, nothing was counted.
    Nothing = 5,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// A failure of a command: what to say on stderr, and how to end.
#[derive(Debug)]
pub(super) struct Failure {
    /// How to end.
    pub(super) exit: Exit,
    /// What to say, whole lines without the last line's end.
    pub(super) said: String,
}

#[allow(clippy::needless_pass_by_value, reason = "so that `map_err` takes these by name")]
impl Failure {
    /// Something that was given makes no sense, or was refused.
    pub(super) fn invalid(said: impl ToString) -> Failure {
        Failure { exit: Exit::Invalid, said: format!("tallyring: {}", said.to_string()) }
    }

    /// The command line makes no sense.
    pub(super) fn usage(said: impl ToString) -> Failure {
        Failure { exit: Exit::Usage, said: format!("tallyring: {}", said.to_string()) }
    }

    /// Nobody answers.
    pub(super) fn unreachable(said: impl ToString) -> Failure {
        Failure { exit: Exit::Unreachable, said: format!("tallyring: {}", said.to_string()) }
    }
}

/// Ends a command: what it failed with goes to stderr.
pub(super) fn end(result: Result<Exit, Failure>) -> ExitCode {
    match result {
        Ok(exit) => exit.into(),
        Err(Failure { exit, said }) => {
            eprintln!("{}", visible(&said));
            exit.into()
        }
    }
}

/// Writes to stdout. Whoever has closed it has had enough: that is no failure.
pub(super) fn say(text: impl AsRef<str>) -> Exit {
    use std::io::Write as _;
    let _ = std::io::stdout().write_all(text.as_ref().as_bytes());
    Exit::Good
}
