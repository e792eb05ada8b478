//! The errors of loading profiles.

use std::path::PathBuf;

/// The reason why profiles could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum ProfilesError {
    /// The directory cannot be listed.
    #[error("the profile directory `{}` cannot be read: {source}", path.display())]
    Folder {
        /// The directory.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// There are too many files.
    #[error("`{}` has more than {limit} {what}", path.display())]
    TooMuch {
        /// The directory.
        path: PathBuf,
        /// The limit.
        limit: u64,
        /// The counted objects.
        what: &'static str,
    },
    /// Files cannot be read or are invalid. Contains all problems of each file.
    #[error("{}", lines(.0))]
    Refused(Vec<airlock_config::ConfigError>),
}

fn lines(errors: &[airlock_config::ConfigError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
