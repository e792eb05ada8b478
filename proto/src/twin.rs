//! Text that may not be UTF-8, as two fields of the contract: a `string` and a bytes field, `NAME_bytes`.
//!
//! Commands, paths and values of variables are bytes on Linux, and nearly always UTF-8. A client that writes
//! JSON uses the `string` field. Airlock sets the `string` field if the text is UTF-8 and the bytes field
//! otherwise, never both. Only this module handles the two fields; all other code treats text as bytes.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::v1;

/// An error: both fields of one text are set, so the text is ambiguous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is set both as text and as bytes; set one of the two")]
pub struct BothSet;

/// Splits a text into its two fields: the `string` field if it is UTF-8, else the bytes field. The other
/// field is empty.
#[must_use]
pub fn split(text: impl Into<Bytes>) -> (String, Bytes) {
    let bytes = text.into();
    match str::from_utf8(&bytes) {
        Ok(text) => (text.to_owned(), Bytes::new()),
        Err(_) => (String::new(), bytes),
    }
}

/// Joins the two fields of a text. If both are empty, the text is empty.
///
/// # Errors
/// Returns [`BothSet`] if both fields are set, even to equal values.
pub fn join(text: String, bytes: Bytes) -> Result<Bytes, BothSet> {
    match (text.is_empty(), bytes.is_empty()) {
        (false, false) => Err(BothSet),
        (false, true) => Ok(text.into()),
        (true, _) => Ok(bytes),
    }
}

/// Splits named texts, such as an environment, into two maps. Each name is in exactly one of them.
#[must_use]
pub fn split_map(
    texts: impl IntoIterator<Item = (String, Bytes)>,
) -> (BTreeMap<String, String>, BTreeMap<String, Bytes>) {
    let mut maps = (BTreeMap::new(), BTreeMap::new());
    for (name, value) in texts {
        match str::from_utf8(&value) {
            Ok(text) => drop(maps.0.insert(name, text.to_owned())),
            Err(_) => drop(maps.1.insert(name, value)),
        }
    }
    maps
}

/// Joins two maps of named texts. Also returns the names that are in both maps; for these, the bytes value is
/// used.
#[must_use]
pub fn join_maps(
    texts: BTreeMap<String, String>,
    bytes: BTreeMap<String, Bytes>,
) -> (BTreeMap<String, Bytes>, Vec<String>) {
    let mut joined: BTreeMap<_, _> = texts.into_iter().map(|(name, text)| (name, text.into())).collect();
    let mut both = Vec::new();
    for (name, value) in bytes {
        if joined.insert(name.clone(), value).is_some() {
            both.push(name);
        }
    }
    (joined, both)
}

/// Returns the text of two fields of a response. A server sets only one; if both are set, the bytes field is
/// used.
fn shown<'a>(text: &'a str, bytes: &'a [u8]) -> &'a [u8] {
    if bytes.is_empty() { text.as_bytes() } else { bytes }
}

/// Implements accessors that read and set the texts of messages as bytes.
macro_rules! texts {
    ($($message:ident { $($text:ident, $bytes:ident, $with:ident;)+ })+) => {$(
        impl v1::$message {
            $(
                #[doc = concat!("Returns the bytes of `", stringify!($text), "`, from the `string` field or the bytes field.")]
                #[must_use]
                pub fn $text(&self) -> &[u8] {
                    shown(&self.$text, &self.$bytes)
                }

                #[doc = concat!("Returns the message with this `", stringify!($text), "`: in the `string` field if it is UTF-8, else in the bytes field.")]
                #[must_use]
                pub fn $with(mut self, text: impl Into<Bytes>) -> Self {
                    (self.$text, self.$bytes) = split(text);
                    self
                }
            )+
        }
    )+};
}

texts! {
    Approval {
        command, command_bytes, with_command;
        directory, directory_bytes, with_directory;
    }
    BoundFile { path, path_bytes, with_path; }
    BoundPath { path, path_bytes, with_path; }
    BoundVariable { value, value_bytes, with_value; }
    Execution {
        command, command_bytes, with_command;
        directory, directory_bytes, with_directory;
    }
    ExecutionSpec { command, command_bytes, with_command; }
    FileChange { patch, patch_bytes, with_patch; }
    FileInfo {
        path, path_bytes, with_path;
        link_target, link_target_bytes, with_link_target;
    }
    FilePreview {
        path, path_bytes, with_path;
        diff, diff_bytes, with_diff;
    }
    FileServiceDiffRequest { path, path_bytes, with_path; }
    FileServiceDownloadRequest { path, path_bytes, with_path; }
    FileServiceListRequest { path, path_bytes, with_path; }
    FileServiceRestoreQuarantineResponse { path, path_bytes, with_path; }
    FileServiceStatRequest { path, path_bytes, with_path; }
    PathUse { path, path_bytes, with_path; }
    PolicyServiceCheckRequest {
        command, command_bytes, with_command;
        directory, directory_bytes, with_directory;
    }
    Result { directory, directory_bytes, with_directory; }
    Session { directory, directory_bytes, with_directory; }
    SkippedFile { path, path_bytes, with_path; }
    UploadHeader { path, path_bytes, with_path; }
    Violation { path, path_bytes, with_path; }
}

/// Implements setters for the environments of messages.
macro_rules! environments {
    ($($message:ident)+) => {$(
        impl v1::$message {
            /// Sets these variables, each in the map that can hold its value.
            #[must_use]
            pub fn with_env(mut self, env: impl IntoIterator<Item = (String, Bytes)>) -> Self {
                (self.env, self.env_bytes) = split_map(env);
                self
            }
        }
    )+};
}

environments! { ExecutionSpec SessionServiceCreateRequest }

impl v1::Word {
    /// Returns a word with a known value.
    #[must_use]
    pub fn known(text: impl Into<Bytes>) -> Self {
        let (text, bytes) = split(text);
        if bytes.is_empty() {
            Self { text: Some(text), text_bytes: None }
        } else {
            Self { text: None, text_bytes: Some(bytes) }
        }
    }

    /// Returns the bytes of a word with a known value, which can be empty.
    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        self.text_bytes.as_deref().or(self.text.as_deref().map(str::as_bytes))
    }
}

#[cfg(test)]
mod tests;
