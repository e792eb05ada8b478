//! The facts that a decision found in a command, in the form for the runner, and whether they are complete.
//! This module must not decide.

mod exact;
mod git;

use self::exact::is_exact;
use super::bound;
use airlock_domain::{
    Decided, DecidedPath, Obeyed, ObeyedFormat, PathAccess,
    limits::{DECIDED_PATHS, OBEYED_NAMES},
};
use airlock_policy::{Access, Decision, FoundCommand, Nesting, PathUse};

/// The builtins of bash. They need no program file, unless a launcher starts them.
const BUILTINS: [&str; 60] = [
    ".",
    ":",
    "[",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "cd",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "declare",
    "dirs",
    "disown",
    "echo",
    "enable",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "getopts",
    "hash",
    "help",
    "history",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
];

/// The facts for the runner.
pub(super) struct RunnerFacts {
    pub(super) decided: Decided,
    /// False if some facts exceed the limits or cannot be expressed exactly. They are omitted in this case.
    pub(super) whole: bool,
}

/// Returns the facts that the runner compares with the actual files, for a command that starts in this
/// directory.
pub(super) fn of(decision: &Decision, directory: &[u8]) -> RunnerFacts {
    let programs = decision.commands.iter().filter(|command| needs_file(command)).filter_map(program);
    let git = git::uses(decision, directory);
    let programs = fitting(programs.map(<[u8]>::to_vec).collect());
    let git = fitting(git);
    let exact = decision.paths.iter().filter(|used| is_exact(&used.path)).map(path);
    let paths = fitting(exact.collect());
    let whole = programs.is_some()
        && git.is_some()
        && paths.is_some()
        && decision.paths.iter().all(|used| is_exact(&used.path));
    let decided = Decided {
        programs: programs.unwrap_or_default(),
        git: git.unwrap_or_default(),
        paths: paths.unwrap_or_default(),
        files: bound::named(decision),
        obeyed: decision.obeyed.iter().map(obeyed).take(DECIDED_PATHS).collect(),
    };
    RunnerFacts { decided, whole }
}

/// Returns the list sorted and without duplicates, or `None` if it exceeds the limit of a grant.
fn fitting<T: Ord>(list: Vec<T>) -> Option<Vec<T>> {
    Some(sorted(list)).filter(|list| list.len() <= DECIDED_PATHS)
}

fn needs_file(command: &FoundCommand) -> bool {
    let is_builtin = program(command).is_some_and(|name| BUILTINS.iter().any(|own| own.as_bytes() == name));
    !is_builtin || command.nesting.contains(&Nesting::Launched)
}

fn sorted<T: Ord>(mut list: Vec<T>) -> Vec<T> {
    list.sort();
    list.dedup();
    list
}

fn program(command: &FoundCommand) -> Option<&[u8]> {
    command.argv.first()?.text.as_deref()
}

/// If there are more paths than a runner checks, the paths count as unknown, and the runner refuses the
/// command.
fn obeyed(files: &airlock_policy::Obeyed) -> Obeyed {
    let format = match files.format {
        airlock_policy::ObeyedFormat::Toml => ObeyedFormat::Toml,
        airlock_policy::ObeyedFormat::Json => ObeyedFormat::Json,
        airlock_policy::ObeyedFormat::Git => ObeyedFormat::Git,
        airlock_policy::ObeyedFormat::Text => ObeyedFormat::Text,
        airlock_policy::ObeyedFormat::Present => ObeyedFormat::Present,
    };
    let paths = if files.paths.len() > OBEYED_NAMES { Vec::new() } else { files.paths.clone() };
    let settings = files.settings.iter().map(|setting| (*setting).to_owned()).collect();
    Obeyed { program: files.program.clone(), paths, format, settings }
}

fn path(used: &PathUse) -> DecidedPath {
    let access = match used.access {
        Access::Read => PathAccess::Read,
        Access::Write => PathAccess::Write,
        Access::Create => PathAccess::Create,
        Access::Delete => PathAccess::Delete,
    };
    DecidedPath { path: used.path.clone().into_bytes(), access }
}

#[cfg(test)]
mod tests;
