//! Reads the TOML of configurations and profiles. It checks the text against a schema and reports all problems at once,
//! each with its position and a remedy.
//!
//! The crate contains no schema of a configuration. Callers check constraints across keys.

#![forbid(unsafe_code)]

#[cfg(feature = "cases")]
pub mod cases;
mod check;
mod place;
mod problem;
mod schema;

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
};

use serde::de::DeserializeOwned;

pub use place::Place;
pub use problem::{ConfigError, Problem};
pub use schema::{Field, Form, Kind};

/// The largest file, in bytes.
pub const FILE_BYTES: u64 = 1024 * 1024;

/// Returns the text of a file. Blocks.
///
/// # Errors
/// Fails for a file that cannot be read, exceeds [`FILE_BYTES`], is not UTF-8 or is empty.
pub fn read(path: &Path) -> Result<String, ConfigError> {
    let name = path.display().to_string();
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(FILE_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| ConfigError::whole(&name, &unread(&error), read_cure(&error)))?;
    if bytes.len() as u64 > FILE_BYTES {
        let what = format!("it is longer than {FILE_BYTES} bytes");
        return Err(ConfigError::whole(&name, &what, "name the right file"));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let before = String::from_utf8_lossy(error.as_bytes().get(..at).unwrap_or_default());
            let problem = Problem {
                place: Some(Place::at(&before, before.len())),
                field: String::new(),
                what: "this byte is not UTF-8".to_owned(),
                cure: "save the file as UTF-8, or name the right file".to_owned(),
            };
            Err(ConfigError { file: name, problems: vec![problem] })
        }
    }
}

fn unread(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::IsADirectory => "it is a directory, not a file".to_owned(),
        io::ErrorKind::PermissionDenied => "this user does not have permission to read it".to_owned(),
        _ => format!("it cannot be read: {error}"),
    }
}

fn read_cure(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "give the program's user permission to read it",
        _ => "name the file that is meant",
    }
}

/// Returns the host name, as a default for programs without a configured name. Empty if the system does not
/// provide it.
#[must_use]
pub fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

/// Parses `text` if it matches `schema`. Errors refer to it as `file`.
///
/// # Errors
/// Returns all problems: invalid TOML, unknown keys, missing keys, wrong types, values out of range.
pub fn parse<T: DeserializeOwned>(
    text: &str,
    file: &str,
    schema: &'static [Field],
) -> Result<T, ConfigError> {
    check(text, file, schema)?;
    toml::from_str(text).map_err(|error| {
        let problem = Problem {
            place: error.span().map(|span| Place::at(text, span.start)),
            field: String::new(),
            what: error.message().replace('\n', " "),
            cure: "correct the value here".to_owned(),
        };
        ConfigError { file: file.to_owned(), problems: vec![problem] }
    })
}

/// Checks whether `text` matches `schema`.
///
/// # Errors
/// As for [`parse`].
pub fn check(text: &str, file: &str, schema: &'static [Field]) -> Result<(), ConfigError> {
    let problems = check::problems(text, schema);
    if problems.is_empty() {
        return Ok(());
    }
    Err(ConfigError { file: file.to_owned(), problems })
}

#[cfg(test)]
mod tests;
