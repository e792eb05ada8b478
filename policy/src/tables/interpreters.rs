//! Data on programs that run the contents of files.

use super::kinds::Scripts;
use super::{data, find};

/// The arguments of an interpreter.
#[derive(Debug)]
pub(crate) struct Interpreter {
    pub(crate) name: &'static str,
    pub(crate) operands: Scripts,
    /// Words before its own arguments that are not files.
    pub(crate) subcommands: &'static [&'static str],
    /// Options that take the next word as their value.
    pub(crate) values: &'static [&'static str],
    /// Options with a script as their value.
    pub(crate) scripts: &'static [&'static str],
    /// Options with the name of a Python module as their value.
    pub(crate) modules: &'static [&'static str],
    /// Options and words after which there is no script.
    pub(crate) texts: &'static [&'static str],
    /// The options among `values` that name the directory of `defaults`.
    pub(crate) directory: &'static [&'static str],
    /// Files that it uses if no word names another.
    pub(crate) defaults: &'static [&'static str],
}

/// Returns the interpreter with this name, with or without a version suffix.
pub(crate) fn interpreter(name: &[u8]) -> Option<&'static Interpreter> {
    let version = name.iter().rev().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    let stem = name.get(..name.len() - version).filter(|stem| !stem.is_empty());
    let entry = |name: &[u8]| find(data::INTERPRETERS, &[name], |entry| entry.name);
    entry(name).or_else(|| entry(stem?))
}
