//! Compiles `tables/*.toml` into the static tables that the library includes.

use std::{env, error::Error, fs, path::Path};

fn main() {
    if let Err(error) = build() {
        println!("cargo::error={error}");
    }
}

fn build() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=tables");
    let out = env::var("OUT_DIR")?;
    fs::write(Path::new(&out).join("tables.rs"), airlock_tables::compile(Path::new("tables"))?)?;
    Ok(())
}
