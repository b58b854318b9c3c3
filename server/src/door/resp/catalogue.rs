//! Every command there is, as a table: its name, its arguments, who may use it, and how it is read.

use super::command::{
    Command, CommandError, acquire, auth, check, client, command, echo, hello, info, no_arguments, ping, reserve,
    select, throttle, tr_reset,
};
use super::parse::Bounds;
use super::write::{self, Version};

/// A command's entry.
pub struct Spec {
    /// Its name, in capitals.
    pub name: &'static str,
    /// Its arguments, for people.
    pub usage: &'static str,
    /// The fewest arguments behind the name.
    pub args_min: usize,
    /// The most.
    pub args_max: usize,
    /// Where its key is: the first argument, or nowhere.
    keys: Keys,
    /// Who may use it.
    who: Who,
    /// Reads its arguments, whose number is right.
    pub read: for<'a> fn(&[&'a [u8]]) -> Result<Command<'a>, CommandError>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    First,
    None,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    /// Also somebody who has not said who he is.
    Anybody,
    /// Whoever holds a token.
    Members,
}

/// As many arguments as the parser lets through, without the name.
const MANY: usize = Bounds::MEMBER.args_max - 1;

macro_rules! specs {
    ($($name:literal $usage:literal $min:literal ..= $max:expr, $keys:ident, $who:ident, $read:expr;)*) => {
        &[$(Spec {
            name: $name, usage: $usage, args_min: $min, args_max: $max, keys: Keys::$keys, who: Who::$who, read: $read
        }),*]
    };
}

/// The table. A name is looked for from the front: what is asked most comes first.
const SPECS: &[Spec] = specs! {
    "CL.THROTTLE" "key max_burst count period [quantity]" 4 ..= 5, First, Members, throttle::cell;
    "TR.CHECK" "key algorithm limit period_us [BURST n] [COST n] [KEEP n] [FORCE]" 4 ..= MANY, First, Members, check::check;
    "THROTTLE" "key max_burst count period [quantity]" 4 ..= 5, First, Members, throttle::crab;
    "TR.TAKE" "key algorithm limit period_us COST n [BURST n] [KEEP n]" 4 ..= MANY, First, Members, check::take;
    "TR.REFUND" "key algorithm limit period_us COST n [BURST n] [AT charged_at_us]" 4 ..= MANY, First, Members, check::refund;
    "TR.RESERVE" "key id ttl_us algorithm limit period_us [BURST n] [COST n] [KEEP n] [FORCE]" 6 ..= MANY, First, Members,
        reserve::reserve;
    "TR.SETTLE" "key id actual" 3 ..= 3, First, Members, reserve::settle;
    "TR.ACQUIRE" "key holder limit ttl_us [COST n]" 4 ..= MANY, First, Members, acquire::acquire;
    "TR.RELEASE" "key holder" 2 ..= 2, First, Members, acquire::release;
    "TR.RESET" "key" 1 ..= 1, First, Members, tr_reset;
    "PING" "[message]" 0 ..= 1, None, Anybody, ping;
    "HELLO" "[2|3 [AUTH user token] [SETNAME name]]" 0 ..= MANY, None, Anybody, hello::hello;
    "AUTH" "[user] token" 1 ..= 2, None, Anybody, auth;
    "ECHO" "message" 1 ..= 1, None, Members, echo;
    "CLIENT" "GETNAME|ID|INFO|NO-EVICT|NO-TOUCH|SETINFO|SETNAME …" 1 ..= MANY, None, Members, client::client;
    "COMMAND" "[COUNT|DOCS|INFO|LIST …]" 0 ..= MANY, None, Members, command;
    "INFO" "[section …]" 0 ..= MANY, None, Members, info;
    "SELECT" "0" 1 ..= 1, None, Members, select;
    "CLUSTER" "…" 0 ..= MANY, None, Members, |_| Err(CommandError::NoCluster);
    "RESET" "" 0 ..= 0, None, Anybody, |args| no_arguments(args, Command::Reset);
    "QUIT" "" 0 ..= MANY, None, Anybody, |args| no_arguments(args, Command::Quit);
};

/// The command of that name, in any case.
#[inline]
pub fn find(name: &[u8]) -> Option<&'static Spec> {
    SPECS.iter().find(|spec| spec.name.as_bytes().eq_ignore_ascii_case(name))
}

/// Whether somebody may use this command who has not said who he is.
pub fn is_open(name: &[u8]) -> bool {
    find(name).is_some_and(|spec| spec.who == Who::Anybody)
}

/// How many commands there are.
pub fn count() -> usize {
    SPECS.len()
}

/// Appends what `COMMAND` answers: for each its name, arity, flags and where its keys are.
pub fn write_all(out: &mut Vec<u8>) {
    write::array(out, SPECS.len());
    SPECS.iter().for_each(|spec| spec.write(out));
}

/// Appends the same of some, and that there is none of those that are not known.
pub fn write_these(names: &[&[u8]], version: Version, out: &mut Vec<u8>) {
    write::array(out, names.len());
    for name in names {
        match find(name) {
            Some(spec) => spec.write(out),
            None => write::null_array(out, version),
        }
    }
}

/// Appends the names of all.
pub fn write_names(out: &mut Vec<u8>) {
    write::array(out, SPECS.len());
    SPECS.iter().for_each(|spec| write::bulk(out, spec.name.to_ascii_lowercase().as_bytes()));
}

impl Spec {
    fn write(&self, out: &mut Vec<u8>) {
        write::array(out, 6);
        write::bulk(out, self.name.to_ascii_lowercase().as_bytes());
        write_arity(self, out);
        write::array(out, 1);
        write::simple(out, "fast");
        let key = u64::from(self.keys == Keys::First);
        [key; 3].iter().for_each(|position| write::integer(out, *position));
    }
}

/// The number of arguments, the name included; negative if that is only the fewest.
fn write_arity(spec: &Spec, out: &mut Vec<u8>) {
    let fewest = spec.args_min + 1;
    if spec.args_min == spec.args_max {
        write::integer(out, fewest as u64);
    } else {
        out.extend_from_slice(format!(":-{fewest}\r\n").as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_in_any_case() {
        assert_eq!(find(b"cl.Throttle").map(|spec| spec.name), Some("CL.THROTTLE"));
        assert!(find(b"").is_none() && find(b"GET").is_none());
    }

    #[test]
    fn a_stranger_may_say_who_he_is_and_little_else() {
        let open: Vec<&str> = SPECS.iter().map(|spec| spec.name).filter(|name| is_open(name.as_bytes())).collect();
        assert_eq!(open, ["PING", "HELLO", "AUTH", "RESET", "QUIT"]);
    }

    #[test]
    fn some_commands_are_described_in_the_order_that_was_asked_for() {
        let described = |version| {
            let mut out = Vec::new();
            write_these(&[b"nobody", b"Ping"], version, &mut out);
            String::from_utf8(out).unwrap()
        };
        let ping = "*6\r\n$4\r\nping\r\n:-1\r\n*1\r\n+fast\r\n:0\r\n:0\r\n:0\r\n";
        assert_eq!(described(Version::Resp2), format!("*2\r\n*-1\r\n{ping}"));
        assert_eq!(described(Version::Resp3), format!("*2\r\n_\r\n{ping}"));
        let mut out = Vec::new();
        write_names(&mut out);
        assert!(out.starts_with(b"*21\r\n$11\r\ncl.throttle\r\n$8\r\ntr.check\r\n"));
    }

    #[test]
    fn the_list_of_commands_names_each_with_its_arity() {
        let mut out = Vec::new();
        write_all(&mut out);
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.starts_with("*21\r\n*6\r\n$11\r\ncl.throttle\r\n:-5\r\n*1\r\n+fast\r\n:1\r\n:1\r\n:1\r\n"),
            "{text}"
        );
        assert!(text.contains("$9\r\ntr.settle\r\n:4\r\n"), "{text}");
    }
}
