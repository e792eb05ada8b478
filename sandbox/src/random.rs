//! Random names.

use std::io;

/// Returns 128 random bits in hex.
pub(crate) fn random_name() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(u128::from_le_bytes(bytes)).map(|number| format!("{number:032x}"))
}
