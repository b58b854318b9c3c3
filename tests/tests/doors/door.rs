//! What a door has to do to be played a trace.

use serde_json::Value;

/// One connection to a node, through one door.
pub(crate) trait Door {
    /// Takes an event into what is asked next; `None`, and nothing is taken, if the door has no way to say it.
    fn put(&mut self, event: &Value) -> Option<()>;

    /// Asks what was taken, at this instant, and returns what is said to each event, in their order.
    fn ask(&mut self, now_us: u64) -> Vec<Value>;

    /// How this door words a recorded decision, of which waits are cut to the longest that can be said.
    fn worded(recorded: Value) -> Value;
}
