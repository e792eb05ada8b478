//! Which changes of protected names count, and which were decided about.
//!
//! Pure: compares two records, and looks at no file.

use std::collections::{BTreeMap, BTreeSet};

use super::mark::{Kind, Mark};
use super::names::{Names, ancestors, is_git, is_within, join, last};
use super::scan::Record;
use super::{Reason, Writer};

/// Subcommands of git that make repositories, by their first word.
const CREATORS: [&str; 4] = ["clone", "init", "submodule", "worktree"];

/// A difference that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) path: Vec<u8>,
    pub(super) reason: Reason,
    pub(super) is_folder: bool,
}

/// A command that could write since the last comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Alive {
    pub(super) writer: Writer,
    /// Folders whose `.git` it made.
    pub(super) repositories: BTreeSet<Vec<u8>>,
}

impl Alive {
    pub(super) fn new(writer: Writer) -> Self {
        Self { writer, repositories: BTreeSet::new() }
    }

    fn runs_git(&self, subcommands: &[&str]) -> bool {
        let first =
            |command: &'_ String| command.split(' ').next().is_some_and(|first| subcommands.contains(&first));
        self.writer.git.iter().any(first)
    }

    /// Whether it may make whole repositories, not only their `.git`.
    fn fills_repositories(&self) -> bool {
        self.runs_git(&["clone", "submodule", "worktree"])
    }

    fn named(&self, path: &[u8], names: &Names) -> bool {
        let of = |decided: &Vec<u8>| is_within(path, decided) && names.meets(decided);
        self.writer.paths.iter().any(of)
    }

    /// Whether it named something below this.
    fn named_below(&self, path: &[u8]) -> bool {
        self.writer.paths.iter().any(|decided| decided != path && is_within(decided, path))
    }

    /// Whether it is inside a repository that this command made.
    fn made(&self, path: &[u8]) -> bool {
        let inside = |repository: &Vec<u8>| {
            if self.fills_repositories() {
                is_within(path, repository)
            } else {
                is_within(path, &join(repository, b".git"))
            }
        };
        self.repositories.iter().any(inside) || (self.fills_repositories() && is_of_git(path))
    }
}

/// Whether it belongs to a submodule or worktree of a repository, in the repository's own folder.
fn is_of_git(path: &[u8]) -> bool {
    let mut parts = path.split(|byte| *byte == b'/');
    parts.any(is_git) && matches!(parts.next(), Some(b"modules" | b"worktrees"))
}

/// Everything that was made or changed, by path. Settings of git that run nothing do not count, nor does
/// what was moved together with the folder that it is in.
pub(super) fn changes(before: &Record, now: &Record) -> Vec<Change> {
    let mut changes = Vec::new();
    let gone = before.marks.iter().filter(|(path, _)| !now.marks.contains_key(*path));
    let gone: BTreeMap<_, _> = gone.map(|(path, mark)| ((mark.stamp.inode, last(path)), mark)).collect();
    for (path, mark) in &now.marks {
        let old = gone.get(&(mark.stamp.inode, last(path)));
        if old.is_some_and(|old| mark.came_with_its_folder(old)) {
            continue;
        }
        if let Some(reason) = reason(before.marks.get(path), mark) {
            changes.push(Change { path: path.clone(), reason, is_folder: mark.kind == Kind::Folder });
        }
    }
    changes
}

fn reason(before: Option<&Mark>, now: &Mark) -> Option<Reason> {
    let none = BTreeSet::new();
    match (before, &now.programs) {
        (Some(before), _) if now.is_same(before) => None,
        (Some(Mark { kind: Kind::File, programs, .. }), Some(now)) => {
            (!now.is_subset(programs.as_ref().unwrap_or(&none))).then_some(Reason::GitConfig)
        }
        (None, Some(now)) => (!now.is_empty()).then_some(Reason::GitConfig),
        (Some(_), _) => Some(Reason::Changed),
        (None, None) => Some(Reason::Created),
    }
}

/// What is done about a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It was decided about.
    Fine,
    /// It is said, whatever the profile says.
    Report,
    /// What the profile says.
    Act,
}

/// Notes which commands made which repositories, and which folders were made one that has no `.git`.
pub(super) fn note_repositories<'a>(changes: &[Change], writers: impl Iterator<Item = &'a mut Alive>) {
    let new = changes.iter().filter(|change| change.reason == Reason::Created && is_git(last(&change.path)));
    let new: Vec<Vec<u8>> = new.map(|change| super::names::above(&change.path).to_vec()).collect();
    for writer in writers.filter(|writer| writer.runs_git(&CREATORS)) {
        writer.repositories.extend(new.iter().cloned());
    }
}

/// Folders that became repositories while a command ran that was decided to make one.
pub(super) fn new_bare(before: &Record, now: &Record, writers: &[&Alive]) -> Vec<Vec<u8>> {
    if !writers.iter().any(|writer| writer.runs_git(&["clone", "init"])) {
        return Vec::new();
    }
    let was = |path: &Vec<u8>| before.shapes.get(path).is_some_and(|shape| shape.is_repository());
    let new = now.shapes.iter().filter(|(path, shape)| shape.is_repository() && !was(path));
    new.map(|(path, _)| path.clone()).collect()
}

/// What is done about a change, by all that could have made it.
pub(super) fn verdict(change: &Change, writers: &[&Alive], names: &Names, before: &Record) -> Verdict {
    let path = &change.path;
    let is_fine = |writer: &&Alive| {
        writer.named(path, names)
            || writer.made(path)
            || (change.is_folder && writer.named_below(path))
            || (writer.writer.rules.git_config && is_in_old_repository(path, before))
    };
    if writers.iter().any(is_fine) {
        return Verdict::Fine;
    }
    let by_git = writers.iter().any(|writer| !writer.writer.git.is_empty());
    if by_git && last(path).eq_ignore_ascii_case(b".gitmodules") { Verdict::Report } else { Verdict::Act }
}

fn is_in_old_repository(path: &[u8], before: &Record) -> bool {
    let git = ancestors(path).find(|path| is_git(last(path)));
    git.is_some_and(|git| git != path && before.marks.get(git).is_some_and(|mark| mark.kind == Kind::Folder))
}
