//! How nodes write what they agree on: on their disks, and to each other.
//!
//! ```text
//! format u16, little-endian · the value, bincode: its fields in their order, numbers as varints
//! ```
//! The order of fields and variants is the format. A cluster may be upgraded node by node, so a program reads what the
//! program before it wrote, and writes nothing that the cluster's feature level does not know.

use bincode::config::{self, Configuration, Limit, LittleEndian, Varint};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The layout that this program writes and reads.
pub const FORMAT: u16 = 1;

/// Longest value, in bytes: a state whose every text is as long as it may be.
pub const VALUE_BYTES_MAX: usize = 128 << 20;

/// Without the limit a few bytes that promise a long list would end the process.
const CONFIG: Configuration<LittleEndian, Varint, Limit<VALUE_BYTES_MAX>> =
    config::standard().with_limit::<VALUE_BYTES_MAX>();

/// Bytes that are no value of this program's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// Another program's.
    #[error("format {found}; this program reads format {FORMAT}")]
    OtherFormat {
        /// The format that the bytes name.
        found: u16,
    },
    /// Damaged.
    #[error("{reason}")]
    Nonsense {
        /// What is wrong.
        reason: String,
    },
}

/// A value's bytes.
pub fn encode(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = FORMAT.to_le_bytes().to_vec();
    let written = bincode::serde::encode_into_std_write(value, &mut bytes, CONFIG.with_no_limit());
    written.expect("memory is all that a plain value's encoding needs");
    bytes
}

/// The value that `bytes` are, all of them.
///
/// # Errors
/// [`CodecError`].
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
    let nonsense = |reason: String| CodecError::Nonsense { reason };
    let Some((format, body)) = bytes.split_first_chunk() else { return Err(nonsense("cut short".to_owned())) };
    let found = u16::from_le_bytes(*format);
    if found != FORMAT {
        return Err(CodecError::OtherFormat { found });
    }
    let (value, len) = bincode::serde::decode_from_slice(body, CONFIG).map_err(|error| nonsense(error.to_string()))?;
    if len < body.len() {
        return Err(nonsense(format!("{} bytes follow the value", body.len() - len)));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_survives_and_nothing_else_is_one() {
        let bytes = encode(&vec![1_u64, 300, 1 << 40]);
        assert_eq!(decode(&bytes), Ok(vec![1_u64, 300, 1 << 40]));
        for cut in 0..bytes.len() {
            assert!(decode::<Vec<u64>>(&bytes[..cut]).is_err(), "cut at {cut}");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert_eq!(decode::<Vec<u64>>(&longer).unwrap_err().to_string(), "1 bytes follow the value");
        assert_eq!(decode::<Vec<u64>>(&[2, 0, 0]), Err(CodecError::OtherFormat { found: 2 }));
    }

    #[test]
    fn a_promise_of_many_values_allocates_none() {
        let promise = [&FORMAT.to_le_bytes()[..], &[253, 0, 0, 0, 0, 0, 1, 0, 0]].concat();
        assert!(decode::<Vec<u64>>(&promise).is_err());
        assert!(decode::<String>(&promise).is_err());
    }
}
