//! Knowledge about programs: the data of `tables/*.toml`, compiled by `build/`. This module defines the types and
//! the lookups. The modules `readonly`, `launch` and `paths` use the data.

pub(crate) mod advice;
pub(crate) mod exits;
pub(crate) mod interpreters;
mod kinds;
pub(crate) mod names;
pub(crate) mod obeys;
pub(crate) mod options;

pub(crate) use kinds::{Format, Joined, Runs, Scripts, Search, Takes, Target};
pub(crate) use options::{Flag, Options};

use std::cmp::Ordering;

use crate::decision::Access;

/// The meaning of a program's operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operands {
    /// Paths that are read.
    Paths,
    /// Revisions of git, or paths.
    Pathspecs,
    /// Not paths.
    Text,
    /// A number of operands that are not paths, then paths. If one of the flags supplies the text, all are paths.
    TextThenPaths(usize, &'static [&'static str]),
    /// At most this number of paths that are read; a further operand would be written.
    AtMost(usize),
    /// No operands.
    Nothing,
    /// At most this number of operands that are not paths; a further one would change something.
    TextAtMost(usize),
}

/// Checks that go beyond flags and operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    /// No check.
    Nothing,
    /// The text of an awk program.
    Awk,
    /// The text of a sed script.
    Sed,
    /// The text of a jq program.
    Jq,
    /// The expression of yq.
    Yq,
    /// The expression of find.
    Find,
    /// `test` and `[`.
    Test,
    /// Only operands that start with `+`.
    Date,
    /// At least one operand.
    Printf,
    /// No operand, unless one of these flags is given.
    ListingOnly(&'static [&'static str]),
    /// git config: one of the reading flags and nothing else.
    GitConfig,
    /// Names of variables that are set.
    Names,
    /// A database that must not be queried over the network.
    Getent,
    /// No operand that starts with `@`, which would name a file with further flags.
    NoResponseFile,
    /// `cd`, `pushd`: the directory is read.
    Directory,
    /// tar: it must list.
    Tar,
    /// No operand that is an address, which would be fetched.
    LocalFiles,
    Sockets,
    NoHost,
    Manual,
    Processes,
    JqByFlag,
    /// No tmux format that runs a command.
    NoFormatCommand,
    /// No operand with a `=`, which would set something.
    NoAssignment,
}

/// A program, or a program with its subcommand, that is read-only with these options.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) does: &'static str,
    pub(crate) operands: Operands,
    /// Flags of which one is required; without it the program is not read-only.
    pub(crate) needs: &'static [&'static str],
    /// Whether no flag writes or runs anything, so that unknown words are harmless.
    pub(crate) harmless: bool,
    /// Whether the program has no flags: all its words are text.
    pub(crate) words_only: bool,
    /// Whether the program prints its operands.
    pub(crate) prints_operands: bool,
    /// Whether the program is useless without a network.
    pub(crate) network: bool,
    pub(crate) joined: Joined,
    pub(crate) check: Check,
    pub(crate) options: Options,
}

/// A program that runs another program.
#[derive(Debug)]
pub(crate) struct Launcher {
    pub(crate) name: &'static str,
    pub(crate) does: &'static str,
    pub(crate) runs: Runs,
    /// The number of operands before the command.
    pub(crate) skip: usize,
    /// Whether those operands are optional.
    pub(crate) skip_is_optional: bool,
    /// Whether `NAME=value` may precede the command.
    pub(crate) assignments: bool,
    /// Whether the launcher is as harmless as its command. If so, the command is also compared with allow rules.
    pub(crate) safe: bool,
    /// Whether unlisted flags do not matter.
    pub(crate) lenient: bool,
    /// Whether the command runs on another host.
    pub(crate) elsewhere: bool,
    /// Whether it starts a shell if no command follows.
    pub(crate) shell: bool,
    /// Flags with which it starts a shell.
    pub(crate) shell_with: &'static [&'static str],
    pub(crate) options: Options,
}

impl Launcher {
    /// Reports whether the launcher's arguments determine what it runs, so that they can run anything.
    pub(crate) fn is_told(&self) -> bool {
        !matches!(self.runs, Runs::Flags | Runs::Input | Runs::GitConfig | Runs::Callback)
    }
}

/// The operands of a program that changes files.
#[derive(Debug)]
pub(crate) struct Shape {
    /// The number of leading operands that are not paths, such as a mode or an owner.
    pub(crate) skip: usize,
    /// The access to the first remaining operand, if it differs.
    pub(crate) first: Option<Access>,
    /// The access to all operands but the last; `None` if they are not paths.
    pub(crate) all: Option<Access>,
    pub(crate) last: Option<Access>,
    /// Operands of the form `NAME=path`.
    pub(crate) named: &'static [(&'static str, Access)],
}

/// A program that changes files.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) name: &'static str,
    pub(crate) does: &'static str,
    pub(crate) shape: Shape,
    /// Whether the mode `accept_edits` covers it.
    pub(crate) edit: bool,
    /// Flags with which the operands are only read.
    pub(crate) reads_with: &'static [&'static str],
    /// Flags of which one is needed for the program to write.
    pub(crate) only_with: &'static [&'static str],
    /// Flags with which every operand has the access of the last one.
    pub(crate) all_last_with: &'static [&'static str],
    /// The number of operands below which the last one has the access of the others.
    pub(crate) at_least: usize,
    /// Whether operands may name another host.
    pub(crate) hosts: bool,
    pub(crate) options: Options,
}

/// Options before the subcommand; refused ones are not harmless.
#[derive(Debug)]
pub(crate) struct Global {
    pub(crate) program: &'static str,
    pub(crate) options: Options,
}

mod data {
    //! The data, generated by `build/`.

    use super::advice::{Destroys, Warning, WarningPair, WarningText};
    use super::exits::Exit;
    use super::interpreters::Interpreter;
    use super::obeys::Obeys;
    use super::{
        Check, Flag, Format, Global, Joined, Launcher, Operands, Options, Program, Runs, Scripts, Search,
        Shape, Takes, Target, Writer,
    };
    use crate::decision::{Access, Category};

    include!(concat!(env!("OUT_DIR"), "/tables.rs"));
}

/// The name of an entry: the program's name, then its subcommands, one word each. A word with a space matches no
/// name.
pub(crate) type Name<'n> = &'n [&'n [u8]];

/// Compares names in the order of the data, which is that of their words. The first byte distinguishes most names.
fn compare(known: &str, name: Name<'_>) -> Ordering {
    let first = name.first().and_then(|word| word.first());
    let words = known.as_bytes().split(|byte| *byte == b' ');
    known.as_bytes().first().cmp(&first).then_with(|| words.cmp(name.iter().copied()))
}

fn find<'t, T>(sorted: &'t [T], name: Name<'_>, key: impl Fn(&T) -> &'static str) -> Option<&'t T> {
    let at = sorted.binary_search_by(|entry| compare(key(entry), name)).ok()?;
    sorted.get(at)
}

/// Returns the SHA-256 of the data, which is part of the policy's version.
pub(crate) fn digest() -> &'static [u8] {
    data::DIGEST
}

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
    let from = data::LAUNCHERS.partition_point(|entry| compare(entry.name, name) != Ordering::Greater);
    let next = data::LAUNCHERS.get(from).map(|entry| entry.name.as_bytes().split(|byte| *byte == b' '));
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
