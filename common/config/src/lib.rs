//! Layered configurations. The types of a configuration are its only definition: their schema validates the merged value
//! of all layers, and every problem is reported at once, with its origin and a remedy.
//!
//! The layers are the defaults of the types, a TOML file, the environment (`PREFIX__SECTION__KEY`) and flags
//! (`--set section.key=VALUE`). Profiles have one layer: the file.
//!
//! The crate contains no type of a configuration. Callers check constraints across keys.

#![forbid(unsafe_code)]

#[cfg(feature = "cases")]
pub mod cases;
mod check;
mod document;
mod kinds;
mod layers;
mod origin;
mod overrides;
mod problem;
#[cfg(feature = "cases")]
pub mod reference;
mod report;
mod schema;

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use serde::{Serialize, de::DeserializeOwned};

pub use kinds::{Address, OrNone, Ports, Time, Timed, YEAR};
pub use origin::{Origin, Place};
pub use overrides::Overrides;
pub use problem::{ConfigError, Problem};
pub use schema::Schema;

use document::Document;
use layers::{Merged, Part};

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
        return Err(ConfigError::whole(&name, &what, "check the path"));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let before = String::from_utf8_lossy(error.as_bytes().get(..at).unwrap_or_default());
            let problem = Problem {
                origin: Some(Origin::Place(Place::at(&before, before.len()))),
                field: String::new(),
                what: "this byte is not UTF-8".to_owned(),
                cure: "save the file as UTF-8, or correct the path".to_owned(),
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
        _ => "correct the path",
    }
}

/// Returns the host name, as a default for programs without a configured name. Empty if the system does not
/// provide it.
#[must_use]
pub fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

/// Parses a text with one layer. Errors refer to it as `file`.
///
/// # Errors
/// Returns all problems: invalid TOML, unknown keys, missing keys, wrong types, values out of range.
pub fn parse<T: DeserializeOwned>(text: &str, file: &str, schema: &'static Schema) -> Result<T, ConfigError> {
    Loaded::parse(text, file, &Overrides::default(), schema).map(|loaded| loaded.config)
}

/// The file and the overrides of a configuration. They can be read again.
#[derive(Debug, Clone)]
pub struct Layers {
    /// The file.
    pub file: PathBuf,
    /// The environment and the flags.
    pub overrides: Overrides,
}

impl From<&Path> for Layers {
    /// A file without overrides.
    fn from(file: &Path) -> Self {
        Self { file: file.to_owned(), overrides: Overrides::default() }
    }
}

impl From<&PathBuf> for Layers {
    fn from(file: &PathBuf) -> Self {
        Self::from(file.as_path())
    }
}

impl Layers {
    /// Reads and merges the layers. Blocks.
    ///
    /// # Errors
    /// Returns all problems of the single keys.
    pub fn load<T: DeserializeOwned>(&self, schema: &'static Schema) -> Result<Loaded<T>, ConfigError> {
        Loaded::parse(&read(&self.file)?, &self.file.display().to_string(), &self.overrides, schema)
    }
}

/// A configuration with the origin of each value.
#[derive(Debug)]
pub struct Loaded<T> {
    /// The configuration.
    pub config: T,
    file: String,
    merged: Merged,
    schema: &'static Schema,
}

impl<T> Loaded<T> {
    /// Merges a text and overrides, and validates the result. Errors refer to the text as `file`.
    ///
    /// # Errors
    /// As for [`parse`].
    pub fn parse(
        text: &str,
        file: &str,
        overrides: &Overrides,
        schema: &'static Schema,
    ) -> Result<Self, ConfigError>
    where
        T: DeserializeOwned,
    {
        let document = match Document::parse(text) {
            Ok(document) => document,
            Err(mut problems) => {
                problems.iter_mut().for_each(|problem| check::twice(schema, problem));
                return Err(ConfigError::syntax(file, problems));
            }
        };
        let mut problems = overrides::unknown_permissions(overrides, schema);
        let merged = Merged::of(document, overrides, schema, &mut problems);
        if merged.is_empty() && problems.is_empty() {
            let (what, cure) = check::empty(schema);
            let origin = Some(Origin::Place(Place { line: 1, column: 1 }));
            problems.push(Problem { origin, field: String::new(), what, cure });
        } else {
            problems.extend(check::problems(schema, &merged));
        }
        ConfigError::sorted(file, problems)?;
        let config = serde_json::from_value(merged.value.clone())
            .map_err(|error| ConfigError::whole(file, &error.to_string(), "correct the value"))?;
        Ok(Self { config, file: file.to_owned(), merged, schema })
    }

    /// Returns an error if there are problems. Their origins are those of their fields.
    ///
    /// # Errors
    /// The problems, if there are any.
    pub fn unless_right(&self, mut problems: Vec<Problem>) -> Result<(), ConfigError> {
        problems.truncate(problem::PROBLEMS + 1);
        for problem in &mut problems {
            problem.origin = Some(self.merged.origin(&origin::Path::parse(&problem.field), Part::Key));
        }
        ConfigError::sorted(&self.file, problems)
    }

    /// Returns every key with its value and origin, one per line. Secrets are not shown.
    ///
    /// # Errors
    /// If the configuration cannot be serialized.
    pub fn effective(&self) -> Result<String, serde_json::Error>
    where
        T: Serialize,
    {
        let value = serde_json::to_value(&self.config)?;
        Ok(report::effective(&value, self.schema, &self.merged, &self.file))
    }
}

#[cfg(test)]
mod tests;
