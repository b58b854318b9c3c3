//! Reading with a place and a sum: whoever reads knows where it is and what has passed.

use std::io::{ErrorKind, Read};

use super::error::Fault;

/// Bytes that are read and summed, from the start of a file on.
#[derive(Debug)]
pub(super) struct Checked<R> {
    input: R,
    at: u64,
    sum: crc32fast::Hasher,
}

impl<R: Read> Checked<R> {
    pub(super) fn new(input: R) -> Checked<R> {
        Checked { input, at: 0, sum: crc32fast::Hasher::new() }
    }

    /// The place of the next byte.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// The sum of everything that was read.
    pub(super) fn sum(&self) -> u32 {
        self.sum.clone().finalize()
    }

    /// Reads so many bytes of the file's `part`.
    pub(super) fn array<const N: usize>(&mut self, part: &'static str) -> Result<[u8; N], Fault> {
        let mut bytes = [0; N];
        self.fill(&mut bytes, part)?;
        Ok(bytes)
    }

    /// Fills `bytes`, or says how many were missing.
    pub(super) fn fill(&mut self, bytes: &mut [u8], part: &'static str) -> Result<(), Fault> {
        let mut filled = 0;
        while filled < bytes.len() {
            match self.input.read(&mut bytes[filled..]) {
                Ok(0) => return Err(Fault::CutShort { part, missing: (bytes.len() - filled) as u64 }),
                Ok(more) => filled += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Fault::Io(error)),
            }
        }
        self.sum.update(bytes);
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Whether nothing follows.
    pub(super) fn is_at_end(&mut self) -> Result<bool, Fault> {
        match self.array::<1>("end") {
            Ok(_) => Ok(false),
            Err(Fault::CutShort { .. }) => Ok(true),
            Err(fault) => Err(fault),
        }
    }
}
