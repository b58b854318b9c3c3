//! Reading a frame copies nothing: every text and every key of it lies where the frame lies.
//!
//! So the memory that a peer can make us hold is the memory of its frame, and that is bounded before it is allocated.

use std::borrow::Cow;

use proptest::prelude::*;
use tallyring_protocol::bounds::{HELLO_BYTES_MAX, REPLY_BYTES_MAX};
use tallyring_protocol::{Frame, Hello, Reply, Request, frame};

use crate::parts::{hello, reply, request};

fn first(bytes: &[u8]) -> Frame<'_> {
    frame::split(bytes, REPLY_BYTES_MAX).expect("a length").expect("a whole frame").0
}

fn lies_in(frame: &[u8], part: &[u8]) -> bool {
    let (frame, part) = (frame.as_ptr_range(), part.as_ptr_range());
    frame.start <= part.start && part.end <= frame.end
}

/// The texts and keys of a request.
fn parts_of_request<'a>(request: &Request<'a>) -> Vec<&'a [u8]> {
    match request {
        Request::Ping | Request::GetRules => vec![],
        Request::Report(report) => vec![report.rule.as_bytes()],
        Request::Check(charge) | Request::Take(charge) => vec![charge.key.tag(), charge.key.rest()],
        Request::Refund(refund) => vec![refund.key.tag(), refund.key.rest()],
        Request::Reset(key) => vec![key.block()],
        Request::Define(define) => vec![define.rule.as_bytes()],
        Request::CheckAll(parts) => parts.iter().map(|part| part.key.block()).collect(),
        Request::Reserve(reserve) => vec![reserve.id, reserve.charge.key.block()],
        Request::Settle(settle) => vec![settle.id, settle.key.block()],
        Request::Acquire(acquire) => vec![acquire.holder, acquire.key.block()],
        Request::Release(release) => vec![release.holder, release.key.block()],
    }
}

/// The texts of a reply.
fn parts_of_reply<'a>(reply: &'a Reply<'_>) -> Vec<&'a [u8]> {
    match reply {
        Reply::Topology(json) => vec![json],
        Reply::Rules(rules) => vec![&rules.json],
        Reply::WrongOwner { address, .. } => vec![address.as_bytes()],
        Reply::Invalid { field, reason } => vec![field.as_bytes(), reason.as_bytes()],
        Reply::Goodbye { reason, .. } => vec![reason.as_bytes()],
        Reply::CheckedAll(checked) => vec![checked.checks.block()],
        _ => vec![],
    }
}

fn is_owned(reply: &Reply<'_>) -> bool {
    match reply {
        Reply::Topology(json) => matches!(json, Cow::Owned(_)),
        Reply::Rules(rules) => matches!(rules.json, Cow::Owned(_)),
        Reply::Invalid { field, reason } => [field, reason].iter().any(|text| matches!(text, Cow::Owned(_))),
        Reply::Goodbye { reason, .. } => matches!(reason, Cow::Owned(_)),
        _ => false,
    }
}

proptest! {
    #[test]
    fn a_request_lies_in_its_frame(parts in request()) {
        let mut bytes = Vec::new();
        parts.request().encode(1, &mut bytes);
        let read = Request::decode(&first(&bytes)).unwrap();
        prop_assert!(parts_of_request(&read).iter().all(|part| lies_in(&bytes, part)));
    }

    #[test]
    fn a_reply_lies_in_its_frame(parts in reply()) {
        let mut bytes = Vec::new();
        parts.reply().encode(1, &mut bytes);
        let read = Reply::decode(&first(&bytes)).unwrap();
        prop_assert!(!is_owned(&read));
        prop_assert!(parts_of_reply(&read).iter().all(|part| lies_in(&bytes, part)));
    }

    #[test]
    fn a_hello_lies_in_its_frame(parts in hello()) {
        let mut bytes = Vec::new();
        parts.hello().encode(&mut bytes);
        let (frame, _) = frame::split(&bytes, HELLO_BYTES_MAX).unwrap().unwrap();
        let read = Hello::decode(&frame).unwrap();
        prop_assert!(lies_in(&bytes, read.name.as_bytes()) && lies_in(&bytes, read.token.as_bytes()));
    }
}
