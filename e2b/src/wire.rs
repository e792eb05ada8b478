//! The messages of E2B's services for processes and files, as JSON of protocol buffers. Unknown fields are ignored, so
//! that newer SDKs work.

pub(crate) mod filesystem;
pub(crate) mod process;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Bytes, in base64.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Base64(pub(crate) Bytes);

impl Serialize for Base64 {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'_, str>>::deserialize(from)?;
        STANDARD.decode(text.as_bytes()).map(|bytes| Self(bytes.into())).map_err(D::Error::custom)
    }
}

/// Reads a field whose JSON null means its default.
pub(crate) fn or_default<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::<T>::deserialize(from).map(Option::unwrap_or_default)
}

/// A message without fields.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Empty {}
