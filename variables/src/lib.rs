//! What is known of environment variables. Policy, server and sandbox use this one list.
//!
//! It holds names and reasons only. It must not look at values, nor decide what follows from a name.

#![forbid(unsafe_code)]

mod data;

pub use data::VARIABLES;

/// What setting a variable can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It loads and runs nothing: it may stand before a command that is allowed.
    Safe,
    /// It changes what programs run, load or read.
    Steers,
    /// It changes how bash reads a command, or which code every program loads: a request may set it only where the
    /// profile lists it in `env.allowed`.
    Reads,
    /// Airlock sets it: nobody else may.
    Reserved,
}

/// One entry of the list.
#[derive(Debug, Clone, Copy)]
pub struct Variable {
    /// The name. A `*` at its end stands for any rest.
    pub name: &'static str,
    /// What setting it can do.
    pub effect: Effect,
    /// The reason, for messages and review.
    pub why: &'static str,
    /// Whether a read-only run sets it itself, whatever session and request say.
    pub overridden: bool,
}

/// The entry of this name: the one that names it in full, or else the longest that begins it.
///
/// Case counts. bash and almost every program tell `Path` from `PATH`.
#[must_use]
pub fn variable(name: &[u8]) -> Option<&'static Variable> {
    let exact = VARIABLES.binary_search_by(|entry| entry.name.as_bytes().cmp(name)).ok();
    let begins = |entry: &&Variable| {
        entry.name.strip_suffix('*').is_some_and(|start| name.starts_with(start.as_bytes()))
    };
    let longest = || VARIABLES.iter().filter(begins).max_by_key(|entry| entry.name.len());
    exact.and_then(|at| VARIABLES.get(at)).or_else(longest)
}

/// Whether the variable is known to load and run nothing.
#[must_use]
pub fn is_safe(name: &[u8]) -> bool {
    has(name, Effect::Safe)
}

/// Whether the variable is known to change what runs, or how text is read.
#[must_use]
pub fn is_dangerous(name: &[u8]) -> bool {
    variable(name).is_some_and(|entry| entry.effect != Effect::Safe)
}

/// Whether the variable changes how bash reads a command, or which code every program loads. Some programs do not
/// look at the case of their variables, and neither does this.
#[must_use]
pub fn changes_reading(name: &[u8]) -> bool {
    has(&name.to_ascii_uppercase(), Effect::Reads)
}

/// Whether only Airlock sets the variable. Case does not count.
#[must_use]
pub fn is_reserved(name: &[u8]) -> bool {
    has(&name.to_ascii_uppercase(), Effect::Reserved)
}

/// Whether a read-only run sets the variable itself, so that what others say of it changes nothing there.
#[must_use]
pub fn is_overridden(name: &[u8]) -> bool {
    variable(name).is_some_and(|entry| entry.overridden)
}

fn has(name: &[u8], effect: Effect) -> bool {
    variable(name).is_some_and(|entry| entry.effect == effect)
}

#[cfg(test)]
mod tests;
