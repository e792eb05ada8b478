//! The runner's secrets. A profile names secrets, and their values are replaced in the output of its commands.
//!
//! Only this process holds the values. No message, log or error contains them, and this module passes them to no
//! command. Must not decide which profile names which secret.

use std::{
    collections::BTreeMap,
    fmt, fs,
    io::{self, Read},
    os::unix::ffi::OsStringExt,
    path::Path,
    sync::Arc,
};

use airlock_domain::limits::{SECRET_BYTES_MAX, SECRET_BYTES_MIN, SECRETS};
pub(crate) use airlock_redact::Redactor;
use airlock_redact::{Patterns, Replacement};

use crate::config::SecretsConfig;

/// The bytes of a secret that the end of an output may contain before it is held back.
const HELD_FROM: usize = 4;

/// The reason why a secret cannot be used. Never contains the value.
#[derive(Debug, thiserror::Error)]
#[error("the secret `{name}` {what}")]
pub struct SecretError {
    name: String,
    what: String,
}

/// The values of all configured secrets, by name.
#[derive(Default)]
pub(crate) struct Secrets(BTreeMap<String, Vec<u8>>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Secrets {
    /// Reads every value. Blocks.
    ///
    /// # Errors
    /// If a value cannot be read, or does not have 8 bytes to 8 KiB.
    pub(crate) fn load(config: &SecretsConfig) -> Result<Self, SecretError> {
        let named = |name: &String, value: Result<Vec<u8>, String>| match value.and_then(fitting) {
            Ok(value) => Ok((name.clone(), value)),
            Err(what) => Err(SecretError { name: name.clone(), what }),
        };
        let files = config.files.iter().map(|(name, path)| named(name, of_file(path)));
        let env = config.env.iter().map(|(name, variable)| named(name, of_variable(variable)));
        Ok(Self(files.chain(env).collect::<Result<_, _>>()?))
    }

    /// Returns the replacer for the named secrets, or `None` if `names` is empty.
    ///
    /// # Errors
    /// A message for people if this runner lacks a name, or if there are too many names.
    pub(crate) fn replacer(&self, names: &[String]) -> Result<Option<Replacer>, String> {
        if names.is_empty() {
            return Ok(None);
        }
        if names.len() > SECRETS {
            return Err(format!("the profile names {} secrets, the limit is {SECRETS}", names.len()));
        }
        let mut found = Vec::new();
        for name in names {
            let Some(value) = self.0.get(name) else {
                return Err(format!("this runner has no secret `{}`", name.escape_debug()));
            };
            found.push((format!("[secret {name}]"), value.as_slice()));
        }
        patterns(&found).map(|patterns| Some(Replacer(Arc::new(patterns))))
    }
}

fn patterns(secrets: &[(String, &[u8])]) -> Result<Patterns, String> {
    let secrets: Vec<_> =
        secrets.iter().map(|(tag, value)| Replacement { value, tag: tag.as_bytes() }).collect();
    Patterns::new(&secrets, HELD_FROM).map_err(|error| error.to_string())
}

/// Creates one redactor per stream for the secrets of one profile.
#[derive(Clone)]
pub(crate) struct Replacer(Arc<Patterns>);

impl fmt::Debug for Replacer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Replacer")
    }
}

impl Replacer {
    pub(crate) fn redactor(&self) -> Redactor {
        Redactor::new(Arc::clone(&self.0))
    }
}

/// Reads a secret from a file. Blocks.
pub(crate) fn of_file(path: &Path) -> Result<Vec<u8>, String> {
    let mut value = read(path).map_err(|error| format!("cannot be read from its file: {error}"))?;
    // Editors and `echo` end a file with a newline.
    if value.ends_with(b"\n") {
        value.pop();
    }
    Ok(value)
}

fn of_variable(variable: &str) -> Result<Vec<u8>, String> {
    let value = std::env::var_os(variable).ok_or("names a variable that is not set")?;
    Ok(value.into_vec())
}

/// Checks the length of a secret.
pub(crate) fn fitting(value: Vec<u8>) -> Result<Vec<u8>, String> {
    match value.len() {
        SECRET_BYTES_MIN..=SECRET_BYTES_MAX => Ok(value),
        bytes => Err(format!("has {bytes} bytes; give it {SECRET_BYTES_MIN} to {SECRET_BYTES_MAX}")),
    }
}

/// Reads just enough bytes to detect that a value is too long.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut value = Vec::new();
    fs::File::open(path)?.take(SECRET_BYTES_MAX as u64 + 2).read_to_end(&mut value)?;
    Ok(value)
}

#[cfg(test)]
mod tests;
