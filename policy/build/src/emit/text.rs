//! Writes Rust text, with errors as text.

use std::fmt::{Error, Write};

pub(super) type Result<T = ()> = std::result::Result<T, String>;

pub(super) fn put(written: std::result::Result<(), Error>) -> Result {
    written.map_err(|error| error.to_string())
}

pub(super) fn list<T>(
    out: &mut String,
    name: &str,
    kind: &str,
    entries: impl Iterator<Item = T>,
    mut each: impl FnMut(&mut String, T) -> Result,
) -> Result {
    put(writeln!(out, "pub(crate) static {name}: &[{kind}] = &["))?;
    for entry in entries {
        out.push_str("    ");
        each(out, entry)?;
        out.push_str(",\n");
    }
    out.push_str("];\n");
    Ok(())
}

pub(super) fn reasoned(name: &str, does: &str) -> Result {
    if matches!(does.trim(), "" | "?") { Err(format!("`{name}` has no reason")) } else { Ok(()) }
}
