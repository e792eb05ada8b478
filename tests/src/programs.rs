//! Where the built programs are: beside the test, or the program of the tests, that runs.

use std::path::PathBuf;

/// The path of a program of this workspace.
///
/// # Panics
/// If it was not built. `make test` builds it; by hand: `cargo build --workspace --bins`.
#[must_use]
pub fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the test knows where it is");
    let beside = test.parent().expect("a program is in a folder");
    let folder = if beside.ends_with("deps") { beside.parent().unwrap_or(beside) } else { beside };
    let path = folder.join(name);
    assert!(path.is_file(), "{} is not built; run `cargo build --workspace --bins`", path.display());
    path
}
