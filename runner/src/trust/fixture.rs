//! The directories of a session, for tests.

use std::{fs, os::unix::fs::symlink};

use airlock_sandbox::SessionDirectories;

/// A session's directories, empty at first.
pub(super) struct Session(tempfile::TempDir);

impl Session {
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["workspace/sub", "home", "tmp"] {
            fs::create_dir_all(directory.path().join(name)).unwrap();
        }
        Self(directory)
    }

    pub(super) fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    pub(super) fn directories(&self) -> SessionDirectories {
        SessionDirectories::at(self.0.path())
    }

    /// Writes a file, and creates the directories above it.
    pub(super) fn write(&self, name: &str, text: &str) -> &Self {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    pub(super) fn link(&self, target: &str, name: &str) {
        symlink(target, self.path(name)).unwrap();
    }
}
