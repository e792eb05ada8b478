//! What a decision found in a command, as the runner is told it. Must not decide.

use airlock_policy::{Access, Decision, FoundCommand, PathUse};
use airlock_proto::domain::{Decided, DecidedPath, PathAccess};

/// Options of git before its subcommand that take the next word.
const GIT_OPTIONS_WITH_VALUE: [&[u8]; 7] =
    [b"-C", b"-c", b"--git-dir", b"--work-tree", b"--namespace", b"--exec-path", b"--config-env"];
/// Subcommands of git of which the next word says what is done.
const GIT_FAMILIES: [&[u8]; 3] = [b"worktree", b"submodule", b"stash"];

/// What the runner holds against the files it sees.
pub(super) fn of(decision: &Decision) -> Decided {
    let programs = decision.commands.iter().filter_map(program).map(<[u8]>::to_vec);
    let git = decision.commands.iter().filter_map(git_subcommand);
    Decided {
        programs: sorted(programs.collect()),
        git: sorted(git.collect()),
        paths: sorted(decision.paths.iter().map(path).collect()),
    }
}

fn sorted<T: Ord>(mut list: Vec<T>) -> Vec<T> {
    list.sort();
    list.dedup();
    list
}

fn program(command: &FoundCommand) -> Option<&[u8]> {
    command.argv.first()?.text.as_deref()
}

fn git_subcommand(command: &FoundCommand) -> Option<String> {
    if program(command)?.rsplit(|byte| *byte == b'/').next()? != b"git" {
        return None;
    }
    let mut words = command.argv.iter().skip(1).map(|word| word.text.as_deref().unwrap_or_default());
    let subcommand = loop {
        let word = words.next()?;
        if GIT_OPTIONS_WITH_VALUE.contains(&word) {
            words.next()?;
        } else if !word.starts_with(b"-") {
            break word;
        }
    };
    let mut name = String::from_utf8_lossy(subcommand).into_owned();
    if GIT_FAMILIES.contains(&subcommand)
        && let Some(action) = words.find(|word| !word.starts_with(b"-"))
    {
        name = format!("{name} {}", String::from_utf8_lossy(action));
    }
    Some(name)
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
