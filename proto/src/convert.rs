//! Wire types to domain types and back.
//!
//! Into the domain everything is checked: an unknown enum value, a missing message or a malformed id
//! is a [`ConvertError`] that names the field. Out of it nothing can fail.

mod bound;
mod cause;
mod confinement;
mod enums;
mod exchange;
mod file;
mod grant;
mod link;
mod output;
mod push;
mod stored;
mod terminal;
mod terms;

use std::{str::FromStr, time::Duration};

use bytes::Bytes;

use crate::twin;

/// A message that is not of the contract's form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("field `{field}`: {problem}")]
pub struct ConvertError {
    /// The field's path in the message.
    pub field: &'static str,
    /// What is wrong with it.
    pub problem: String,
}

impl ConvertError {
    fn new(field: &'static str, problem: impl Into<String>) -> Self {
        Self { field, problem: problem.into() }
    }
}

/// The message in a field that must be set.
pub(crate) fn required<T>(field: &'static str, value: Option<T>) -> Result<T, ConvertError> {
    value.ok_or_else(|| ConvertError::new(field, "is missing"))
}

/// An id or another parsed text.
pub(crate) fn parsed<T>(field: &'static str, text: &str) -> Result<T, ConvertError>
where
    T: FromStr,
    T::Err: std::fmt::Display,
{
    text.parse().map_err(|error: T::Err| ConvertError::new(field, error.to_string()))
}

/// A text of two fields, of which at most one is set.
pub(crate) fn joined(field: &'static str, text: String, bytes: Bytes) -> Result<Vec<u8>, ConvertError> {
    twin::join(text, bytes).map(Into::into).map_err(|error| ConvertError::new(field, error.to_string()))
}

/// A duration that must be set, and not be negative.
pub(crate) fn duration(
    field: &'static str,
    value: Option<prost_types::Duration>,
) -> Result<Duration, ConvertError> {
    required(field, value)?.try_into().map_err(|_| ConvertError::new(field, "is negative or too large"))
}

/// A duration for the wire. What does not fit is the largest that does, some 10,000 years.
pub(crate) fn wire_duration(value: Duration) -> prost_types::Duration {
    const MAX: prost_types::Duration = prost_types::Duration { seconds: 315_576_000_000, nanos: 0 };
    value.try_into().unwrap_or(MAX)
}

/// Exactly thirty-two bytes.
pub(crate) fn digest(field: &'static str, bytes: &[u8]) -> Result<[u8; 32], ConvertError> {
    bytes.try_into().map_err(|_| ConvertError::new(field, format!("has {} bytes, not 32", bytes.len())))
}

#[cfg(test)]
mod tests;
