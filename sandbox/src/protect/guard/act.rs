//! Acts on one comparison: a violation is reported, moved into quarantine and reverted, or makes the command fail. An
//! item can be restored from quarantine.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{Mode, mkdirat};
use rustix::io::Errno;

use super::super::directory::{Directory, Need, descend, identity, look};
use super::super::error::{ProtectError, shown};
use super::super::found::{Found, NAMES_LAYER, Outcome, Reason};
use super::super::index::tracked;
use super::super::judge::{
    ActiveWriter, Change, Verdict, changes, is_decided, new_bare, note_planted, note_repositories, removals,
    verdict,
};
use super::super::mark::Mark;
use super::super::names::{above, ancestors, is_within, join, last};
use super::super::rules::{Action, Rules};
use super::super::scan::{Record, scan};
use super::Guard;

/// The result of a change.
enum Done {
    /// The file stays and is accepted.
    Stays(Option<Found>),
    /// The file was moved, and the previous one was restored if possible.
    Moved(Option<Found>, Option<Mark>),
    /// The file still exists, and is not accepted.
    Failed(Found),
}

impl Guard {
    pub(super) fn compare(
        &mut self,
        workspace: BorrowedFd<'_>,
        rules: &Rules,
        execution: &str,
    ) -> Result<Vec<Found>, ProtectError> {
        let mut now = scan(workspace, self.scope, &self.names)?;
        let Some(before) = self.record.clone() else { return Ok(Vec::new()) };
        leave_uploads(&before, &mut now, self.uploads.values().flatten());
        let changes = changes(&before, &now);
        self.note_new_repositories(workspace, &before, &now, &changes);
        let writers: Vec<ActiveWriter> = self.writers.values().chain(&self.unjudged).cloned().collect();
        let writers: Vec<&ActiveWriter> = writers.iter().collect();
        let bare = new_bare(&before, &now, &writers);
        note_planted(&before, &mut now, |path, old, mark| {
            is_decided((path, old, mark), &writers, &self.names)
        });
        let removals = removals(&before, &now);
        let (mut found, mut done) = (Vec::new(), BTreeSet::new());
        for change in &changes {
            if ancestors(&change.path).any(|path| done.contains(path)) {
                continue;
            }
            let said = match verdict(change, &writers, &self.names, &before) {
                Verdict::Fine => continue,
                Verdict::Report => Action::Report,
                Verdict::Act => rules.action,
            };
            let old = before.marks.get(&change.path);
            match self.act(workspace, change, old, said, execution) {
                Done::Stays(said) => found.extend(said),
                Done::Moved(said, put_back) => {
                    found.extend(said);
                    now.marks.retain(|path, _| !is_within(path, &change.path));
                    now.marks.extend(put_back.map(|mark| (change.path.clone(), mark)));
                    done.insert(change.path.clone());
                }
                Done::Failed(said) => {
                    found.push(said);
                    done.insert(change.path.clone());
                    now.marks.remove(&change.path);
                    now.marks.extend(old.map(|old| (change.path.clone(), old.clone())));
                }
            }
        }
        for removal in &removals {
            let said = match verdict(removal, &writers, &self.names, &before) {
                Verdict::Fine => continue,
                Verdict::Report => Action::Report,
                Verdict::Act => rules.action,
            };
            found.extend(self.undo_removal(workspace, &removal.path, said, (&before, &mut now)));
        }
        if !bare.is_empty() {
            self.began.own.extend(bare);
            self.save_began()?;
        }
        self.set(workspace, now)?;
        self.unjudged.clear();
        Ok(found)
    }

    /// Accepts the repositories that commands created, including the files that came with them.
    fn note_new_repositories(
        &mut self,
        workspace: BorrowedFd<'_>,
        before: &Record,
        now: &Record,
        changes: &[Change],
    ) {
        let all = self.writers.values_mut().chain(&mut self.unjudged);
        for directory in note_repositories((before, now), all) {
            let is_in_tree = |change: &Change| {
                is_within(&change.path, &directory) && !is_within(&change.path, &join(&directory, b".git"))
            };
            if changes.iter().any(is_in_tree) {
                let tracked = tracked(workspace, &directory, &self.names);
                let all = self.writers.values_mut().chain(&mut self.unjudged);
                all.for_each(|writer| writer.tracks(&tracked));
            }
        }
    }

    fn act(
        &mut self,
        workspace: BorrowedFd<'_>,
        change: &Change,
        old: Option<&Mark>,
        action: Action,
        execution: &str,
    ) -> Done {
        let Change { path, reason, .. } = change;
        let kind = reason.name();
        let said = |outcome, quarantine, detail: &str| said(*reason, path, outcome, quarantine, detail);
        if action == Action::Report {
            return Done::Stays(Some(said(Outcome::Reported, None, what(*reason))));
        }
        let id = match self.store.quarantine(workspace, path, *reason, execution) {
            Ok(Some(id)) => id,
            // The file existed only briefly.
            Ok(None) => {
                return Done::Moved(Some(said(Outcome::Reported, None, "it was removed again")), None);
            }
            Err(error) => return Done::Failed(Found::failed(NAMES_LAYER, kind, Some(path.clone()), &error)),
        };
        let put_back = old.map_or(Ok(None), |old| self.store.put_back(workspace, path, old));
        let detail = match (&put_back, old) {
            (Err(error), _) => format!("{}; {error}", what(*reason)),
            (Ok(Some(_)), _) => format!("{}; {IS_THERE_AGAIN}", what(*reason)),
            (Ok(None), Some(_)) => format!("{}; the previous content was not kept", what(*reason)),
            (Ok(None), None) => what(*reason).to_owned(),
        };
        Done::Moved(Some(said(moved(action), Some(id), &detail)), put_back.unwrap_or_default())
    }

    /// Restores a removed name with its contents, unless it was removed together with its directory.
    fn undo_removal(
        &self,
        workspace: BorrowedFd<'_>,
        path: &[u8],
        action: Action,
        (before, now): (&Record, &mut Record),
    ) -> Option<Found> {
        let old = before.marks.get(path)?;
        let failed = |error| Found::failed(NAMES_LAYER, Reason::Removed.name(), Some(path.to_vec()), &error);
        // A protected directory is identified by its name.
        let directory = above(path);
        if !(before.marks.contains_key(directory) && now.marks.contains_key(directory)) {
            match is_directory_there(workspace, directory, old.parent) {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(failed(error)),
            }
        }
        let what = what(Reason::Removed);
        if action == Action::Report {
            return Some(said(Reason::Removed, path, Outcome::Reported, None, what));
        }
        let mut whole = true;
        let inner = before.marks.range(path.to_vec()..).take_while(|(other, _)| other.starts_with(path));
        for (other, mark) in inner.filter(|(other, _)| is_within(other, path)) {
            match self.store.put_back(workspace, other, mark) {
                Ok(Some(mark)) => drop(now.marks.insert(other.clone(), mark)),
                Ok(None) => whole = false,
                Err(error) => return Some(failed(error)),
            }
        }
        let again = if whole { IS_THERE_AGAIN } else { "the previous content was restored in part" };
        let outcome = if action == Action::Fail { Outcome::Failed } else { Outcome::Reported };
        Some(said(Reason::Removed, path, outcome, None, &format!("{what}; {again}")))
    }
}

const IS_THERE_AGAIN: &str = "the previous content was restored";

fn said(reason: Reason, path: &[u8], outcome: Outcome, quarantine: Option<String>, detail: &str) -> Found {
    Found {
        layer: NAMES_LAYER,
        kind: reason.name(),
        path: Some(path.to_vec()),
        outcome,
        quarantine,
        detail: detail.to_owned(),
    }
}

fn moved(action: Action) -> Outcome {
    if action == Action::Fail { Outcome::Failed } else { Outcome::Quarantined }
}

/// Reports whether the directory still exists and is the same one.
fn is_directory_there(workspace: BorrowedFd<'_>, path: &[u8], which: u64) -> Result<bool, ProtectError> {
    let failed = || ProtectError::path("look for", path);
    let directories = descend(workspace, path, Need::Look).map_err(failed())?;
    let Some(directory) = directories.as_ref().and_then(|directories| directories.last()) else {
        return Ok(false);
    };
    Ok(identity(directory, b"").map_err(failed())? == which)
}

fn what(reason: Reason) -> &'static str {
    match reason {
        Reason::Created => "a protected name was created",
        Reason::Changed => "a protected name was changed",
        Reason::GitConfig => "git settings that run programs were added",
        Reason::BareRepository => "it made a directory look like a repository",
        Reason::Replaced => "it was in the place of restored content",
        Reason::Removed => "a protected name was removed",
    }
}

/// Ignores changes below the targets of active uploads.
fn leave_uploads<'a>(before: &Record, now: &mut Record, targets: impl Iterator<Item = &'a Vec<u8>>) {
    for target in targets {
        now.marks.retain(|path, _| !is_within(path, target));
        let old: BTreeMap<_, _> = before
            .marks
            .iter()
            .filter(|(path, _)| is_within(path, target))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        now.marks.extend(old);
    }
}

const DIRECTORY_MODE: u32 = 0o755;

impl Guard {
    /// Restores an item and accepts it into the record. A file that occupies its path is moved into quarantine.
    /// Returns the item's path, and the ID of the replaced file. Blocks while it scans the workspace.
    ///
    /// # Errors
    /// If there is no such item, or if its path cannot be written.
    pub fn restore(
        &mut self,
        workspace: BorrowedFd<'_>,
        id: &str,
    ) -> Result<(Vec<u8>, Option<String>), ProtectError> {
        let held = self.store.held(id)?;
        self.changes += 1;
        let failed = || ProtectError::path("restore", &held.path);
        let directories = make_directories(workspace, above(&held.path))?;
        let Some(directory) = directories.last() else { return Err(failed()(Errno::NOENT)) };
        let replaced = match look(directory, last(&held.path)).map_err(failed())? {
            Some(_) => self.store.quarantine(workspace, &held.path, Reason::Replaced, "")?,
            None => None,
        };
        self.store.give_back(&held, directory.as_fd())?;
        let mut below = vec![held.path.clone()];
        if self.record.is_some() {
            let now = scan(workspace, self.scope, &self.names)?;
            let prefix = [&held.path[..], b"/"].concat();
            below.extend(now.marks.keys().filter(|path| path.starts_with(&prefix)).cloned());
        }
        self.adopt(workspace, &below)?;
        Ok((held.path, replaced))
    }
}

/// Opens or creates the directories of a path. All stay open, so that each keeps the permissions that the next one
/// needs.
fn make_directories(workspace: BorrowedFd<'_>, path: &[u8]) -> Result<Vec<Directory>, ProtectError> {
    let failed = || ProtectError::path("create the directory", path);
    let mut open = vec![Directory::of(workspace, Need::Change).map_err(failed())?];
    for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
        let Some(parent) = open.last() else { break };
        match mkdirat(parent, name, Mode::from_raw_mode(DIRECTORY_MODE)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed()(errno)),
        }
        let next = Directory::open(parent, name, Need::Change).map_err(failed())?;
        let next = next.ok_or_else(|| ProtectError::ChangedMeanwhile { path: shown(path) })?;
        open.push(next);
    }
    Ok(open)
}
