//! Planted programs in repositories: finds the repositories that may contain any, and removes the programs before a
//! command that cannot have masks.

use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;

use super::super::error::{ProtectError, shown};
use super::super::found::{Found, GIT_LAYER, Outcome, Reason};
use super::super::judge::note_planted;
use super::super::names::is_within;
use super::super::planted::{Item, Plant, Planted, Suspects};
use super::super::scan::scan;
use super::Guard;
use crate::mask::SessionDirectory;

impl Guard {
    /// Returns the repositories that may contain planted programs. `None` before the first command that could write.
    /// `is_still` states that nothing has changed since the last comparison. Otherwise the call blocks while it scans
    /// the workspace.
    ///
    /// # Errors
    /// If the workspace cannot be scanned.
    pub fn suspects(
        &self,
        workspace: BorrowedFd<'_>,
        is_still: bool,
    ) -> Result<Option<Suspects>, ProtectError> {
        let Some(record) = &self.record else { return Ok(None) };
        let mut now = record.clone();
        // Changes of commands that ended with the previous process were not compared.
        if !is_still || self.recovered {
            now = scan(workspace, self.scope, &self.names)?;
            note_planted(record, &mut now, |_, _, _| false);
        }
        Ok(Some(Suspects::of(now, self.began.at)))
    }

    /// Moves planted hooks and configurations into quarantine, and restores the configurations without their
    /// programs. The next command's end reports the actions. Blocks while it scans the workspace.
    ///
    /// # Errors
    /// If a planted file is not in the workspace or cannot be removed.
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
                Plant::Hooks => {
                    (Reason::Created, "hooks that a command created would run outside the sandbox")
                }
                Plant::Config(_) => {
                    (Reason::GitConfig, "it names programs that would run outside the sandbox")
                }
            };
            let Some(id) = self.store.quarantine(workspace, path, reason, execution)? else { continue };
            record.marks.retain(|other, _| !is_within(other, path));
            if let Plant::Config(rest) = what {
                self.store.put(workspace, path, rest)?;
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
        // Only these paths: other changes are found at the end of the command that made them.
        let mut now = scan(workspace, self.scope, &self.names)?;
        for path in put {
            record.marks.extend(now.marks.remove_entry(path));
        }
        self.set(workspace, record)
    }
}

/// Returns a message for the first item outside the workspace, with the remedy.
fn elsewhere(items: &[Item]) -> Option<String> {
    let item = items.iter().find(|item| item.directory != SessionDirectory::Workspace)?;
    let path = std::path::Path::new(item.directory.inside()).join(&item.path);
    let path = shown(path.as_os_str().as_bytes());
    Some(format!("`{path}` was created by a command and would run outside the sandbox; remove it"))
}
