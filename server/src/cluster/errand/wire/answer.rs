//! What came of errands. The order of fields and variants is the encoding: a new one comes last.

use serde::{Deserialize, Serialize};
use tallyring_engine::Stock;
use tallyring_protocol::reply::{CheckedAll, Decisions};
use tallyring_protocol::{Malformed, Reply, frame};

use super::block::Block;
use super::numbers::Numbers;
use crate::cluster::errand::frame::FRAME_BYTES_MAX;
use crate::shard::outlet::Outgoing;

/// Answers that were sent together: at most [`ITEMS_MAX`](super::super::frame::ITEMS_MAX).
#[derive(Debug, Serialize, Deserialize)]
pub(in super::super) struct Answers(pub(in super::super) Vec<Answer>);

/// The answer to one errand.
#[derive(Debug, Serialize, Deserialize)]
pub(in super::super) struct Answer {
    /// The errand's.
    pub(in super::super) id: u32,
    said: Said,
}

/// What is said. A reply stands as it would in the native protocol: what is read there is read here.
#[derive(Debug, Serialize, Deserialize)]
enum Said {
    Reply(Block),
    /// To a reserve, with the ceiling that it was charged under.
    Reserved(Block, u64),
    /// To a look at a key.
    Stocks(Vec<Left>),
}

/// What is left of a budget.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Left {
    numbers: Numbers,
    remaining: u64,
    reset_after_us: u128,
}

impl Answer {
    /// What a shard has left for the errand's line; `None` for what is no answer.
    pub(in super::super) fn of(outgoing: Outgoing) -> Option<Answer> {
        Some(match outgoing {
            Outgoing::Reply(id, reply) => Answer { id, said: Said::Reply(block(&reply)) },
            Outgoing::Reserved(id, reply, ceiling) => Answer { id, said: Said::Reserved(block(&reply), ceiling) },
            Outgoing::Stocks(id, stocks) => {
                Answer { id, said: Said::Stocks(stocks.into_iter().map(Left::of).collect()) }
            }
            Outgoing::Push(_) | Outgoing::Goodbye(..) => return None,
        })
    }

    /// The same for whoever asked, under the id of their own.
    ///
    /// # Errors
    /// [`Malformed`]: it is nothing that a shard says.
    pub(in super::super) fn outgoing(self, id: u32) -> Result<Outgoing, Malformed> {
        Ok(match self.said {
            Said::Reply(block) => Outgoing::Reply(id, reply(&block)?),
            Said::Reserved(block, ceiling) => Outgoing::Reserved(id, reply(&block)?, ceiling),
            Said::Stocks(left) => Outgoing::Stocks(id, left.into_iter().map(Left::stock).collect::<Result<_, _>>()?),
        })
    }
}

impl Left {
    fn of(Stock { limit, remaining, reset_after_us }: Stock) -> Left {
        Left { numbers: Numbers::of(limit), remaining, reset_after_us }
    }

    fn stock(self) -> Result<Stock, Malformed> {
        let Left { numbers, remaining, reset_after_us } = self;
        Ok(Stock { limit: numbers.limit()?, remaining, reset_after_us })
    }
}

fn block(reply: &Reply<'_>) -> Block {
    let mut frame = Vec::new();
    reply.encode(0, &mut frame);
    Block::from(&frame[..])
}

fn reply(Block(bytes): &Block) -> Result<Reply<'static>, Malformed> {
    let no_frame = Malformed::new("reply", "one frame of the native protocol");
    let split = frame::split(bytes, FRAME_BYTES_MAX).map_err(|_| no_frame)?;
    let (frame, _) = split.filter(|(_, len)| *len == bytes.len()).ok_or(no_frame)?;
    owned(Reply::decode(&frame)?).ok_or(Malformed::new("reply", "one of those that answer an errand"))
}

/// A reply that owns what it says; `None` for what no errand is answered with.
fn owned(reply: Reply<'_>) -> Option<Reply<'static>> {
    Some(match reply {
        Reply::Decision(decision) => Reply::Decision(decision),
        Reply::Grant(grant) => Reply::Grant(grant),
        Reply::CheckedAll(checked) => {
            let CheckedAll { allowed, retry_after_us, at_us, .. } = checked;
            let checks = Decisions::new(checked.decisions());
            Reply::CheckedAll(CheckedAll { allowed, retry_after_us, at_us, checks })
        }
        Reply::Settled(settled) => Reply::Settled(settled),
        Reply::Slots(slots) => Reply::Slots(slots),
        Reply::Released(released) => Reply::Released(released),
        Reply::ResetDone { found } => Reply::ResetDone { found },
        Reply::WrongOwner { epoch, node, address } => {
            Reply::WrongOwner { epoch, node, address: address.into_owned().into() }
        }
        Reply::Moving { retry_us } => Reply::Moving { retry_us },
        Reply::Overloaded => Reply::Overloaded,
        Reply::Full => Reply::Full,
        Reply::Unavailable => Reply::Unavailable,
        Reply::Invalid { field, reason } => {
            Reply::Invalid { field: field.into_owned().into(), reason: reason.into_owned().into() }
        }
        _ => return None,
    })
}
