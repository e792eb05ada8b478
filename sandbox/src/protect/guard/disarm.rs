//! What commands have planted in repositories: which it may be, and taking it away before a command to which no
//! mask can be given.

use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;

use super::super::error::{ProtectError, shown};
use super::super::judge::note_planted;
use super::super::names::is_within;
use super::super::planted::{Item, Plant, Planted, Suspects};
use super::super::scan::scan;
use super::super::{Found, GIT_LAYER, Outcome, Reason};
use super::Guard;
use crate::mask::SessionFolder;

impl Guard {
    /// The repositories in which something can be planted; none before the first command that could write. `is_still`:
    /// nothing can have changed since the last comparison; otherwise this blocks for as long as it takes to look
    /// through the workspace.
    ///
    /// # Errors
    /// If the workspace cannot be looked at.
    pub fn suspects(
        &self,
        workspace: BorrowedFd<'_>,
        is_still: bool,
    ) -> Result<Option<Suspects>, ProtectError> {
        let Some(record) = &self.record else { return Ok(None) };
        let mut now = record.clone();
        // What commands did that ended with the process before this one was not compared.
        if !is_still || self.recovered {
            now = scan(workspace, self.scope, &self.names)?;
            note_planted(record, &mut now, |_, _, _| false);
        }
        Ok(Some(Suspects::of(now, self.began.at)))
    }

    /// Moves hooks and configurations that were planted into quarantine, and puts the configurations back without
    /// their programs. What was done is found at the end of the next command. Blocks for as long as it takes to look
    /// through the workspace.
    ///
    /// # Errors
    /// If something planted is not in the workspace, or cannot be taken away.
    pub fn take_away(
        &mut self,
        workspace: BorrowedFd<'_>,
        planted: &Planted,
        execution: &str,
    ) -> Result<(), ProtectError> {
        if let Some(cause) = planted.open.clone().or_else(|| elsewhere(&planted.items)) {
            return Err(ProtectError::Planted { cause });
        }
        let Some(mut record) = self.record.clone().filter(|_| !planted.items.is_empty()) else {
            return Ok(());
        };
        self.changes += 1;
        let mut put = Vec::new();
        for Item { path, what, .. } in &planted.items {
            let path = path.as_os_str().as_bytes();
            let (reason, detail) = match what {
                Plant::Hooks => (Reason::Created, "hooks that a command made would run outside the sandbox"),
                Plant::Config(_) => {
                    (Reason::GitConfig, "it names programs that would run outside the sandbox")
                }
            };
            let Some(id) = self.vault.quarantine(workspace, path, reason, execution)? else { continue };
            record.marks.retain(|other, _| !is_within(other, path));
            if let Plant::Config(rest) = what {
                self.vault.put(workspace, path, rest)?;
                put.push(path);
            }
            self.pending.push(Found {
                layer: GIT_LAYER,
                kind: reason.name(),
                path: Some(path.to_vec()),
                outcome: Outcome::Quarantined,
                quarantine: Some(id),
                detail: detail.to_owned(),
            });
        }
        // Only these: what else has changed is found at the end of the command that did it.
        let mut now = scan(workspace, self.scope, &self.names)?;
        for path in put {
            record.marks.extend(now.marks.remove_entry(path));
        }
        self.set(workspace, record)
    }
}

/// Says of the first item that is not in the workspace what to do about it.
fn elsewhere(items: &[Item]) -> Option<String> {
    let item = items.iter().find(|item| item.folder != SessionFolder::Workspace)?;
    let path = std::path::Path::new(item.folder.inside()).join(&item.path);
    let path = shown(path.as_os_str().as_bytes());
    Some(format!("`{path}` was made by a command and would run outside the sandbox; remove it"))
}
