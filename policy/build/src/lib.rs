//! Compiles `policy/tables/*.toml` into static tables, for the build script of `airlock-policy`. Invalid data (an unknown
//! key, a flag listed twice, an entry without a reason) fails the build. This crate makes no decisions.
//!
//! Cargo optimizes a build script like its package. A crate of its own is not optimized: that would take much longer
//! than the compiler runs.

#![forbid(unsafe_code)]

mod data;
mod emit;
mod join;
#[path = "../../src/tables/kinds.rs"]
mod kinds;
mod options;

use std::{collections::BTreeMap, error::Error, fs, path::Path};

use data::Tables;
use sha2::{Digest, Sha256};

/// Returns the Rust code of the static tables of the files in `directory`.
///
/// # Errors
/// If a file cannot be read or has an invalid entry. The error names the file and the entry.
pub fn compile(directory: &Path) -> Result<String, Box<dyn Error>> {
    let mut tables = Tables::default();
    let mut homes = BTreeMap::new();
    let mut digest = Sha256::new();
    let mut files: Vec<_> = fs::read_dir(directory)?.collect::<Result<Vec<_>, _>>()?;
    files.sort_by_key(fs::DirEntry::path);
    for file in files.iter().map(fs::DirEntry::path) {
        if file.extension().is_some_and(|extension| extension == "toml") {
            let name = file.display().to_string();
            let text = fs::read_to_string(&file)?;
            digest.update(text.as_bytes());
            let read: Tables = toml::from_str(&text).map_err(|error| format!("{name}: {error}"))?;
            tables.join(read, &name, &mut homes)?;
        }
    }
    Ok(emit::tables(&tables, &digest.finalize())?)
}
