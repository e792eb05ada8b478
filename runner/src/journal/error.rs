//! The errors of the journal.

use std::{io, path::PathBuf};

/// A failed operation of the journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The journal could not be opened or read.
    #[error("cannot read the journal `{path}`: {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A record could not be written. It counts as not written.
    #[error("cannot write the journal: {0}")]
    Write(io::Error),
}
