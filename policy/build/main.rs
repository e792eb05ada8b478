//! Compiles `tables/*.toml` into static tables. Invalid data (an unknown key, a flag listed twice,
//! an entry without a reason) fails the build. This program makes no decisions.

mod data;
mod emit;
mod join;
#[path = "../src/tables/kinds.rs"]
mod kinds;
mod options;

use std::{collections::BTreeMap, error::Error, fs, path::Path};

use data::Tables;
use sha2::{Digest, Sha256};

fn main() {
    if let Err(error) = compile() {
        println!("cargo::error={error}");
    }
}

fn compile() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=tables");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=src/tables/kinds.rs");
    let mut tables = Tables::default();
    let mut homes = BTreeMap::new();
    let mut digest = Sha256::new();
    let mut files: Vec<_> = fs::read_dir("tables")?.collect::<Result<Vec<_>, _>>()?;
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
    let out = std::env::var("OUT_DIR")?;
    fs::write(Path::new(&out).join("tables.rs"), emit::tables(&tables, &digest.finalize())?)?;
    Ok(())
}
