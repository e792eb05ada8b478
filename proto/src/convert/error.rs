//! The error of a conversion, and the checks that several messages need.

use std::{str::FromStr, time::Duration};

use bytes::Bytes;

use crate::twin;

/// An error for a message that violates the contract.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("field `{field}`: {problem}")]
pub struct ConvertError {
    /// The path of the field in the message.
    pub field: &'static str,
    /// The problem with the field.
    pub problem: String,
}

impl ConvertError {
    pub(super) fn new(field: &'static str, problem: impl Into<String>) -> Self {
        Self { field, problem: problem.into() }
    }
}

/// Returns the message in a required field.
pub(super) fn required<T>(field: &'static str, value: Option<T>) -> Result<T, ConvertError> {
    value.ok_or_else(|| ConvertError::new(field, "is missing"))
}

/// Parses an ID or another text.
pub(super) fn parsed<T>(field: &'static str, text: &str) -> Result<T, ConvertError>
where
    T: FromStr,
    T::Err: std::fmt::Display,
{
    text.parse().map_err(|error: T::Err| ConvertError::new(field, error.to_string()))
}

/// Joins the two fields of a text, of which at most one may be set.
pub(super) fn joined(field: &'static str, text: String, bytes: Bytes) -> Result<Vec<u8>, ConvertError> {
    twin::join(text, bytes).map(Into::into).map_err(|error| ConvertError::new(field, error.to_string()))
}

/// Converts a required, non-negative duration.
pub(super) fn duration(
    field: &'static str,
    value: Option<prost_types::Duration>,
) -> Result<Duration, ConvertError> {
    required(field, value)?.try_into().map_err(|_| ConvertError::new(field, "is negative or too large"))
}

/// Converts a duration for the wire. A larger value becomes the maximum, about 10,000 years.
pub(super) fn wire_duration(value: Duration) -> prost_types::Duration {
    const MAX: prost_types::Duration = prost_types::Duration { seconds: 315_576_000_000, nanos: 0 };
    value.try_into().unwrap_or(MAX)
}

/// Converts a digest of exactly 32 bytes.
pub(super) fn digest(field: &'static str, bytes: &[u8]) -> Result<[u8; 32], ConvertError> {
    bytes.try_into().map_err(|_| ConvertError::new(field, format!("has {} bytes, not 32", bytes.len())))
}
