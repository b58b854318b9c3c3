//! Numbers in their ranges, each read from a number or its text.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use tallyring_protocol::NodeId;
use tallyring_protocol::bounds::SHARDS_MAX;

use crate::sys::spawn;

/// A number of shards, 1 ..= 1,024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shards(u16);

impl Shards {
    /// The number.
    pub fn get(self) -> u16 {
        self.0
    }
}

impl Default for Shards {
    /// One a core.
    fn default() -> Shards {
        Shards(u16::try_from(spawn::cores()).unwrap_or(SHARDS_MAX).min(SHARDS_MAX))
    }
}

impl TryFrom<u64> for Shards {
    type Error = String;

    fn try_from(number: u64) -> Result<Shards, String> {
        let small = u16::try_from(number).ok().filter(|n| (1..=SHARDS_MAX).contains(n));
        small.map(Shards).ok_or_else(|| format!("{number} is not in 1 ..= {SHARDS_MAX}"))
    }
}

/// How many there may be, or how long something may take in whole units: none, or not at all, would be no setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtLeastOne(u32);

impl AtLeastOne {
    /// The number.
    pub fn get(self) -> u32 {
        self.0
    }
}

impl TryFrom<u64> for AtLeastOne {
    type Error = String;

    fn try_from(number: u64) -> Result<AtLeastOne, String> {
        let small = u32::try_from(number).ok().filter(|n| *n > 0);
        small.map(AtLeastOne).ok_or_else(|| format!("{number} is not in 1 ..= {}", u32::MAX))
    }
}

/// The number of a node, 1 ..= 2^53 - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeNumber(u64);

impl NodeNumber {
    /// The number as a node id.
    pub fn id(self) -> NodeId {
        NodeId(self.0)
    }
}

impl Default for NodeNumber {
    fn default() -> NodeNumber {
        NodeNumber(1)
    }
}

impl TryFrom<u64> for NodeNumber {
    type Error = String;

    fn try_from(number: u64) -> Result<NodeNumber, String> {
        let exact = (1..1 << 53).contains(&number); // so that every JSON reader can hold it
        if exact { Ok(NodeNumber(number)) } else { Err(format!("{number} is not in 1 ..= 2^53 - 1")) }
    }
}

/// A number of bytes, written as `1048576`, `512KiB`, `64MiB` or `2GiB`; at least 1 MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteSize(u64);

impl ByteSize {
    /// The number of bytes.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl Default for ByteSize {
    /// 1 GiB: some twenty million keys.
    fn default() -> ByteSize {
        ByteSize(1 << 30)
    }
}

impl TryFrom<u64> for ByteSize {
    type Error = String;

    fn try_from(bytes: u64) -> Result<ByteSize, String> {
        if (1 << 20..=1 << 50).contains(&bytes) {
            Ok(ByteSize(bytes))
        } else {
            Err(format!("{bytes} bytes is not in 1MiB ..= 1PiB"))
        }
    }
}

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<ByteSize, String> {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let shift = match &text[digits.len()..] {
            "" | "B" => 0,
            "KiB" => 10,
            "MiB" => 20,
            "GiB" => 30,
            "TiB" => 40,
            "PiB" => 50,
            unit => return Err(format!("{unit} is not one of B, KiB, MiB, GiB, TiB, PiB")),
        };
        let number: u64 = digits.parse().map_err(|_| format!("{text} is not a size such as 512MiB"))?;
        let bytes = number.checked_mul(1 << shift).ok_or_else(|| format!("{text} is too large"))?;
        ByteSize::try_from(bytes)
    }
}

/// Reads a number or its text, for command lines and for TOML alike.
macro_rules! read_from_number_or_text {
    ($($name:ident),*) => {$(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<$name, D::Error> {
                from.deserialize_any(NumberOrText($name::try_from, |text| text.parse()))
            }
        }
    )*};
}

read_from_number_or_text!(Shards, NodeNumber, AtLeastOne, ByteSize);

/// Parses the number that a flag or a variable spells.
macro_rules! parse_as_number {
    ($($name:ident),*) => {$(
        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<$name, String> {
                $name::try_from(text.parse::<u64>().map_err(|_| format!("{text} is not a whole number"))?)
            }
        }
    )*};
}

parse_as_number!(Shards, NodeNumber, AtLeastOne);

struct NumberOrText<T>(fn(u64) -> Result<T, String>, fn(&str) -> Result<T, String>);

impl<T> serde::de::Visitor<'_> for NumberOrText<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number")
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<T, E> {
        (self.0)(number).map_err(E::custom)
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<T, E> {
        let positive = u64::try_from(number).map_err(|_| E::custom(format!("{number} is negative")))?;
        self.visit_u64(positive)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        (self.1)(text).map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_size(text: &str, expect: Result<u64, &str>) {
        let parsed = text.parse::<ByteSize>().map(ByteSize::get);
        assert_eq!(parsed.as_ref().map_err(String::as_str), expect.as_ref().map_err(|e| *e), "{text}");
    }

    #[test]
    fn sizes_have_units() {
        check_size("1048576", Ok(1 << 20));
        check_size("64MiB", Ok(64 << 20));
        check_size("2GiB", Ok(2 << 30));
        check_size("2GB", Err("GB is not one of B, KiB, MiB, GiB, TiB, PiB"));
        check_size("MiB", Err("MiB is not a size such as 512MiB"));
        check_size("5", Err("5 bytes is not in 1MiB ..= 1PiB"));
        check_size("99999999TiB", Err("99999999TiB is too large"));
    }

    #[test]
    fn shards_are_one_to_a_thousand_and_twenty_four() {
        assert_eq!("4".parse::<Shards>(), Ok(Shards(4)));
        assert_eq!("0".parse::<Shards>(), Err("0 is not in 1 ..= 1024".into()));
        assert_eq!("x".parse::<Shards>(), Err("x is not a whole number".into()));
        assert!("1025".parse::<Shards>().is_err());
    }
}
