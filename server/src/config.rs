//! The server's configuration: one TOML file, parsed into types at start.
//!
//! Unknown fields are refused, every limit has a name, and fields are checked across. Every problem is
//! reported at once, with file, line, field and cure. Nothing here opens a socket or a store.

mod check;
mod identity;
mod locate;
mod sections;

use std::{
    fmt,
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use serde::Deserialize;

pub use identity::{Identity, Match, RoleName};
pub use sections::{
    ClientCertificates, Limits, Link, Listen, LogFormat, Outputs, Profiles, Store, Telemetry, Tls,
};

/// A configuration file is at most so long, in bytes.
pub const FILE_BYTES: u64 = 1024 * 1024;

/// The whole configuration.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Names this server in the store, in leases and to runners; unique among servers of one store.
    pub server_id: String,
    /// Where it listens.
    pub listen: Listen,
    /// What it remembers.
    pub store: Store,
    /// Where finished output is kept.
    pub outputs: Outputs,
    /// What policy decides by.
    #[serde(default)]
    pub profiles: Profiles,
    /// Who may call.
    #[serde(default, rename = "identity")]
    pub identities: Vec<Identity>,
    /// At most so much of everything.
    #[serde(default)]
    pub limits: Limits,
    /// The link to runners.
    #[serde(default)]
    pub link: Link,
    /// Traces, metrics and logs.
    #[serde(default)]
    pub telemetry: Telemetry,
}

/// One thing that is wrong with a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// From 1; none where there is no file.
    pub line: Option<usize>,
    /// The field's path, such as `link.lost_after`.
    pub field: String,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub cure: String,
}

/// Why a configuration was refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("the configuration `{}` cannot be read: {source}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is too long to be one.
    #[error("the configuration `{}` is longer than {FILE_BYTES} bytes", file.display())]
    TooLong {
        /// The file.
        file: PathBuf,
    },
    /// It was read and refused.
    #[error("{}", Listing { name, problems })]
    Refused {
        /// The file as it was named.
        name: String,
        /// All that is wrong.
        problems: Vec<Problem>,
    },
}

impl Config {
    /// A configuration for a server inside another program: plain text on a loopback port of the
    /// system's choice, state under `state`, nobody known yet.
    #[must_use]
    pub fn embedded(server_id: &str, state: &Path) -> Self {
        Self {
            server_id: server_id.to_owned(),
            listen: Listen::loopback(),
            store: Store::at(state.join("airlock.db")),
            outputs: Outputs { directory: state.join("outputs") },
            profiles: Profiles::default(),
            identities: Vec::new(),
            limits: Limits::default(),
            link: Link::default(),
            telemetry: Telemetry::default(),
        }
    }

    /// Reads, parses and checks `file`, the files that it names included.
    ///
    /// # Errors
    /// See [`ConfigError`].
    pub fn load(file: &Path) -> Result<Self, ConfigError> {
        let read = |source| ConfigError::Read { file: file.to_owned(), source };
        let mut text = String::new();
        File::open(file).map_err(read)?.take(FILE_BYTES + 1).read_to_string(&mut text).map_err(read)?;
        if text.len() as u64 > FILE_BYTES {
            return Err(ConfigError::TooLong { file: file.to_owned() });
        }
        let name = file.display().to_string();
        let config = Self::parse(&text, &name)?;
        refuse(&name, Some(&text), config.file_problems())?;
        Ok(config)
    }

    /// Parses and checks a configuration, but not whether the files that it names are there.
    ///
    /// # Errors
    /// [`ConfigError::Refused`]; `name` is what it calls the file.
    pub fn parse(text: &str, name: &str) -> Result<Self, ConfigError> {
        let config: Self = toml::from_str(text).map_err(|error| ConfigError::Refused {
            name: name.to_owned(),
            problems: vec![locate::parse_problem(text, &error)],
        })?;
        refuse(name, Some(text), config.problems())?;
        Ok(config)
    }

    /// Checks a configuration that was made by a program, and the files that it names.
    ///
    /// # Errors
    /// [`ConfigError::Refused`].
    pub fn check(&self) -> Result<(), ConfigError> {
        let mut problems = self.problems();
        problems.extend(self.file_problems());
        refuse("configuration", None, problems)
    }
}

fn refuse(name: &str, text: Option<&str>, mut problems: Vec<Problem>) -> Result<(), ConfigError> {
    if problems.is_empty() {
        return Ok(());
    }
    if let Some(text) = text {
        for problem in &mut problems {
            problem.line = locate::line_of(text, &problem.field);
        }
        problems.sort_by_key(|problem| problem.line);
    }
    Err(ConfigError::Refused { name: name.to_owned(), problems })
}

/// One line for each problem.
struct Listing<'a> {
    name: &'a str,
    problems: &'a [Problem],
}

impl fmt::Display for Listing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            f.write_str(self.name)?;
            if let Some(line) = problem.line {
                write!(f, ":{line}")?;
            }
            write!(f, ": `{}`: {}; {}", problem.field, problem.what, problem.cure)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
