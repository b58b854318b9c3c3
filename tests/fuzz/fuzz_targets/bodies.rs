//! Any bytes, read as the body of an HTTP question: nothing panics; what is read is within its bounds, and what is not
//! says in one line which field is wrong.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tallyring::door::judge::Manner;
use tallyring::door::question::Question;
use tallyring::event::{self, field};

const UNITS_MAX: u64 = 1_000_000_000_000;

fn question(body: &[u8]) {
    let question = match Question::parse(body) {
        Ok(question) => question,
        Err(bad) => return assert!(!bad.path.is_empty() && !bad.reason.is_empty(), "{bad:?}"),
    };
    let _ = question.subject().headers.get("x-forwarded-for");
    if let Ok(charge) = question.charge() {
        assert!(charge.cost <= UNITS_MAX);
        if let Manner::Reserve(booking) = charge.manner {
            assert!((1..=128).contains(&booking.id.len()) && booking.ttl_us <= 86_400_000_000);
        }
    }
    if let Ok(correction) = question.correction() {
        assert!(correction.actual <= UNITS_MAX && (1..=128).contains(&correction.id.len()));
    }
}

fn limit(body: &[u8]) {
    let Ok(text) = std::str::from_utf8(body) else { return };
    let operation = field::parse(text).and_then(|fields| {
        let op = event::op(&fields)?;
        event::operation(op, &fields).map(drop)
    });
    if let Err(bad) = operation {
        assert!(!bad.to_string().is_empty() && !bad.allowed().is_empty());
    }
}

fuzz_target!(|body: &[u8]| {
    question(body);
    limit(body);
});
