//! Temporary directories for tests, in which file systems may be mounted.

#![expect(clippy::expect_used, clippy::panic, reason = "support for tests: a failure here fails the test")]

use std::{
    path::{Path, PathBuf},
    thread,
};

use crate::{RemoveError, TemporaryDir};

/// Like `tempfile::TempDir`, for a test that mounts in the directory, or passes it to a launcher, a runner or a
/// container engine. If a mount remains below it on drop, nothing is removed, and the test fails with the mount's
/// path.
#[derive(Debug)]
pub struct ScratchDir(TemporaryDir);

impl ScratchDir {
    /// Creates a directory.
    ///
    /// # Panics
    ///
    /// If it cannot be created.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it makes a directory")]
    pub fn new() -> Self {
        Self::with_prefix("airlock-test-")
    }

    /// Creates a directory with this prefix in its name.
    ///
    /// # Panics
    ///
    /// If it cannot be created.
    #[must_use]
    pub fn with_prefix(prefix: &str) -> Self {
        Self(TemporaryDir::new(prefix).expect("a temporary directory"))
    }

    /// Like [`ScratchDir::with_prefix`], in `parent`.
    ///
    /// # Panics
    ///
    /// If it cannot be created.
    #[must_use]
    pub fn with_prefix_in(prefix: &str, parent: &Path) -> Self {
        Self(TemporaryDir::new_in(prefix, parent).expect("a temporary directory"))
    }

    /// Returns the path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Keeps the directory, for an examination after a failure.
    #[must_use]
    pub fn keep(mut self) -> PathBuf {
        self.0.give_up();
        self.path().to_owned()
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        match self.0.remove() {
            Ok(()) => {}
            Err(error @ RemoveError::Mounted(_)) if !thread::panicking() => {
                panic!("{error}; nothing in `{}` was removed", self.path().display())
            }
            Err(error) => eprintln!("a directory of a test stays: {error}"),
        }
    }
}
