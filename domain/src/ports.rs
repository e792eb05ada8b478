//! Ranges of TCP ports.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::encoding;

/// A range of TCP ports, written as `8000` or `3000-3999`. Never contains port 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortRange {
    first: u16,
    last: u16,
}

impl PortRange {
    /// All ports.
    pub const ALL: Self = Self { first: 1, last: u16::MAX };

    /// Reports whether the range contains the port.
    #[must_use]
    pub fn contains(self, port: u16) -> bool {
        (self.first..=self.last).contains(&port)
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, last } = self;
        if first == last { write!(f, "{first}") } else { write!(f, "{first}-{last}") }
    }
}

/// An error for a text that is not a [`PortRange`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a port from 1 to 65535, or a range such as \"3000-3999\"")]
pub struct PortRangeError;

impl FromStr for PortRange {
    type Err = PortRangeError;

    fn from_str(text: &str) -> Result<Self, PortRangeError> {
        let port = |text: &str| {
            let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
            text.parse::<u16>().ok().filter(|_| plain).ok_or(PortRangeError)
        };
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let range = Self { first: port(first)?, last: port(last)? };
        if range.first <= range.last { Ok(range) } else { Err(PortRangeError) }
    }
}

impl Serialize for PortRange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        encoding::text::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for PortRange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        encoding::text::deserialize(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_contains_its_ends_and_nothing_else() {
        let range: PortRange = "3000-3002".parse().unwrap();
        let found: Vec<u16> = (0..=u16::MAX).filter(|port| range.contains(*port)).collect();
        assert_eq!(found, [3000, 3001, 3002]);
        assert_eq!("1-65535".parse(), Ok(PortRange::ALL));
        assert!(!PortRange::ALL.contains(0));
    }

    #[test]
    fn a_range_is_written_as_it_is_read() {
        for text in ["1", "8000", "3000-3999", "65535"] {
            assert_eq!(text.parse::<PortRange>().unwrap().to_string(), text);
        }
        assert_eq!("80-80".parse::<PortRange>().unwrap().to_string(), "80");
    }

    #[test]
    fn other_texts_are_refused() {
        for text in
            ["", "0", "0-1", "-1", "65536", "2-1", "1-", "-", "1-2-3", "+80", " 80", "080", "8O", "any"]
        {
            assert_eq!(text.parse::<PortRange>(), Err(PortRangeError), "{text}");
        }
    }
}
