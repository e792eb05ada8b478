//! Locates the built programs: next to the running test or test program.

use std::path::PathBuf;

/// Returns the path of a program of this workspace.
///
/// # Panics
/// If it was not built. `make test` builds it; to build it manually: `cargo build --workspace
/// --bins`.
#[must_use]
pub fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the test knows where it is");
    let beside = test.parent().expect("a program is in a directory");
    let directory = if beside.ends_with("deps") { beside.parent().unwrap_or(beside) } else { beside };
    let path = directory.join(name);
    assert!(path.is_file(), "{} is not built; run `cargo build --workspace --bins`", path.display());
    path
}
