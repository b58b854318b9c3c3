//! RESP commands as they travel: batches of throttles.

use tallyring::door::resp::asked::Asked;
use tallyring::door::resp::command::{Command, Decide};
use tallyring::door::resp::parse::{Args, Bounds, split};
use tallyring_protocol::{KeyRef, RawKey};

/// Appends the command that asks for one unit for a key.
pub fn throttle(key: KeyRef<'_>, out: &mut Vec<u8>) {
    let text = key.rest();
    out.extend_from_slice(b"*5\r\n$11\r\nCL.THROTTLE\r\n");
    out.extend_from_slice(format!("${}\r\n", text.len()).as_bytes());
    out.extend_from_slice(text);
    out.extend_from_slice(b"\r\n$5\r\n99999\r\n$6\r\n100000\r\n$4\r\n3600\r\n");
}

/// Calls `each` with the key of every command of `bytes`, and with what its answer repeats.
///
/// # Panics
/// If they are no commands that decide something.
pub fn each(mut bytes: &[u8], mut each: impl FnMut(&RawKey, Asked)) {
    let mut args = Args::new();
    while let Some((_, taken)) = split(bytes, Bounds::MEMBER, &mut args).expect("they were written here") {
        let Ok(Command::Decide(Decide { key, asked, .. })) = Command::read(&args) else { panic!("no throttle") };
        each(&RawKey::new(key).expect("its length was looked at"), asked);
        bytes = &bytes[taken..];
    }
}
