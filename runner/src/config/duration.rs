//! Parses durations such as `250ms`, `5s`, `4m` and `24h`.

use std::time::Duration;

use serde::{Deserialize, Deserializer, de::Error};

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(from)?;
    humantime::parse_duration(&text)
        .map_err(|_| D::Error::custom(format!("`{text}` is not a duration such as `250ms`, `5s` or `4m`")))
}
