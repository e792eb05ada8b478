//! The structure of a crate, from its source: its modules, the imports between them, and the sizes of its types. The
//! syntax is parsed, not compiled. Code that is compiled for tests only is left out.

pub mod builds;
pub mod imports;
pub mod methods;
mod names;
mod resolve;
mod tree;

use std::path::{Path, PathBuf};

pub use tree::Tree;

use crate::source;

/// Reads each crate of the workspace: its libraries, programs, benchmarks and build scripts, by their root files.
///
/// # Errors
/// If cargo cannot be run, or a file is missing or is not Rust.
pub fn of_workspace() -> Result<Vec<(PathBuf, Tree)>, String> {
    let root = source::root();
    let read = |path: &Path| std::fs::read_to_string(root.join(path)).ok();
    source::crates()?.into_iter().map(|path| Tree::read(&path, &read).map(|tree| (path, tree))).collect()
}

#[cfg(test)]
mod tests;
