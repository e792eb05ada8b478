//! The Rust toolchain of the tests, for commands in a sandbox.

use std::{fs, os::unix::fs::PermissionsExt as _, process::Command};

use tempfile::TempDir;

use crate::{desk::stdout_of, source};

/// Returns a directory that every user may enter, with the Rust toolchain of the test's user, which may
/// be inaccessible to others.
///
/// # Panics
/// If it cannot be created.
#[must_use]
pub fn toolchain() -> TempDir {
    let directory = tempfile::Builder::new()
        .prefix("airlock-test-rust-")
        .permissions(fs::Permissions::from_mode(0o755))
        .tempdir()
        .unwrap();
    let own = stdout_of(Command::new("rustc").args(["--print", "sysroot"]).current_dir(source::root()));
    for part in ["bin", "lib"] {
        // Hard links avoid copying the data if possible.
        let copied = |option: &str| {
            let mut command = Command::new("cp");
            command.args([option, &format!("{own}/{part}")]).arg(directory.path());
            command.output().unwrap().status.success()
        };
        assert!(copied("-al") || copied("-a"), "{own}/{part} is copied");
    }
    directory
}
