//! Which changes of protected names count, and which were decided about.
//!
//! Pure: compares two records, and looks at no file.

use std::collections::{BTreeMap, BTreeSet};

use super::git_use::Extent;
use super::mark::{Kind, Mark};
use super::names::{Names, above, ancestors, is_git, is_within, join, last};
use super::scan::Record;
use super::{Reason, Writer};

/// A difference that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) path: Vec<u8>,
    pub(super) reason: Reason,
    pub(super) is_folder: bool,
    /// Of [`Reason::GitConfig`]: what was set.
    pub(super) settings: BTreeSet<String>,
}

/// A command that could write since the last comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Alive {
    pub(super) writer: Writer,
    /// Folders that it made, or may have made, as a part of a repository: all in them is its own.
    own: BTreeSet<Vec<u8>>,
    /// Names in the working trees of such repositories that came with them.
    tracked: BTreeSet<Vec<u8>>,
    /// Files in which git notes the submodules that were added.
    submodules: BTreeSet<Vec<u8>>,
}

impl Alive {
    pub(super) fn new(writer: Writer) -> Self {
        Self { writer, own: BTreeSet::new(), tracked: BTreeSet::new(), submodules: BTreeSet::new() }
    }

    /// These came with a repository that it may have made.
    pub(super) fn tracks(&mut self, paths: &BTreeSet<Vec<u8>>) {
        self.tracked.extend(paths.iter().cloned());
    }

    fn named(&self, path: &[u8], names: &Names) -> bool {
        let of = |decided: &Vec<u8>| is_within(path, decided) && names.meets(decided);
        self.writer.paths.iter().any(of)
    }

    /// Whether it named something below this.
    fn named_below(&self, path: &[u8]) -> bool {
        self.writer.paths.iter().any(|decided| decided != path && is_within(decided, path))
    }

    /// Whether it is a part of a repository that this command made.
    fn made(&self, path: &[u8]) -> bool {
        self.own.iter().any(|folder| is_within(path, folder)) || self.tracked.contains(path)
    }

    /// How much of a repository it was decided to make there. Where nobody could say where it makes one, it
    /// may be anywhere but at the root, and but where one was.
    fn extent_at(&self, folder: &[u8], was_there: bool) -> Option<Extent> {
        let made = self.writer.git.made.iter().filter(|made| made.extent != Extent::Bare);
        let anywhere = !folder.is_empty() && !was_there;
        let here = |path: &Option<Vec<u8>>| path.as_deref().map_or(anywhere, |path| path == folder);
        let extents = made.filter(|made| here(&made.path)).map(|made| made.extent);
        extents.max_by_key(|extent| *extent == Extent::Filled)
    }

    fn fills(&self) -> bool {
        self.writer.git.made.iter().any(|made| made.extent == Extent::Filled)
    }

    fn makes_bare(&self, folder: &[u8]) -> bool {
        let here = |path: &Option<Vec<u8>>| path.as_deref().map_or(!folder.is_empty(), |path| path == folder);
        self.writer.git.made.iter().any(|made| made.extent == Extent::Bare && here(&made.path))
    }
}

/// The folders of repositories of submodules and worktrees, in the folder of the repository that they are of,
/// of which nothing was there before.
fn new_parts<'a>(before: &Record, now: &'a Record) -> BTreeSet<&'a [u8]> {
    let known: BTreeSet<&[u8]> = before.marks.keys().map(|path| above(path)).collect();
    let is_new = |folder: &&[u8]| {
        let mut parts = ancestors(folder).filter(|path| is_part_of_git(path)).peekable();
        parts.peek().is_some() && !parts.any(|path| known.contains(path))
    };
    let of_part = |path: &&Vec<u8>| matches!(last(path), b"config" | b"commondir" | b"gitdir");
    let folders = now.marks.keys().filter(of_part).map(|path| above(path));
    folders.filter(is_new).collect()
}

/// Whether it is below `modules` or `worktrees` of a repository.
fn is_part_of_git(path: &[u8]) -> bool {
    let mut parts = path.split(|byte| *byte == b'/');
    parts.any(is_git) && matches!(parts.next(), Some(b"modules" | b"worktrees")) && parts.next().is_some()
}

/// Everything that was made or changed, by path. Settings of git that run nothing do not count, nor does
/// what was moved together with the folder that it is in.
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
                is_folder: mark.kind == Kind::Folder,
                settings,
            });
        }
    }
    changes
}

/// Everything that was removed, the outermost only. What was moved or removed together with the folder that
/// it is in is told by that folder, which the caller looks for.
pub(super) fn removals(before: &Record, now: &Record) -> Vec<Change> {
    let moved = moved(now, before);
    let mut removed: Vec<Change> = Vec::new();
    for (path, mark) in before.marks.iter().filter(|(path, _)| !now.marks.contains_key(*path)) {
        let is_inner = removed.last().is_some_and(|outer| is_within(path, &outer.path));
        if !moved.contains(path.as_slice()) && !is_inner {
            removed.push(Change {
                path: path.clone(),
                reason: Reason::Removed,
                is_folder: mark.kind == Kind::Folder,
                settings: BTreeSet::new(),
            });
        }
    }
    removed
}

/// What is in one record only, and in the other at another path: it was moved with the folder that it is in.
fn moved<'a>(from: &Record, to: &'a Record) -> BTreeSet<&'a [u8]> {
    let gone = from.marks.iter().filter(|(path, _)| !to.marks.contains_key(*path));
    let gone: BTreeMap<_, _> = gone.map(|(path, mark)| ((mark.identity, last(path)), mark)).collect();
    let came = |path: &[u8], mark: &Mark| {
        gone.get(&(mark.identity, last(path))).is_some_and(|old| mark.came_with_its_folder(old))
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

/// Notes which repositories the commands made, by whatever program: those whose `.git` is new, as a folder or a file,
/// and what is new in a repository for its submodules and worktrees. A link is none, nor is what stands at the root in
/// place of a repository that was there, unless that was decided. Gives the working trees of those that may have come with what is in
/// them.
pub(super) fn note_repositories<'a>(
    (before, now): (&Record, &Record),
    writers: impl Iterator<Item = &'a mut Alive>,
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
    // What was there before and is there still.
    let holds = |folder: &[u8]| {
        let mut old = before.marks.iter().filter(|(path, _)| is_within(path, folder));
        old.any(|(path, old)| now.marks.get(path).is_some_and(|mark| mark.identity == old.identity))
    };
    // A submodule or a worktree has a file `.git` that leads to its part.
    let has_file = new.iter().any(|new| new.kind == Kind::File);
    let parts = new_parts(before, now);
    let mut filled: BTreeSet<&[u8]> = new.iter().filter(|new| new.stays()).map(New::folder).collect();
    for writer in writers {
        for new in &new {
            match writer.extent_at(new.folder(), new.was_there) {
                // git fills an empty folder only.
                Some(Extent::Filled) if !holds(new.folder()) => writer.own.insert(new.folder().to_vec()),
                // Nothing comes with one that was decided to be made from nothing.
                Some(Extent::Own) => filled.remove(new.folder()) | writer.own.insert(new.path.to_vec()),
                Some(_) => writer.own.insert(new.path.to_vec()),
                None => new.stays() && writer.own.insert(new.path.to_vec()),
            };
        }
        if writer.fills() || has_file {
            writer.own.extend(parts.iter().map(|folder| folder.to_vec()));
            writer.submodules.extend(parts.iter().filter_map(|part| gitmodules(part)));
        }
    }
    filled.into_iter().map(<[u8]>::to_vec).collect()
}

/// A `.git` that is new.
struct New<'a> {
    path: &'a [u8],
    /// Another one was there before.
    was_there: bool,
    kind: Kind,
}

impl<'a> New<'a> {
    /// What it is in.
    fn folder(&self) -> &'a [u8] {
        above(self.path)
    }

    /// Whether it stays, whoever made it.
    fn stays(&self) -> bool {
        matches!(self.kind, Kind::Folder | Kind::File) && !(self.folder().is_empty() && self.was_there)
    }
}

/// Where the submodules of a repository are noted, of which this is one's own folder.
fn gitmodules(part: &[u8]) -> Option<Vec<u8>> {
    let git = ancestors(part).find(|path| is_git(last(path)))?;
    let below = part.get(git.len()..)?;
    below.starts_with(b"/modules/").then(|| join(above(git), b".gitmodules"))
}

/// Says of every mark of the second record whether a command made it so and nobody decided about that.
pub(super) fn note_planted(
    before: &Record,
    now: &mut Record,
    is_decided: impl Fn(&[u8], Option<&Mark>, &Mark) -> bool,
) {
    let gone = before.marks.iter().filter(|(path, _)| !now.marks.contains_key(*path));
    let gone: BTreeMap<_, _> = gone.map(|(path, mark)| ((mark.identity, last(path)), mark)).collect();
    for (path, mark) in &mut now.marks {
        let moved = || gone.get(&(mark.identity, last(path))).copied();
        let old = before.marks.get(path).or_else(|| moved().filter(|old| mark.came_with_its_folder(old)));
        mark.planted = match old {
            Some(old) if mark.is_same(old) => old.planted,
            old => !is_decided(path, old, mark),
        };
    }
}

/// Whether what became of a name was decided about: by its path, or by all the settings that are new in it.
pub(super) fn is_decided(
    (path, old, now): (&[u8], Option<&Mark>, &Mark),
    writers: &[&Alive],
    names: &Names,
) -> bool {
    let settings = match (&now.programs, old) {
        (Some(_), old) => new_settings(old, now),
        (None, _) => BTreeSet::new(),
    };
    let is_set = |setting: &String| writers.iter().any(|writer| writer.writer.git.settings.contains(setting));
    // A configuration that runs no other programs than before is as much trusted as it was.
    let by_settings =
        now.programs.is_some() && old.is_some_and(|old| !old.planted) && settings.iter().all(is_set);
    by_settings || writers.iter().any(|writer| writer.named(path, names))
}

/// Folders that became repositories without a `.git` where a command was decided to make one.
pub(super) fn new_bare(before: &Record, now: &Record, writers: &[&Alive]) -> Vec<Vec<u8>> {
    let was = |path: &Vec<u8>| before.shapes.get(path).is_some_and(|shape| shape.is_repository());
    let is_made = |path: &Vec<u8>| writers.iter().any(|writer| writer.makes_bare(path));
    let new = now.shapes.iter().filter(|(path, shape)| shape.is_repository() && !was(path) && is_made(path));
    new.map(|(path, _)| path.clone()).collect()
}

/// What is done about a change, by all that could have made it.
pub(super) fn verdict(change: &Change, writers: &[&Alive], names: &Names, before: &Record) -> Verdict {
    let path = &change.path;
    let is_fine = |writer: &&Alive| {
        writer.named(path, names)
            || writer.made(path)
            || (change.is_folder && change.reason != Reason::Removed && writer.named_below(path))
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
        // What git checks out or takes away; never what is in its own folder.
        Reason::Removed => !ancestors(above(path)).any(|folder| is_git(last(folder))),
        _ => last(path).eq_ignore_ascii_case(b".gitmodules"),
    };
    let is_submodules = writers.iter().any(|writer| writer.submodules.contains(path));
    if (by_git && is_gits) || is_submodules { Verdict::Report } else { Verdict::Act }
}

fn is_in_old_repository(path: &[u8], before: &Record) -> bool {
    let git = ancestors(path).find(|path| is_git(last(path)));
    git.is_some_and(|git| git != path && before.marks.get(git).is_some_and(|mark| mark.kind == Kind::Folder))
}
