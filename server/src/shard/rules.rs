//! The rules document as shards hand it out: encoded once, the same bytes for every shard and every connection.

use bytes::Bytes;
use tallyring_protocol::Reply;
use tallyring_protocol::reply::Rules;
use tallyring_protocol::rules::RulesVersion;

use super::Shard;
use super::refusal::Answer;
use super::session::Session;

/// What is said of the rules that are live.
#[derive(Clone, Debug)]
pub struct RulesFrames {
    announcement: Bytes,
    body: Bytes,
}

impl RulesFrames {
    /// The frames for a document, as JSON of 1 ..= `RULES_BYTES_MAX` bytes.
    pub fn new(version: RulesVersion, json: &[u8]) -> RulesFrames {
        let mut announcement = Vec::new();
        Reply::RulesVersion(version).encode(0, &mut announcement);
        let body = Rules { version, json: json.into() }.to_body();
        RulesFrames { announcement: announcement.into(), body: body.into() }
    }

    /// The push that says which rules are live.
    pub fn announcement(&self) -> Bytes {
        self.announcement.clone()
    }
}

/// A document on its way to a connection: it is written behind the replies, in place.
#[derive(Debug)]
pub(super) struct Delivery {
    /// The request that it answers.
    pub(super) id: u32,
    /// What follows the frame's header.
    pub(super) body: Bytes,
}

impl Shard {
    /// Answers with the document, unless one is on its way to the connection already: who asks twice at once can wait.
    pub(super) fn get_rules(&self, id: u32, session: &mut Session) -> Answer {
        if session.delivery.is_some() {
            return Ok(Some(Reply::Overloaded));
        }
        session.delivery = Some(Delivery { id, body: self.rules.body.clone() });
        Ok(None)
    }
}
