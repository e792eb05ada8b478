//! One comparison: what counts is said, moved into quarantine, or made a failure.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::BorrowedFd;

use super::super::error::ProtectError;
use super::super::judge::{Alive, Change, Verdict, changes, new_bare, note_repositories, verdict};
use super::super::mark::Mark;
use super::super::names::{ancestors, is_within};
use super::super::scan::{Record, scan};
use super::super::{Action, Found, NAMES_LAYER, Outcome, Reason, Rules};
use super::Guard;

/// What came of a change.
enum Done {
    /// It stays, and belongs there.
    Stays(Option<Found>),
    /// It was moved; true: and what stood there before is there again.
    Moved(Option<Found>, bool),
    /// It is still there and does not belong there.
    Failed(Found),
}

impl Guard {
    pub(super) fn compare(
        &mut self,
        workspace: BorrowedFd<'_>,
        rules: &Rules,
        execution: &str,
    ) -> Result<Vec<Found>, ProtectError> {
        let mut now = scan(workspace, &self.names)?;
        let Some(before) = self.record.clone() else { return Ok(Vec::new()) };
        leave_uploads(&before, &mut now, self.uploads.values());
        let changes = changes(&before, &now);
        note_repositories(&changes, self.writers.values_mut().chain(&mut self.unjudged));
        let writers: Vec<Alive> = self.writers.values().chain(&self.unjudged).cloned().collect();
        let writers: Vec<&Alive> = writers.iter().collect();
        let bare = new_bare(&before, &now, &writers);
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
                    now.marks.extend(old.filter(|_| put_back).map(|old| (change.path.clone(), old.clone())));
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
        if !bare.is_empty() {
            self.began.own.extend(bare);
            self.save_began()?;
        }
        self.set(workspace, now)?;
        self.unjudged.clear();
        Ok(found)
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
        let said = |outcome, quarantine, detail: &str| Found {
            layer: NAMES_LAYER,
            kind,
            path: Some(path.clone()),
            outcome,
            quarantine,
            detail: detail.to_owned(),
        };
        if action == Action::Report {
            return Done::Stays(Some(said(Outcome::Reported, None, what(*reason))));
        }
        let id = match self.vault.quarantine(workspace, path, *reason, execution) {
            Ok(Some(id)) => id,
            // It was there for a moment only.
            Ok(None) => {
                return Done::Moved(Some(said(Outcome::Reported, None, "it was removed again")), false);
            }
            Err(error) => return Done::Failed(Found::failed(NAMES_LAYER, kind, Some(path.clone()), &error)),
        };
        let outcome = if action == Action::Fail { Outcome::Failed } else { Outcome::Quarantined };
        let put_back = old.map_or(Ok(false), |old| self.vault.put_back(workspace, path, old));
        let detail = match (&put_back, old) {
            (Err(error), _) => format!("{}; {error}", what(*reason)),
            (Ok(true), _) => format!("{}; what stood there before is there again", what(*reason)),
            (Ok(false), Some(_)) => format!("{}; what stood there before was not kept", what(*reason)),
            (Ok(false), None) => what(*reason).to_owned(),
        };
        let put_back = put_back.unwrap_or(false);
        Done::Moved(Some(said(outcome, Some(id), &detail)), put_back)
    }
}

fn what(reason: Reason) -> &'static str {
    match reason {
        Reason::Created => "a protected name was made",
        Reason::Changed => "a protected name was changed",
        Reason::GitConfig => "settings were made by which git runs programs",
        Reason::BareRepository => "it made a folder look like a repository",
        Reason::Replaced => "it stood where something was given back",
    }
}

/// Below what is being put there for a client, everything counts as it was.
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
