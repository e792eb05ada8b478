//! Serialization that differs from serde's derived form: spans as `[s,e]`, words as text or null. Output only.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::ser::{Serialize, SerializeMap, SerializeTuple, Serializer};

use super::{PolicyVersion, Span, Word};

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut pair = serializer.serialize_tuple(2)?;
        pair.serialize_element(&self.start)?;
        pair.serialize_element(&self.end)?;
        pair.end()
    }
}

impl Serialize for Word {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(bytes) = &self.text else {
            return serializer.serialize_none();
        };
        if let Ok(text) = std::str::from_utf8(bytes) {
            return serializer.serialize_str(text);
        }
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("lossy", &String::from_utf8_lossy(bytes))?;
        map.serialize_entry("base64", &STANDARD.encode(bytes))?;
        map.end()
    }
}

impl Serialize for PolicyVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for PolicyVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}
