//! Parses times with a unit.

use std::time::Duration;

use serde::{Deserialize, Deserializer, de::Error as _};

pub(super) fn optional_duration<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Duration>, D::Error> {
    duration(input).map(Some)
}

/// Parses a time with a unit, such as `500ms`, `30s` or `4m`.
pub(super) fn duration<'de, D: Deserializer<'de>>(input: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(input)?;
    humantime::parse_duration(&text)
        .map_err(|error| D::Error::custom(format!("`{text}` is not a time such as `30s` or `4m`: {error}")))
}
