//! The settings of a Vault server, and the place of a secret in it.

use std::{path::PathBuf, time::Duration};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::address::Address;

/// The longest mount or path, in bytes.
const PATH_BYTES: usize = 512;
/// The longest name of a field, in bytes.
const FIELD_BYTES: usize = 128;
/// The characters of a path that are not encoded.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');

/// The settings of a Vault server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The server.
    pub address: Address,
    /// The namespace of every request except that for the server's health.
    pub namespace: Option<String>,
    /// The file of the authorities that may have signed the server's certificate, in PEM. `None`: those of the system.
    pub ca: Option<PathBuf>,
    /// The file with a token: of Vault, or with a role, of the runner's Kubernetes service account. It is read at each
    /// use of a token of Vault, and at each login.
    pub token_file: PathBuf,
    /// The role of the login with a Kubernetes service account.
    pub kubernetes_role: Option<String>,
    /// The mount of that authentication method.
    pub kubernetes_mount: String,
    /// The maximum time for a value, with the login.
    pub timeout: Duration,
    /// The maximum time for which a value is kept. A shorter lease shortens it.
    pub cache: Duration,
}

/// The place of one value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    path: String,
    field: String,
    /// Whether the engine is of version 2.
    is_versioned: bool,
}

/// A part of a place is not usable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// The mount or the authentication method.
    #[error("is not the path of a mount")]
    Mount,
    /// The path.
    #[error("is not the path of a secret")]
    Path,
    /// The field.
    #[error("is not the name of a field")]
    Field,
}

impl Place {
    /// Creates the place of a field in the engine at `mount`, with version 1 or 2 of the engine.
    ///
    /// # Errors
    /// If a part is empty, too long, or has an empty segment, `.`, `..` or a control character.
    pub fn new(mount: &str, path: &str, field: &str, kv_version: u8) -> Result<Self, PlaceError> {
        let mount = encoded(mount).ok_or(PlaceError::Mount)?;
        let path = encoded(path).ok_or(PlaceError::Path)?;
        if field.is_empty() || field.len() > FIELD_BYTES || field.chars().any(char::is_control) {
            return Err(PlaceError::Field);
        }
        let is_versioned = kv_version != 1;
        let path = match is_versioned {
            true => format!("/v1/{mount}/data/{path}"),
            false => format!("/v1/{mount}/{path}"),
        };
        Ok(Self { path, field: field.to_owned(), is_versioned })
    }

    /// Returns the path of a request, beginning with `/v1/`.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn field(&self) -> &str {
        &self.field
    }

    pub(crate) fn is_versioned(&self) -> bool {
        self.is_versioned
    }
}

/// Encodes a mount or a path. `None`: it is not usable.
pub(crate) fn encoded(path: &str) -> Option<String> {
    let is_segment = |segment: &str| !["", ".", ".."].contains(&segment);
    let is_usable =
        path.len() <= PATH_BYTES && path.split('/').all(is_segment) && !path.chars().any(char::is_control);
    is_usable.then(|| utf8_percent_encode(path, KEPT).to_string())
}
