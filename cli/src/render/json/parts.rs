//! Parts that several formats share.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

/// Formats bytes as text and, if they are not UTF-8, also as base64.
pub(super) fn bytes(data: &[u8]) -> Value {
    match std::str::from_utf8(data) {
        Ok(text) => json!({"text": text, "lossy": false}),
        Err(_) => json!({
            "text": String::from_utf8_lossy(data),
            "lossy": true,
            "base64": STANDARD.encode(data),
        }),
    }
}

pub(super) fn known<T: Into<Value>>(is: bool, value: impl FnOnce() -> T) -> Value {
    if is { value().into() } else { Value::Null }
}

pub(super) fn insert(object: &mut Value, name: &str, value: Value) {
    if let Value::Object(fields) = object {
        fields.insert(name.to_owned(), value);
    }
}
