//! What is known of programs: the data of `tables/*.toml`, compiled by `build/`. This
//! module gives the data its types and looks entries up; the engines that read it are
//! `readonly`, `launch` and `paths`.

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

/// What the operands of a program are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operands {
    /// Paths that are read.
    Paths,
    /// Revisions of git, or paths.
    Pathspecs,
    /// Not paths.
    Text,
    /// So many that are not paths, unless one of the flags gives them; then paths.
    TextThenPaths(usize, &'static [&'static str]),
    /// At most so many, all paths that are read; the next would be written.
    AtMost(usize),
    /// None.
    Nothing,
    /// At most so many, not paths; the next would change something.
    TextAtMost(usize),
}

/// Checks that flags and operands alone do not make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    /// None.
    Nothing,
    /// The awk program's text.
    Awk,
    /// The sed script's text.
    Sed,
    /// The jq program's text.
    Jq,
    /// yq's expression.
    Yq,
    /// find's expression.
    Find,
    /// `test` and `[`.
    Test,
    /// Operands beginning with `+` only.
    Date,
    /// At least one operand.
    Printf,
    /// No operand unless one of these flags is given.
    ListingOnly(&'static [&'static str]),
    /// git config: one of the reading flags, or nothing else.
    GitConfig,
    /// Names of variables that are set.
    Names,
    /// A database that must not be asked over the network.
    Getent,
    /// No operand that begins with `@`: it would name a file with more flags.
    NoResponseFile,
    /// `cd`, `pushd`: the directory is read.
    Directory,
    /// tar: it must be told to list.
    Tar,
    /// Operands that are no addresses: these would be fetched.
    LocalFiles,
    Sockets,
    NoHost,
    Manual,
    Processes,
    JqByFlag,
    /// No format of tmux that runs a command.
    NoFormatCommand,
    /// No operand with a `=` in it: it would set something.
    NoAssignment,
}

/// A program, or a program with its subcommand, that is read-only with these options.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) does: &'static str,
    pub(crate) operands: Operands,
    /// One of these flags must be given: without them it does something else.
    pub(crate) needs: &'static [&'static str],
    /// Whether no flag at all writes or runs, so that unknown words do no harm.
    pub(crate) harmless: bool,
    /// Whether it has no flags: whatever it is given is text.
    pub(crate) words_only: bool,
    /// Whether what it prints are its operands.
    pub(crate) prints_operands: bool,
    /// Whether it is of no use without a network.
    pub(crate) network: bool,
    pub(crate) joined: Joined,
    pub(crate) check: Check,
    pub(crate) options: Options,
}

/// A program that runs another.
#[derive(Debug)]
pub(crate) struct Launcher {
    pub(crate) name: &'static str,
    pub(crate) does: &'static str,
    pub(crate) runs: Runs,
    /// Operands before the command.
    pub(crate) skip: usize,
    /// Whether these may also be left out.
    pub(crate) skip_is_optional: bool,
    /// Whether `NAME=value` may stand before the command.
    pub(crate) assignments: bool,
    /// Whether the command is as harmless as what it runs, and is looked through
    /// for allow rules too.
    pub(crate) safe: bool,
    /// Whether flags that are not listed do not matter.
    pub(crate) lenient: bool,
    /// Whether what it runs does not run on this host.
    pub(crate) elsewhere: bool,
    /// Whether it starts a shell where no command follows.
    pub(crate) shell: bool,
    /// Flags with which it does so.
    pub(crate) shell_with: &'static [&'static str],
    pub(crate) options: Options,
}

impl Launcher {
    /// Whether its own words say what it runs, and so may say anything.
    pub(crate) fn is_told(&self) -> bool {
        !matches!(self.runs, Runs::Flags | Runs::Input | Runs::GitConfig | Runs::Callback)
    }
}

/// How a program that changes files uses its operands.
#[derive(Debug)]
pub(crate) struct Shape {
    /// So many first are no paths: a mode, an owner.
    pub(crate) skip: usize,
    /// The first of the others, where it differs from them.
    pub(crate) first: Option<Access>,
    /// All but the last; `None` where operands are no paths.
    pub(crate) all: Option<Access>,
    pub(crate) last: Option<Access>,
    /// Operands written `NAME=path`.
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
    /// Flags with which operands are only read.
    pub(crate) reads_with: &'static [&'static str],
    /// Flags without which it writes nothing.
    pub(crate) only_with: &'static [&'static str],
    /// Flags with which every operand is what the last one is.
    pub(crate) all_last_with: &'static [&'static str],
    /// With fewer operands the last is like the others.
    pub(crate) at_least: usize,
    /// Whether operands may name another host.
    pub(crate) hosts: bool,
    pub(crate) options: Options,
}

/// Options before the subcommand; those that are refused are not harmless.
#[derive(Debug)]
pub(crate) struct Global {
    pub(crate) program: &'static str,
    pub(crate) options: Options,
}

mod data {
    //! The data itself, written by `build/`.

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

/// The name of an entry: the program's, then its subcommands', a word each. A word with a blank in it is part of no
/// name.
pub(crate) type Name<'n> = &'n [&'n [u8]];

/// The order of the data, which is that of the words; the first byte alone tells most names apart.
fn compare(known: &str, name: Name<'_>) -> Ordering {
    let first = name.first().and_then(|word| word.first());
    let words = known.as_bytes().split(|byte| *byte == b' ');
    known.as_bytes().first().cmp(&first).then_with(|| words.cmp(name.iter().copied()))
}

fn find<'t, T>(sorted: &'t [T], name: Name<'_>, key: impl Fn(&T) -> &'static str) -> Option<&'t T> {
    let at = sorted.binary_search_by(|entry| compare(key(entry), name)).ok()?;
    sorted.get(at)
}

/// The SHA-256 of the data: a policy that knows other tables is another policy.
pub(crate) fn digest() -> &'static [u8] {
    data::DIGEST
}

/// The entry of that name, such as `ls` or `git log`.
pub(crate) fn program(name: Name<'_>) -> Option<&'static Program> {
    find(data::PROGRAMS, name, |entry| entry.name)
}

/// The writer of that name.
pub(crate) fn writer(name: Name<'_>) -> Option<&'static Writer> {
    find(data::WRITERS, name, |entry| entry.name)
}

/// The launcher of that name; a dynamic linker counts as one too.
pub(crate) fn launcher(name: Name<'_>) -> Option<&'static Launcher> {
    let linker =
        matches!(name, [program] if program.starts_with(b"ld-linux") || program.starts_with(b"ld-musl"));
    find(data::LAUNCHERS, if linker { &[b"ld.so"] } else { name }, |entry| entry.name)
}

/// Whether there are launchers among the program's subcommands.
pub(crate) fn has_launching_subcommands(name: Name<'_>) -> bool {
    let from = data::LAUNCHERS.partition_point(|entry| compare(entry.name, name) != Ordering::Greater);
    let next = data::LAUNCHERS.get(from).map(|entry| entry.name.as_bytes().split(|byte| *byte == b' '));
    next.is_some_and(|words| words.take(name.len()).eq(name.iter().copied()))
}

/// The options before the subcommand of a program that has subcommands.
pub(crate) fn global(name: Name<'_>) -> Option<&'static Global> {
    find(data::GLOBALS, name, |entry| entry.program)
}

/// The flags of that name, once for each table that lists them. Of programs that read their words in a way of
/// their own there are none.
pub(crate) fn options(name: Name<'_>) -> impl Iterator<Item = &'static Options> {
    let own = |entry: &&Program| !entry.words_only && !matches!(entry.check, Check::Find | Check::Test);
    let programs = program(name).filter(own).map(|entry| &entry.options);
    let writers = writer(name).map(|entry| &entry.options);
    let launchers = launcher(name).filter(|entry| entry.runs != Runs::Find).map(|entry| &entry.options);
    let others = find(data::SPELLINGS, name, |entry| entry.0).map(|(_, options)| options);
    programs.into_iter().chain(writers).chain(launchers).chain(others)
}

/// Flags with which, alone, the program prints its version.
pub(crate) fn version_flags(name: &[u8]) -> &'static [&'static str] {
    find(data::VERSIONS, &[name], |entry| entry.0).map_or(&[], |(_, flags)| flags)
}
