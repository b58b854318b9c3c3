//! Arguments to a command: what is asked, with every number within its bounds.

pub mod acquire;
pub mod check;
pub mod client;
mod error;
mod field;
pub mod hello;
mod plain;
pub mod reserve;
mod tail;
pub mod throttle;

use tallyring_engine::Limit;

pub use self::acquire::{Acquire, Release};
pub use self::client::Client;
pub use self::error::CommandError;
pub use self::hello::Hello;
pub use self::plain::{auth, command, echo, info, no_arguments, ping, select, tr_reset};
pub use self::reserve::{Reserve, Settle};
use super::asked::Asked;
use super::catalogue;
use crate::shard::command::Op;

/// A command, borrowed from its bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Command<'a> {
    /// One operation on one key under one limit.
    Decide(Decide<'a>),
    /// A charge that can be corrected.
    Reserve(Reserve<'a>),
    /// Its correction.
    Settle(Settle<'a>),
    /// Hold slots.
    Acquire(Acquire<'a>),
    /// Let go of them.
    Release(Release<'a>),
    /// Forget a key under every algorithm.
    Forget(&'a [u8]),
    /// Choose a version of the protocol, and say who is there.
    Hello(Hello<'a>),
    /// Say who one is.
    Auth {
        /// The secret. Its user name, if there is one, is not looked at: a token says whose it is.
        token: &'a [u8],
    },
    /// Is anybody there?
    Ping(Option<&'a [u8]>),
    /// Say it again.
    Echo(&'a [u8]),
    /// About this connection.
    Client(Client<'a>),
    /// Which commands are there?
    Commands(Commands<'a>),
    /// How is the server? Some sections of the answer, or all.
    Info(Vec<&'a [u8]>),
    /// Choose database 0, the only one.
    Select,
    /// Become a fresh connection.
    Reset,
    /// Say goodbye.
    Quit,
}

/// One operation on one key under one limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decide<'a> {
    /// The raw key: 1 ..= 512 bytes.
    pub key: &'a [u8],
    /// The numbers.
    pub limit: Limit,
    /// What is asked.
    pub op: Op,
    /// How the answer is worded.
    pub asked: Asked,
}

/// What somebody wants to know of the commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Commands<'a> {
    /// Each with its arity, flags and keys.
    All,
    /// The same of some, in this order.
    These(Vec<&'a [u8]>),
    /// Their names.
    Names,
    /// How many there are.
    Count,
    /// Their descriptions: none are kept here.
    Docs,
}

impl<'a> Command<'a> {
    /// Reads a command. `args` begins with its name and is not empty.
    ///
    /// # Errors
    /// [`CommandError`] says in one line which command and which argument, and what is allowed.
    ///
    /// ```
    /// use tallyring::door::resp::command::Command;
    /// let wrong = Command::read(&[b"cl.throttle", b"k", b"15", b"0", b"60"]).unwrap_err();
    /// assert_eq!(wrong.to_string(), "ERR CL.THROTTLE: count: '0' is not a whole number in 1 ..= 10^12");
    /// ```
    #[inline]
    pub fn read(args: &[&'a [u8]]) -> Result<Command<'a>, CommandError> {
        let (name, args) = args.split_first().expect("an array without elements is no command");
        let Some(spec) = catalogue::find(name) else { return Err(CommandError::unknown(name, args)) };
        if !(spec.args_min..=spec.args_max).contains(&args.len()) {
            return Err(CommandError::Arity { name: spec.name, usage: spec.usage });
        }
        (spec.read)(args)
    }
}
