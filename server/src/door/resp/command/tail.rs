//! Options behind a command's arguments: a word, most with a value, in any order, each at most once.

use super::error::{CommandError, found};

/// An option that a command takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opt {
    Burst,
    Cost,
    Keep,
    At,
    Force,
}

impl Opt {
    const ALL: [Opt; 5] = [Opt::Burst, Opt::Cost, Opt::Keep, Opt::At, Opt::Force];

    const fn word(self) -> &'static str {
        match self {
            Opt::Burst => "BURST",
            Opt::Cost => "COST",
            Opt::Keep => "KEEP",
            Opt::At => "AT",
            Opt::Force => "FORCE",
        }
    }
}

/// The options that came, unread.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tail<'a> {
    values: [Option<&'a [u8]>; 4],
    pub(super) force: bool,
}

impl<'a> Tail<'a> {
    /// Reads `args`; `words` names the options for people that `allowed` has.
    pub(super) fn read(
        command: &'static str,
        mut args: &[&'a [u8]],
        allowed: &[Opt],
        words: &'static str,
    ) -> Result<Tail<'a>, CommandError> {
        let mut tail = Tail::default();
        while let [word, rest @ ..] = args {
            let known = Opt::ALL.into_iter().find(|opt| opt.word().as_bytes().eq_ignore_ascii_case(word));
            let opt = known.filter(|opt| allowed.contains(opt)).ok_or_else(|| CommandError::Word {
                command,
                field: "option",
                found: found(word),
                allowed: words,
            })?;
            args = tail.take(command, opt, rest)?;
        }
        Ok(tail)
    }

    fn take<'b>(
        &mut self,
        command: &'static str,
        opt: Opt,
        rest: &'b [&'a [u8]],
    ) -> Result<&'b [&'a [u8]], CommandError> {
        let (is_new, behind) = if opt == Opt::Force {
            (!std::mem::replace(&mut self.force, true), rest)
        } else {
            let (value, behind) = rest.split_first().ok_or(CommandError::NoValue { command, option: opt.word() })?;
            (self.values[opt as usize].replace(value).is_none(), behind)
        };
        if is_new { Ok(behind) } else { Err(CommandError::Twice { command, option: opt.word() }) }
    }

    /// The value of an option, if it came.
    pub(super) fn value(&self, opt: Opt) -> Option<&'a [u8]> {
        self.values[opt as usize]
    }

    /// The value of an option that must be there.
    pub(super) fn required(&self, command: &'static str, opt: Opt) -> Result<&'a [u8], CommandError> {
        self.value(opt).ok_or(CommandError::Missing { command, option: opt.word() })
    }
}
