//! Programs that run what files hold, as data.

use super::kinds::Scripts;
use super::{data, find};

/// What is known of an interpreter's words.
#[derive(Debug)]
pub(crate) struct Interpreter {
    pub(crate) name: &'static str,
    pub(crate) operands: Scripts,
    /// Words before its own, which are no files.
    pub(crate) subcommands: &'static [&'static str],
    /// Options that take the next word.
    pub(crate) values: &'static [&'static str],
    /// Options whose value is a script.
    pub(crate) scripts: &'static [&'static str],
    /// Options whose value names a module of Python.
    pub(crate) modules: &'static [&'static str],
    /// Options and words behind which there is no script.
    pub(crate) texts: &'static [&'static str],
    /// Of `values`: those that name the directory of `defaults`.
    pub(crate) directory: &'static [&'static str],
    /// Files that it takes by itself where no word names others.
    pub(crate) defaults: &'static [&'static str],
}

/// The interpreter of that name, with or without a version at its end.
pub(crate) fn interpreter(name: &[u8]) -> Option<&'static Interpreter> {
    let version = name.iter().rev().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    let stem = name.get(..name.len() - version).filter(|stem| !stem.is_empty());
    let entry = |name: &[u8]| find(data::INTERPRETERS, &[name], |entry| entry.name);
    entry(name).or_else(|| entry(stem?))
}
