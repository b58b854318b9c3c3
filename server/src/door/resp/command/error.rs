//! What is wrong with a command, in one line that begins with the word by which Redis clients tell errors apart.

use tallyring_engine::{Invalid, Range};

/// Bytes of a stranger's text that an error repeats.
const FOUND_BYTES_MAX: usize = 64;

/// Bytes of arguments that the answer to an unknown command repeats.
const ARGS_BYTES_MAX: usize = 128;

/// What is wrong with a command.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CommandError {
    /// There is no such command. Clients look for how this begins.
    #[error("ERR unknown command '{name}', with args beginning with: {args}")]
    Unknown {
        /// What came, cut short.
        name: String,
        /// The first arguments, quoted, cut short.
        args: String,
    },
    /// Too few arguments, or too many.
    #[error("ERR wrong number of arguments for '{}' command: {name} {usage}", name.to_ascii_lowercase())]
    Arity {
        /// The command.
        name: &'static str,
        /// Its arguments.
        usage: &'static str,
    },
    /// The same of a subcommand, `client|id`.
    #[error("ERR wrong number of arguments for '{0}' command")]
    SubcommandArity(&'static str),
    /// An argument is no number, or one that is not allowed.
    #[error("ERR {command}: {field}: '{found}' is not a whole number in {allowed}")]
    Number {
        /// The command.
        command: &'static str,
        /// The argument.
        field: &'static str,
        /// What came, cut short.
        found: String,
        /// What is allowed.
        allowed: Range,
    },
    /// An argument is none of the words that are known.
    #[error("ERR {command}: {field}: '{found}' is not one of {allowed}")]
    Word {
        /// The command.
        command: &'static str,
        /// The argument.
        field: &'static str,
        /// What came, cut short.
        found: String,
        /// The words that are known.
        allowed: &'static str,
    },
    /// A key or a name is empty or too long.
    #[error("ERR {command}: {field}: {len} bytes is not in 1 ..= {len_max}")]
    Length {
        /// The command.
        command: &'static str,
        /// The argument.
        field: &'static str,
        /// The length that came.
        len: usize,
        /// The longest.
        len_max: usize,
    },
    /// An option that the algorithm does not have.
    #[error("ERR {command}: {invalid}")]
    Refused {
        /// The command.
        command: &'static str,
        /// Which, and why.
        invalid: Invalid,
    },
    /// An option without its value.
    #[error("ERR {command}: {option}: its value is missing")]
    NoValue {
        /// The command.
        command: &'static str,
        /// The option.
        option: &'static str,
    },
    /// An option that came twice.
    #[error("ERR {command}: {option}: it is given twice")]
    Twice {
        /// The command.
        command: &'static str,
        /// The option.
        option: &'static str,
    },
    /// An option that must be there.
    #[error("ERR {command}: {option}: it is missing")]
    Missing {
        /// The command.
        command: &'static str,
        /// The option.
        option: &'static str,
    },
    /// A subcommand that is not known.
    #[error("ERR unknown subcommand '{found}'. Try {command} {usage}")]
    Subcommand {
        /// The command.
        command: &'static str,
        /// What came, cut short.
        found: String,
        /// The subcommands.
        usage: &'static str,
    },
    /// What only a Redis Cluster can answer: clients learn from it that there is one address to talk to.
    #[error("ERR This instance has cluster support disabled")]
    NoCluster,
    /// A version of RESP that is not spoken.
    #[error("NOPROTO unsupported protocol version")]
    Version,
    /// A database other than 0.
    #[error("ERR DB index is out of range")]
    Database,
}

impl CommandError {
    #[cold]
    pub(super) fn subcommand(command: &'static str, name: &[u8], usage: &'static str) -> CommandError {
        CommandError::Subcommand { command, found: found(name), usage }
    }

    #[cold]
    pub(super) fn word(command: &'static str, field: &'static str, word: &[u8], allowed: &'static str) -> CommandError {
        CommandError::Word { command, field, found: found(word), allowed }
    }

    #[cold]
    pub(super) fn unknown(name: &[u8], args: &[&[u8]]) -> CommandError {
        let mut said = String::new();
        for arg in args {
            if said.len() >= ARGS_BYTES_MAX {
                break;
            }
            said += &format!("'{}' ", cut(arg, ARGS_BYTES_MAX - said.len()));
        }
        CommandError::Unknown { name: found(name), args: said }
    }
}

/// What came, as an error repeats it.
pub(super) fn found(bytes: &[u8]) -> String {
    cut(bytes, FOUND_BYTES_MAX)
}

fn cut(bytes: &[u8], len_max: usize) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(len_max)]).into_owned()
}
