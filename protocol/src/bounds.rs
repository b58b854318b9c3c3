//! The largest of everything that crosses a socket. A peer that exceeds one is answered or cut off, never buffered.

/// Bytes of a frame before its body: length, kind, flags, handle, request id.
pub const HEADER_BYTES: usize = 12;

/// Longest frame that a client may send once it is welcome, header included, in bytes.
///
/// Sized for sixteen checks of the longest keys in one frame, with room to spare.
pub const REQUEST_BYTES_MAX: usize = 32 * 1024;

/// Longest frame before the hello is accepted, header included, in bytes: a stranger gets no more memory than this.
pub const HELLO_BYTES_MAX: usize = 1024;

/// Longest frame that a server may send, header included, in bytes: the longest rules document fits, and so does a
/// topology of a thousand nodes.
pub const REPLY_BYTES_MAX: usize = RULES_BYTES_MAX + 4 * 1024;

/// Longest rules document, in bytes, as text and as JSON: some ten thousand rules.
pub const RULES_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Longest tag and longest rest of a key, in bytes.
pub const KEY_BYTES_MAX: usize = 512;

/// Longest client name in a hello, in bytes.
pub const CLIENT_NAME_BYTES_MAX: usize = 128;

/// Longest token in a hello, in bytes.
pub const TOKEN_BYTES_MAX: usize = 512;

/// Longest rule id, in bytes.
pub const RULE_ID_BYTES_MAX: usize = 128;

/// Longest id of a reservation and longest name of a holder, in bytes; the shortest is one byte.
pub const NAME_BYTES_MAX: usize = 128;

/// Checks that one `check_all` decides together; the fewest is one.
pub const PARTS_MAX: usize = 16;

/// Rules of one document.
pub const RULES_MAX: usize = 10_000;

/// Limit handles that one connection may have defined at once; handles are `0 .. HANDLES_MAX`.
pub const HANDLES_MAX: u16 = 16_384;

/// Longest explanation in an `invalid` or `goodbye` reply, in bytes; longer ones are cut.
pub const REASON_BYTES_MAX: usize = 256;

/// Nodes of one cluster.
pub const NODES_MAX: usize = 1_000;

/// Shards of one node.
pub const SHARDS_MAX: u16 = 1_024;

/// The value that says "never" where a wait in microseconds is expected. Finite waits saturate one bit below, at `2^63 - 1`.
pub const WAIT_NEVER_US: u64 = u64::MAX;

/// Finite waits on the wire saturate here, in microseconds.
pub const WAIT_US_MAX: u64 = i64::MAX as u64;
