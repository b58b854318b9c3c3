//! A block of parts, as a `check_all` and its answer have: how many, in one byte, then each.

use crate::bounds::PARTS_MAX;
use crate::fields::{Fields, Malformed};

/// Reads a block whole, so that [`iter`] cannot fail: what `decode` reads of each part is forgotten.
///
/// # Errors
/// [`Malformed`] names the first bad field, and its part if it is of one.
pub(crate) fn check<'a, T>(
    block: &'a [u8],
    decode: impl Fn(&mut Fields<'a>) -> Result<T, Malformed>,
) -> Result<(), Malformed> {
    let mut fields = Fields::new(block);
    let count = fields.u8("parts")?;
    if !(1..=PARTS_MAX).contains(&usize::from(count)) {
        return Err(Malformed::new("parts", "a check_all has 1 ..= 16 of them"));
    }
    for part in 0..count {
        decode(&mut fields).map_err(|malformed| malformed.of_part(part))?;
    }
    fields.end()
}

/// The parts of a block that was checked, or encoded here.
pub(crate) fn iter<'a, T>(
    block: &'a [u8],
    decode: impl Fn(&mut Fields<'a>) -> Result<T, Malformed>,
) -> impl ExactSizeIterator<Item = T> {
    let mut fields = Fields::new(block);
    let count = fields.u8("parts").expect("a block begins with its count");
    (0..count).map(move |_| decode(&mut fields).expect("every part was read or written once already"))
}

/// The block of these parts.
///
/// # Panics
/// If there are none, or more than [`PARTS_MAX`]: nobody would read the frame.
pub(crate) fn encode<T>(parts: impl IntoIterator<Item = T>, put: impl Fn(&T, &mut Vec<u8>)) -> Vec<u8> {
    let mut block = vec![0];
    let count = parts.into_iter().map(|part| put(&part, &mut block)).count();
    assert!((1..=PARTS_MAX).contains(&count), "a check_all has 1 ..= 16 parts: {count}");
    block[0] = u8::try_from(count).expect("at most sixteen");
    block
}
