//! The canonical encoding: compact JSON. Fields are in the order of their declaration, maps in the order of their keys,
//! and bytes are base64.
//!
//! The stored form of a command, the wire form of a grant and every hash use it. A type refuses a field that it
//! does not know, because this version could not enforce it. A field that is added later has a default, and is
//! absent from the encoding while it has that default. Encodings and hashes from before the field remain valid.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};

/// An error for an encoding that is malformed, has an unknown field or exceeds a limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct EncodingError {
    problem: String,
}

impl EncodingError {
    /// Creates an error with a description of the problem.
    pub(crate) fn new(problem: impl Into<String>) -> Self {
        Self { problem: problem.into() }
    }
}

/// Returns the canonical encoding of a value.
#[must_use]
pub fn encode(value: &impl Serialize) -> Vec<u8> {
    // Encoding can fail only for a map with keys that are not text. The types of this crate have none.
    serde_json::to_vec(value)
        .unwrap_or_else(|error| unreachable!("every domain type can be encoded: {error}"))
}

/// Decodes a value. Does not check limits.
///
/// # Errors
/// Returns an error if the encoding is malformed or has an unknown field.
pub fn decode<T: DeserializeOwned>(encoded: &[u8]) -> Result<T, EncodingError> {
    // The position is kept. The text of the error can contain a part of the value.
    serde_json::from_slice(encoded).map_err(|error| {
        let kind = match error.classify() {
            serde_json::error::Category::Data => "has a field that is unknown, missing or malformed",
            _ => "is not JSON",
        };
        EncodingError::new(format!("{kind}, at byte {}", error.column()))
    })
}

/// Reports whether a flag has its default, so that the encoding does not contain it.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(crate) fn is_false(flag: &bool) -> bool {
    !flag
}

/// Bytes as base64.
pub mod bytes {
    use std::borrow::Cow;

    use base64::{Engine as _, engine::general_purpose::STANDARD};

    use super::{Deserialize, Deserializer, Serializer};

    /// Encodes bytes.
    ///
    /// # Errors
    /// Returns the serializer's error.
    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    /// Decodes bytes.
    ///
    /// # Errors
    /// Returns an error if the text is not base64.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        STANDARD.decode(text.as_bytes()).map_err(serde::de::Error::custom)
    }
}

/// One element of a collection of bytes, as base64.
#[derive(Serialize, Deserialize)]
struct Element(#[serde(with = "bytes")] Vec<u8>);

/// A borrowed [`Element`].
struct Borrowed<'a>(&'a [u8]);

impl Serialize for Borrowed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        bytes::serialize(self.0, serializer)
    }
}

/// Lists of bytes.
pub mod byte_lists {
    use super::{Borrowed, Deserialize, Deserializer, Element, Serializer};

    /// Encodes a list.
    ///
    /// # Errors
    /// Returns the serializer's error.
    pub fn serialize<S: Serializer>(list: &[Vec<u8>], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(list.iter().map(|bytes| Borrowed(bytes)))
    }

    /// Decodes a list.
    ///
    /// # Errors
    /// Returns an error if an element is not base64.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Vec<u8>>, D::Error> {
        Ok(Vec::<Element>::deserialize(deserializer)?.into_iter().map(|Element(bytes)| bytes).collect())
    }
}

/// Environment variables. A name is text, a value is bytes.
pub mod env {
    use std::collections::BTreeMap;

    use super::{Borrowed, Deserialize, Deserializer, Element, Serializer};

    /// Encodes variables.
    ///
    /// # Errors
    /// Returns the serializer's error.
    pub fn serialize<S: Serializer>(
        env: &BTreeMap<String, Vec<u8>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(env.iter().map(|(name, value)| (name, Borrowed(value))))
    }

    /// Decodes variables.
    ///
    /// # Errors
    /// Returns an error if a value is not base64.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<String, Vec<u8>>, D::Error> {
        let env = BTreeMap::<String, Element>::deserialize(deserializer)?;
        Ok(env.into_iter().map(|(name, Element(value))| (name, value)).collect())
    }
}

/// A value that has a text form, such as an identifier.
pub(crate) mod text {
    use std::{borrow::Cow, fmt::Display, str::FromStr};

    use super::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(value: &impl Display, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub(crate) fn deserialize<'de, D, T>(deserializer: D) -> Result<T, D::Error>
    where
        D: Deserializer<'de>,
        T: FromStr,
        T::Err: Display,
    {
        Cow::<'de, str>::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
