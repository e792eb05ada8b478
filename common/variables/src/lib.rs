//! Knowledge about environment variables. Policy, server and sandbox use this one list.
//!
//! It contains only names and reasons. It must not look at values or decide about commands.

#![forbid(unsafe_code)]

mod data;
mod entry;

pub use data::VARIABLES;
pub use entry::{Effect, Variable};

/// Returns the entry for this name: an exact match, or else the longest matching prefix.
///
/// Names are case-sensitive, because bash and almost every program distinguish `Path` from `PATH`.
#[must_use]
pub fn variable(name: &[u8]) -> Option<&'static Variable> {
    let exact = VARIABLES.binary_search_by(|entry| entry.name.as_bytes().cmp(name)).ok();
    let begins = |entry: &&Variable| {
        entry.name.strip_suffix('*').is_some_and(|start| name.starts_with(start.as_bytes()))
    };
    let longest = || VARIABLES.iter().filter(begins).max_by_key(|entry| entry.name.len());
    exact.and_then(|at| VARIABLES.get(at)).or_else(longest)
}

/// Reports whether the variable is known to load and run nothing.
#[must_use]
pub fn is_safe(name: &[u8]) -> bool {
    has(name, Effect::Safe)
}

/// Reports whether the variable is known to change what runs, or how text is read.
#[must_use]
pub fn is_dangerous(name: &[u8]) -> bool {
    variable(name).is_some_and(|entry| entry.effect != Effect::Safe)
}

/// Reports whether the variable changes how bash reads a command, or which code every program loads. The
/// comparison ignores case, because some programs do.
#[must_use]
pub fn changes_reading(name: &[u8]) -> bool {
    has(&name.to_ascii_uppercase(), Effect::Reads)
}

/// Reports whether only Airlock may set the variable. The comparison ignores case.
#[must_use]
pub fn is_reserved(name: &[u8]) -> bool {
    has(&name.to_ascii_uppercase(), Effect::Reserved)
}

/// Reports whether a read-only run sets the variable itself, so that other values have no effect.
#[must_use]
pub fn is_overridden(name: &[u8]) -> bool {
    variable(name).is_some_and(|entry| entry.overridden)
}

fn has(name: &[u8], effect: Effect) -> bool {
    variable(name).is_some_and(|entry| entry.effect == effect)
}

#[cfg(test)]
mod tests;
