//! Knowledge about programs: the data of `tables/*.toml`, compiled by `build/`. This module defines
//! the lookups. The modules `readonly`, `launch` and `paths` use the data.

pub(crate) mod cmdlets;
mod data;
mod entries;
mod kinds;
pub(crate) mod names;

pub(crate) use data::Name;
pub(crate) use entries::{
    Check, CmdletWarning, Denied, Destroys, Exit, Flag, Global, Interpreter, Launcher, Network, Obeys,
    Operands, Options, Program, Warning, WarningPair, WarningText, Writer,
};
pub(crate) use kinds::{
    BuiltinDeny, CmdletEffect, Format, Joined, Names, ParameterKind, ParameterRole, Runs, Scripts, Search,
    Takes, Target, ValueType,
};

use std::cmp::Ordering;

use crate::decision::Category;
use data::{compare, find};

/// Returns the program with this name, such as `ls` or `git log`.
pub(crate) fn program(name: Name<'_>) -> Option<&'static Program> {
    find(data::PROGRAMS, name, |entry| entry.name)
}

/// Returns the writer with this name.
pub(crate) fn writer(name: Name<'_>) -> Option<&'static Writer> {
    find(data::WRITERS, name, |entry| entry.name)
}

/// Returns the launcher with this name. A dynamic linker counts as a launcher.
pub(crate) fn launcher(name: Name<'_>) -> Option<&'static Launcher> {
    let linker =
        matches!(name, [program] if program.starts_with(b"ld-linux") || program.starts_with(b"ld-musl"));
    find(data::LAUNCHERS, if linker { &[b"ld.so"] } else { name }, |entry| entry.name)
}

/// Reports whether the program has subcommands that are launchers.
pub(crate) fn has_launching_subcommands(name: Name<'_>) -> bool {
    has_subcommands(data::LAUNCHERS, name, |entry| entry.name)
}

/// Returns the program with this name that connects to other hosts.
pub(crate) fn network(name: Name<'_>) -> Option<&'static Network> {
    find(data::NETWORKS, name, |entry| entry.name)
}

/// Returns the names of all programs that connect to other hosts.
#[cfg(test)]
pub(crate) fn networks() -> impl Iterator<Item = &'static str> {
    data::NETWORKS.iter().map(|entry| entry.name)
}

/// Reports whether the program has subcommands that connect to other hosts.
pub(crate) fn has_connecting_subcommands(name: Name<'_>) -> bool {
    has_subcommands(data::NETWORKS, name, |entry| entry.name)
}

/// Reports whether an entry has a longer name that begins with this one.
fn has_subcommands<T>(sorted: &[T], name: Name<'_>, key: impl Fn(&T) -> &'static str) -> bool {
    let from = sorted.partition_point(|entry| compare(key(entry), name) != Ordering::Greater);
    let next = sorted.get(from).map(|entry| key(entry).as_bytes().split(|byte| *byte == b' '));
    next.is_some_and(|words| words.take(name.len()).eq(name.iter().copied()))
}

/// Returns the options before the subcommand, for a program with subcommands.
pub(crate) fn global(name: Name<'_>) -> Option<&'static Global> {
    find(data::GLOBALS, name, |entry| entry.program)
}

/// Returns the flags of this name from each table that lists it. Programs that do not read flags as getopt does
/// have none.
pub(crate) fn options(name: Name<'_>) -> impl Iterator<Item = &'static Options> {
    let own = |entry: &&Program| !entry.words_only && !matches!(entry.check, Check::Find | Check::Test);
    let programs = program(name).filter(own).map(|entry| &entry.options);
    let writers = writer(name).map(|entry| &entry.options);
    let launchers = launcher(name).filter(|entry| entry.runs != Runs::Find).map(|entry| &entry.options);
    let others = find(data::SPELLINGS, name, |entry| entry.0).map(|(_, options)| options);
    programs.into_iter().chain(writers).chain(launchers).chain(others)
}

/// Returns the flags with which the program only prints its version.
pub(crate) fn version_flags(name: &[u8]) -> &'static [&'static str] {
    find(data::VERSIONS, &[name], |entry| entry.0).map_or(&[], |(_, flags)| flags)
}

/// Returns the SHA-256 of the data, which is part of the policy's version.
pub(crate) fn digest() -> &'static [u8] {
    data::DIGEST
}

/// Returns the entry with this name, such as `grep` or `git diff`.
pub(crate) fn exit(name: Name<'_>) -> Option<&'static Exit> {
    find(data::EXITS, name, |entry| entry.name)
}

/// Returns the interpreter with this name, with or without a version suffix.
pub(crate) fn interpreter(name: &[u8]) -> Option<&'static Interpreter> {
    let version = name.iter().rev().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    let stem = name.get(..name.len() - version).filter(|stem| !stem.is_empty());
    let entry = |name: &[u8]| find(data::INTERPRETERS, &[name], |entry| entry.name);
    entry(name).or_else(|| entry(stem?))
}

/// Returns the files that the program obeys before it does its work.
pub(crate) fn obeys(program: &[u8]) -> impl Iterator<Item = &'static Obeys> {
    data::OBEYED.iter().filter(move |entry| entry.programs.iter().any(|name| name.as_bytes() == program))
}

/// Returns the category of the program for user interfaces.
pub(crate) fn category(name: &[u8]) -> Category {
    find(data::CATEGORIES, &[name], |entry| entry.0).map_or(Category::Other, |(_, category)| *category)
}

/// Returns the categories of the cmdlet, each with the parameter that must be given. Those with one come first.
pub(crate) fn cmdlet_categories(name: &str) -> impl Iterator<Item = (&'static str, Category)> {
    let from = data::CMDLET_CATEGORIES.partition_point(|(known, ..)| *known < name);
    let own = data::CMDLET_CATEGORIES.get(from..).unwrap_or_default().iter();
    own.take_while(move |(known, ..)| *known == name).map(|(_, parameter, category)| (*parameter, *category))
}

pub(crate) fn cmdlet_warnings() -> &'static [CmdletWarning] {
    data::CMDLET_WARNINGS
}

pub(crate) fn warnings() -> &'static [Warning] {
    data::WARNINGS
}

pub(crate) fn destroys() -> &'static [Destroys] {
    data::DESTROYS
}

/// Returns the built-in deny rules for this command of PowerShell. The name is in lower case.
pub(crate) fn denied_commands(name: &str) -> impl Iterator<Item = &'static Denied> {
    let at = data::DENIED_COMMANDS.binary_search_by(|(known, _)| (*known).cmp(name)).ok();
    let indices = at.and_then(|at| data::DENIED_COMMANDS.get(at)).map_or(&[][..], |(_, indices)| *indices);
    indices.iter().filter_map(|index| data::DENIED.get(*index))
}

/// Returns the names of the commands that have built-in deny rules.
pub(crate) fn denied_names() -> impl Iterator<Item = &'static str> {
    data::DENIED_COMMANDS.iter().map(|(name, _)| *name)
}

/// Returns the built-in deny rules about paths that are changed.
pub(crate) fn denied_writes() -> impl Iterator<Item = &'static Denied> {
    data::DENIED.iter().filter(|entry| !entry.writes.is_empty())
}

pub(crate) fn warning_texts() -> &'static [WarningText] {
    data::WARNING_TEXTS
}

pub(crate) fn warning_pairs() -> &'static [WarningPair] {
    data::WARNING_PAIRS
}
