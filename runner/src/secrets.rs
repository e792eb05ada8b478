//! The runner's secrets: values that profiles name, so that they are replaced in what commands write.
//!
//! A value is known to this process alone: it is in no message, no log and no error, and is given to no command
//! by this. Must not decide which profile names what.

mod redact;

use std::{
    collections::BTreeMap,
    fmt, fs,
    io::{self, Read},
    os::unix::ffi::OsStringExt,
    path::Path,
    sync::Arc,
};

use airlock_proto::limits::{SECRET_BYTES_MAX, SECRET_BYTES_MIN, SECRETS};

use crate::config::SecretsConfig;

use redact::Patterns;
pub(crate) use redact::Redactor;

/// Why a secret cannot be used. Never says its value.
#[derive(Debug, thiserror::Error)]
#[error("the secret `{name}` {what}")]
pub struct SecretError {
    name: String,
    what: String,
}

/// See the module.
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
    /// If one cannot be read, or is not of 8 bytes to 8 KiB.
    pub(crate) fn load(config: &SecretsConfig) -> Result<Self, SecretError> {
        let named = |name: &String, value: Result<Vec<u8>, String>| match value.and_then(fitting) {
            Ok(value) => Ok((name.clone(), value)),
            Err(what) => Err(SecretError { name: name.clone(), what }),
        };
        let files = config.files.iter().map(|(name, path)| named(name, of_file(path)));
        let env = config.env.iter().map(|(name, variable)| named(name, of_variable(variable)));
        Ok(Self(files.chain(env).collect::<Result<_, _>>()?))
    }

    /// What replaces these secrets in output; none where there are none.
    ///
    /// # Errors
    /// What is wrong, for people: a name that this runner does not have, or too many.
    pub(crate) fn replacer(&self, names: &[String]) -> Result<Option<Replacer>, String> {
        if names.is_empty() {
            return Ok(None);
        }
        if names.len() > SECRETS {
            return Err(format!("the profile names {} secrets, at most {SECRETS}", names.len()));
        }
        let mut found = Vec::new();
        for name in names {
            let Some(value) = self.0.get(name) else {
                return Err(format!("this runner has no secret `{}`", name.escape_debug()));
            };
            found.push((name.as_str(), value.as_slice()));
        }
        let patterns = Patterns::new(&found).map_err(|error| error.to_string())?;
        Ok(Some(Replacer(Arc::new(patterns))))
    }
}

/// Makes what replaces the secrets of one profile, for each stream one.
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

fn of_file(path: &Path) -> Result<Vec<u8>, String> {
    let mut value = read(path).map_err(|error| format!("cannot be read from its file: {error}"))?;
    // As editors and `echo` end a file.
    if value.ends_with(b"\n") {
        value.pop();
    }
    Ok(value)
}

fn of_variable(variable: &str) -> Result<Vec<u8>, String> {
    let value = std::env::var_os(variable).ok_or("names a variable that is not set")?;
    Ok(value.into_vec())
}

fn fitting(value: Vec<u8>) -> Result<Vec<u8>, String> {
    match value.len() {
        SECRET_BYTES_MIN..=SECRET_BYTES_MAX => Ok(value),
        bytes => Err(format!("has {bytes} bytes; give it {SECRET_BYTES_MIN} to {SECRET_BYTES_MAX}")),
    }
}

/// No more than shows that it is too long.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut value = Vec::new();
    fs::File::open(path)?.take(SECRET_BYTES_MAX as u64 + 2).read_to_end(&mut value)?;
    Ok(value)
}

#[cfg(test)]
mod tests;
