//! The answers of Vault's API. Every text that can be a secret is cleared when it is dropped.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Deserializer, de::DeserializeOwned, de::IgnoredAny};
use zeroize::Zeroizing;

use crate::{error::VaultError, settings::Place};

/// A text of an answer. It has no `Debug` form.
pub(crate) struct Text(pub(crate) Zeroizing<String>);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from).map(|text| Self(Zeroizing::new(text)))
    }
}

/// A field of a secret.
#[derive(Deserialize)]
#[serde(untagged)]
enum Field {
    Text(Text),
    Other(IgnoredAny),
}

type Fields = BTreeMap<String, Field>;

/// The answer to a read of version 1.
#[derive(Deserialize)]
struct First {
    data: Fields,
    #[serde(default)]
    lease_duration: u64,
}

/// The answer to a read of version 2. Its lease is always 0.
#[derive(Deserialize)]
struct Second {
    data: Versioned,
}

#[derive(Deserialize)]
struct Versioned {
    data: Fields,
    #[serde(rename = "metadata")]
    _metadata: IgnoredAny,
}

/// The answer to a login.
#[derive(Deserialize)]
struct LoginAnswer {
    auth: Auth,
}

#[derive(Deserialize)]
struct Auth {
    client_token: Text,
    #[serde(default)]
    lease_duration: u64,
}

/// The answer about the server's health.
#[derive(Deserialize)]
pub(crate) struct HealthAnswer {
    pub(crate) sealed: bool,
    #[serde(default)]
    pub(crate) version: String,
}

/// A value, and the time for which it may be used. `None`: the server names no time.
pub(crate) struct Fetched {
    pub(crate) value: Zeroizing<String>,
    pub(crate) lease: Option<Duration>,
}

/// Returns the value at a place from the answer to its request.
pub(crate) fn value(body: &[u8], place: &Place) -> Result<Fetched, VaultError> {
    let (mut fields, lease) = if place.is_versioned() {
        (parse::<Second>(body)?.data.data, 0)
    } else {
        let First { data, lease_duration } = parse(body)?;
        (data, lease_duration)
    };
    match fields.remove(place.field()) {
        Some(Field::Text(Text(value))) => Ok(Fetched { value, lease: seconds(lease) }),
        Some(Field::Other(_)) | None => Err(VaultError::Field),
    }
}

/// Returns the token of a login, and its lifetime.
pub(crate) fn token(body: &[u8]) -> Result<Fetched, VaultError> {
    let Auth { client_token: Text(value), lease_duration } = parse::<LoginAnswer>(body)?.auth;
    Ok(Fetched { value, lease: seconds(lease_duration) })
}

/// Parses an answer. The parser's error is dropped, because it can quote the answer.
pub(crate) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, VaultError> {
    serde_json::from_slice(body).map_err(|_| VaultError::Malformed)
}

fn seconds(count: u64) -> Option<Duration> {
    (count > 0).then(|| Duration::from_secs(count))
}
