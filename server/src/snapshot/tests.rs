//! Whatever is done to a snapshot's bytes, it is refused.

use super::error::Fault;
use super::fingerprint::Fingerprint;
use super::frame::{self, Totals};
use super::reader::look_through;
use super::{sample, wire};

/// A snapshot of these bodies as the writer lays it out.
fn file_of(bodies: &[Vec<u8>], records: u64) -> Vec<u8> {
    let mut file = frame::header(sample::fingerprint());
    for body in bodies {
        file.extend(frame::block_head(body));
        file.extend(body);
    }
    let totals = Totals { blocks: bodies.len() as u64, records, sum: crc32fast::hash(&file) };
    file.extend(frame::trailer(totals));
    file
}

/// Two blocks, every kind of record.
fn sound() -> Vec<u8> {
    let body = wire::encode(&sample::batch());
    file_of(&[body.clone(), body], 18)
}

fn read(file: &[u8]) -> Result<u64, (u64, Fault)> {
    look_through(file, sample::fingerprint())
}

fn check(file: &[u8], expect: &str) {
    let (at, fault) = read(file).unwrap_err();
    assert_eq!(format!("byte {at}: {fault}"), expect);
}

#[test]
fn a_sound_file_is_read_to_its_end() {
    assert_eq!(read(&sound()).unwrap(), 18);
    assert_eq!(read(&file_of(&[], 0)).unwrap(), 0);
}

#[test]
fn a_file_that_is_cut_anywhere_is_refused() {
    let file = sound();
    for len in 0..file.len() {
        let (_, fault) = read(&file[..len]).unwrap_err();
        assert!(matches!(fault, Fault::CutShort { .. }), "cut at {len}: {fault}");
    }
}

#[test]
fn a_file_with_any_bit_flipped_is_refused() {
    let file = sound();
    for no in 0..file.len() * 8 {
        let mut flipped = file.clone();
        flipped[no / 8] ^= 1 << (no % 8);
        assert!(read(&flipped).is_err(), "bit {no}");
    }
}

#[test]
fn any_byte_replaced_by_any_other_is_refused() {
    let file = file_of(&[], 0);
    for at in 0..file.len() {
        for byte in (0..=u8::MAX).filter(|&byte| byte != file[at]) {
            let mut changed = file.clone();
            changed[at] = byte;
            assert!(read(&changed).is_err(), "{byte} at {at}");
        }
    }
}

#[test]
fn a_refusal_says_where_and_what() {
    let file = sound();
    let body = wire::encode(&sample::batch()).len();
    check(b"", "byte 0: cut short in its header: 32 bytes are missing at least");
    check(
        &[b'x'; 99],
        "byte 0: not a snapshot: it begins with [78, 78, 78, 78, 78, 78, 78, 78], not with [54, 41, 4c, 4c, 59, 53, 4e, 50]",
    );
    let mut newer = file.clone();
    newer[8] = 2;
    check(&newer, "byte 0: snapshot format 2; this program reads format 1");
    let missing = 40 + body - 100;
    check(&file[..100], &format!("byte 32: cut short in its block: {missing} bytes are missing at least"));
    let mut longer = file.clone();
    longer[35] = 0xff;
    check(&longer, &format!("byte 32: a block of {} bytes; 33554432 are the most", body + 0xff00_0000));
    let behind = [&file[..], b"\n"].concat();
    check(&behind, &format!("byte {}: bytes behind the trailer, where the file should end", file.len() - 28));
    let miscounted = file_of(&[wire::encode(&sample::batch())], 10);
    check(&miscounted, &format!("byte {}: 9 records, expected 10", 40 + body));
    let mut damaged = file;
    damaged[40] ^= 1;
    assert!(matches!(read(&damaged), Err((32, Fault::Damaged { part: "block", .. }))));
}

#[test]
fn other_hash_keys_are_refused_by_name() {
    let other = Fingerprint::from_bytes([0xab; 16]);
    let (at, fault) = look_through(&sound()[..], other).unwrap_err();
    let found = "7369787465656e2062797465732e2e2e";
    let expected = "ab".repeat(16);
    let expect = format!("made under hash keys {found}; this node's are {expected}");
    assert_eq!((at, fault.to_string()), (0, expect));
}

#[test]
fn sums_that_match_do_not_make_nonsense_sound() {
    let nonsense = |body: Vec<u8>, records, reason: &str| {
        check(&file_of(&[body], records), &format!("byte 32: a block that cannot be: {reason}"));
    };
    let sound = wire::encode(&sample::batch());
    nonsense(
        [&sound[..], b"\0"].concat(),
        9,
        &format!("a batch ends after {} bytes of {}", sound.len(), sound.len() + 1),
    );
    let mut batch = sample::batch();
    batch.records.swap(0, 2);
    batch.limits.swap(0, 2);
    nonsense(wire::encode(&batch), 9, "record 0 is malformed: a state's algorithm");
}

#[test]
fn a_few_bytes_that_promise_a_long_list_claim_no_memory() {
    let promises_2_60_limits = [&[1, 1, 1, 0xfd][..], &(1_u64 << 60).to_le_bytes()].concat();
    let (_, fault) = read(&file_of(&[promises_2_60_limits], 0)).unwrap_err();
    assert!(matches!(fault, Fault::Nonsense { .. }), "{fault}");
}
