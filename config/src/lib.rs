//! Reads the TOML of configurations and profiles: checks it against a schema that is data, and says of
//! everything that is wrong, all at once, what it is, where, and what to do.
//!
//! Knows no configuration of its own; what holds across fields is checked by those who have them.

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

/// A file is at most so long, in bytes.
pub const FILE_BYTES: u64 = 1024 * 1024;

/// The text of a file. Blocks.
///
/// # Errors
/// A file that cannot be read, that is longer than [`FILE_BYTES`], that is no UTF-8, or that says nothing.
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
                what: "here is a byte that is not UTF-8".to_owned(),
                cure: "save the file as UTF-8, or name the right file".to_owned(),
            };
            Err(ConfigError { file: name, problems: vec![problem] })
        }
    }
}

fn unread(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::IsADirectory => "it is a folder, not a file".to_owned(),
        io::ErrorKind::PermissionDenied => "this user may not read it".to_owned(),
        _ => format!("it cannot be read: {error}"),
    }
}

fn read_cure(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "give the user who starts the program the right to read it",
        _ => "name the file that is meant",
    }
}

/// What the host is called, for programs whose configuration gives them no name; empty where the system does
/// not say.
#[must_use]
pub fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

/// The value that `text` says, where it fits `schema`. `file` is what errors call it.
///
/// # Errors
/// Everything in which the text does not fit: TOML that is none, unknown keys, missing keys, wrong types,
/// values out of range.
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

/// Whether `text` fits `schema`.
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
