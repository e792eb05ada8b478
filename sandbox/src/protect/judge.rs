//! Decides which changes of protected names are violations, and which a decision permitted.
//!
//! Pure: compares two records, and accesses no file.

use std::collections::{BTreeMap, BTreeSet};

use super::found::Reason;
use super::git_use::Extent;
use super::mark::{Kind, Mark};
use super::names::{Names, above, ancestors, is_git, is_within, join, last};
use super::rules::Writer;
use super::scan::Record;

/// A relevant difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) path: Vec<u8>,
    pub(super) reason: Reason,
    pub(super) is_directory: bool,
    /// For [`Reason::GitConfig`]: the new settings.
    pub(super) settings: BTreeSet<String>,
}

/// A command that could write since the last comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ActiveWriter {
    pub(super) writer: Writer,
    /// Directories that it created, or may have created, as part of a repository. Everything in them belongs to it.
    own: BTreeSet<Vec<u8>>,
    /// Names in the working trees of such repositories that came with them.
    tracked: BTreeSet<Vec<u8>>,
    /// The files in which git records added submodules.
    submodules: BTreeSet<Vec<u8>>,
}

impl ActiveWriter {
    pub(super) fn new(writer: Writer) -> Self {
        Self { writer, own: BTreeSet::new(), tracked: BTreeSet::new(), submodules: BTreeSet::new() }
    }

    /// Records paths that came with a repository that it may have created.
    pub(super) fn tracks(&mut self, paths: &BTreeSet<Vec<u8>>) {
        self.tracked.extend(paths.iter().cloned());
    }

    fn named(&self, path: &[u8], names: &Names) -> bool {
        let of = |decided: &Vec<u8>| is_within(path, decided) && names.meets(decided);
        self.writer.paths.iter().any(of)
    }

    /// Reports whether it named a path below this one.
    fn named_below(&self, path: &[u8]) -> bool {
        self.writer.paths.iter().any(|decided| decided != path && is_within(decided, path))
    }

    /// Reports whether the path belongs to a repository that this command created.
    fn made(&self, path: &[u8]) -> bool {
        self.own.iter().any(|directory| is_within(path, directory)) || self.tracked.contains(path)
    }

    /// Returns which part of a repository it may create here, according to the decision. If the path was unknown, the
    /// repository may be anywhere except at the root or in place of an existing one.
    fn extent_at(&self, directory: &[u8], was_there: bool) -> Option<Extent> {
        let made = self.writer.git.made.iter().filter(|made| made.extent != Extent::Bare);
        let anywhere = !directory.is_empty() && !was_there;
        let here = |path: &Option<Vec<u8>>| path.as_deref().map_or(anywhere, |path| path == directory);
        let extents = made.filter(|made| here(&made.path)).map(|made| made.extent);
        extents.max_by_key(|extent| *extent == Extent::Filled)
    }

    fn fills(&self) -> bool {
        self.writer.git.made.iter().any(|made| made.extent == Extent::Filled)
    }

    fn makes_bare(&self, directory: &[u8]) -> bool {
        let here =
            |path: &Option<Vec<u8>>| path.as_deref().map_or(!directory.is_empty(), |path| path == directory);
        self.writer.git.made.iter().any(|made| made.extent == Extent::Bare && here(&made.path))
    }
}

/// Returns the new directories of submodules and worktrees inside the repository that they belong to.
fn new_parts<'a>(before: &Record, now: &'a Record) -> BTreeSet<&'a [u8]> {
    let known: BTreeSet<&[u8]> = before.marks.keys().map(|path| above(path)).collect();
    let is_new = |directory: &&[u8]| {
        let mut parts = ancestors(directory).filter(|path| is_part_of_git(path)).peekable();
        parts.peek().is_some() && !parts.any(|path| known.contains(path))
    };
    let of_part = |path: &&Vec<u8>| matches!(last(path), b"config" | b"commondir" | b"gitdir");
    let directories = now.marks.keys().filter(of_part).map(|path| above(path));
    directories.filter(is_new).collect()
}

/// Reports whether the path is below `modules` or `worktrees` of a repository.
fn is_part_of_git(path: &[u8]) -> bool {
    let mut parts = path.split(|byte| *byte == b'/');
    parts.any(is_git) && matches!(parts.next(), Some(b"modules" | b"worktrees")) && parts.next().is_some()
}

/// Returns everything that was created or changed, by path. Ignores settings of git that run no program, and files that
/// were moved together with their directory.
pub(super) fn changes(before: &Record, now: &Record) -> Vec<Change> {
    let mut changes = Vec::new();
    let moved = moved(before, now);
    for (path, mark) in now.marks.iter().filter(|(path, _)| !moved.contains(path.as_slice())) {
        let old = before.marks.get(path);
        if let Some(reason) = reason(old, mark) {
            let settings =
                if reason == Reason::GitConfig { new_settings(old, mark) } else { BTreeSet::new() };
            changes.push(Change {
                path: path.clone(),
                reason,
                is_directory: mark.kind == Kind::Directory,
                settings,
            });
        }
    }
    changes
}

/// Returns everything that was removed, outermost paths only. Ignores files that were moved or removed together with
/// their directory, which the caller checks.
pub(super) fn removals(before: &Record, now: &Record) -> Vec<Change> {
    let moved = moved(now, before);
    let mut removed: Vec<Change> = Vec::new();
    for (path, mark) in before.marks.iter().filter(|(path, _)| !now.marks.contains_key(*path)) {
        let is_inner = removed.last().is_some_and(|outer| is_within(path, &outer.path));
        if !moved.contains(path.as_slice()) && !is_inner {
            removed.push(Change {
                path: path.clone(),
                reason: Reason::Removed,
                is_directory: mark.kind == Kind::Directory,
                settings: BTreeSet::new(),
            });
        }
    }
    removed
}

/// Returns the paths that are only in `to` and have another path in `from`: they were moved with their directory.
fn moved<'a>(from: &Record, to: &'a Record) -> BTreeSet<&'a [u8]> {
    let gone = from.marks.iter().filter(|(path, _)| !to.marks.contains_key(*path));
    let gone: BTreeMap<_, _> = gone.map(|(path, mark)| ((mark.identity, last(path)), mark)).collect();
    let came = |path: &[u8], mark: &Mark| {
        gone.get(&(mark.identity, last(path))).is_some_and(|old| mark.came_with_its_directory(old))
    };
    let all = to.marks.iter().filter(|(path, mark)| came(path, mark));
    all.map(|(path, _)| path.as_slice()).collect()
}

fn reason(before: Option<&Mark>, now: &Mark) -> Option<Reason> {
    match (before, &now.programs) {
        (Some(before), _) if now.is_same(before) => None,
        (Some(Mark { kind: Kind::File, .. }) | None, Some(_)) => {
            (!new_settings(before, now).is_empty()).then_some(Reason::GitConfig)
        }
        (Some(_), _) => Some(Reason::Changed),
        (None, None) => Some(Reason::Created),
    }
}

fn new_settings(before: Option<&Mark>, now: &Mark) -> BTreeSet<String> {
    let none = BTreeSet::new();
    let old = before.and_then(|before| before.programs.as_ref()).unwrap_or(&none);
    now.programs.as_ref().unwrap_or(&none).difference(old).cloned().collect()
}

/// The reaction to a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// A decision permitted it.
    Fine,
    /// Report it with any action of the profile.
    Report,
    /// Apply the profile's action.
    Act,
}

/// Records which repositories the commands created, by any program: those with a new `.git` directory or file, and
/// new parts for submodules and worktrees. Links do not count. Neither does a repository at the root in place of an
/// existing one, unless a decision permitted it. Returns the working trees of repositories that may have come with
/// their contents.
pub(super) fn note_repositories<'a>(
    (before, now): (&Record, &Record),
    writers: impl Iterator<Item = &'a mut ActiveWriter>,
) -> Vec<Vec<u8>> {
    let moved = moved(before, now);
    let is_new = |path: &Vec<u8>, mark: &Mark| {
        let old = before.marks.get(path);
        !moved.contains(path.as_slice()) && old.is_none_or(|old| old.identity != mark.identity)
    };
    let new = now.marks.iter().filter(|(path, mark)| is_git(last(path)) && is_new(path, mark));
    let new: Vec<_> = new
        .map(|(path, mark)| New { path, was_there: before.marks.contains_key(path), kind: mark.kind })
        .collect();
    // Reports whether a file in the directory existed before and still exists.
    let holds = |directory: &[u8]| {
        let mut old = before.marks.iter().filter(|(path, _)| is_within(path, directory));
        old.any(|(path, old)| now.marks.get(path).is_some_and(|mark| mark.identity == old.identity))
    };
    // A submodule or worktree has a `.git` file that leads to its part.
    let has_file = new.iter().any(|new| new.kind == Kind::File);
    let parts = new_parts(before, now);
    let mut filled: BTreeSet<&[u8]> = new.iter().filter(|new| new.stays()).map(New::directory).collect();
    for writer in writers {
        for new in &new {
            match writer.extent_at(new.directory(), new.was_there) {
                // git fills only an empty directory.
                Some(Extent::Filled) if !holds(new.directory()) => {
                    writer.own.insert(new.directory().to_vec())
                }
                // A new repository, by a decision for `git init`, starts empty: no files come with it.
                Some(Extent::Own) => filled.remove(new.directory()) | writer.own.insert(new.path.to_vec()),
                Some(_) => writer.own.insert(new.path.to_vec()),
                None => new.stays() && writer.own.insert(new.path.to_vec()),
            };
        }
        if writer.fills() || has_file {
            writer.own.extend(parts.iter().map(|directory| directory.to_vec()));
            writer.submodules.extend(parts.iter().filter_map(|part| gitmodules(part)));
        }
    }
    filled.into_iter().map(<[u8]>::to_vec).collect()
}

/// A new `.git`.
struct New<'a> {
    path: &'a [u8],
    /// Whether another one existed before.
    was_there: bool,
    kind: Kind,
}

impl<'a> New<'a> {
    /// Returns its directory.
    fn directory(&self) -> &'a [u8] {
        above(self.path)
    }

    /// Reports whether it is accepted, whichever command created it.
    fn stays(&self) -> bool {
        matches!(self.kind, Kind::Directory | Kind::File) && !(self.directory().is_empty() && self.was_there)
    }
}

/// Returns the `.gitmodules` file of the repository, if `part` is the directory of one of its submodules.
fn gitmodules(part: &[u8]) -> Option<Vec<u8>> {
    let git = ancestors(part).find(|path| is_git(last(path)))?;
    let below = part.get(git.len()..)?;
    below.starts_with(b"/modules/").then(|| join(above(git), b".gitmodules"))
}

/// Sets, for every mark of the second record, whether a command made this change without a decision.
pub(super) fn note_planted(
    before: &Record,
    now: &mut Record,
    is_decided: impl Fn(&[u8], Option<&Mark>, &Mark) -> bool,
) {
    let gone = before.marks.iter().filter(|(path, _)| !now.marks.contains_key(*path));
    let gone: BTreeMap<_, _> = gone.map(|(path, mark)| ((mark.identity, last(path)), mark)).collect();
    for (path, mark) in &mut now.marks {
        let moved = || gone.get(&(mark.identity, last(path))).copied();
        let old = before.marks.get(path).or_else(|| moved().filter(|old| mark.came_with_its_directory(old)));
        mark.planted = match old {
            Some(old) if mark.is_same(old) => old.planted,
            old => !is_decided(path, old, mark),
        };
    }
}

/// Reports whether a decision permitted a change: by the path, or by all its new settings.
pub(super) fn is_decided(
    (path, old, now): (&[u8], Option<&Mark>, &Mark),
    writers: &[&ActiveWriter],
    names: &Names,
) -> bool {
    let settings = match (&now.programs, old) {
        (Some(_), old) => new_settings(old, now),
        (None, _) => BTreeSet::new(),
    };
    let is_set = |setting: &String| writers.iter().any(|writer| writer.writer.git.settings.contains(setting));
    // A configuration without new programs keeps its trust.
    let by_settings =
        now.programs.is_some() && old.is_some_and(|old| !old.planted) && settings.iter().all(is_set);
    by_settings || writers.iter().any(|writer| writer.named(path, names))
}

/// Returns the directories that became bare repositories where a decision permitted one.
pub(super) fn new_bare(before: &Record, now: &Record, writers: &[&ActiveWriter]) -> Vec<Vec<u8>> {
    let was = |path: &Vec<u8>| before.shapes.get(path).is_some_and(|shape| shape.is_repository());
    let is_made = |path: &Vec<u8>| writers.iter().any(|writer| writer.makes_bare(path));
    let new = now.shapes.iter().filter(|(path, shape)| shape.is_repository() && !was(path) && is_made(path));
    new.map(|(path, _)| path.clone()).collect()
}

/// Returns the reaction to a change, considering all commands that could have made it.
pub(super) fn verdict(change: &Change, writers: &[&ActiveWriter], names: &Names, before: &Record) -> Verdict {
    let path = &change.path;
    let is_fine = |writer: &&ActiveWriter| {
        writer.named(path, names)
            || writer.made(path)
            || (change.is_directory && change.reason != Reason::Removed && writer.named_below(path))
            || (writer.writer.rules.git_config && is_in_old_repository(path, before))
    };
    let is_decided =
        |setting: &String| writers.iter().any(|writer| writer.writer.git.settings.contains(setting));
    let all_decided = !change.settings.is_empty() && change.settings.iter().all(is_decided);
    if all_decided || writers.iter().any(is_fine) {
        return Verdict::Fine;
    }
    let by_git = writers.iter().any(|writer| writer.writer.git.any);
    let is_gits = match change.reason {
        // Files that git checks out or removes; never files in its own directory.
        Reason::Removed => !ancestors(above(path)).any(|directory| is_git(last(directory))),
        _ => last(path).eq_ignore_ascii_case(b".gitmodules"),
    };
    let is_submodules = writers.iter().any(|writer| writer.submodules.contains(path));
    if (by_git && is_gits) || is_submodules { Verdict::Report } else { Verdict::Act }
}

fn is_in_old_repository(path: &[u8], before: &Record) -> bool {
    let git = ancestors(path).find(|path| is_git(last(path)));
    git.is_some_and(|git| {
        git != path && before.marks.get(git).is_some_and(|mark| mark.kind == Kind::Directory)
    })
}
