//! The watch on the protected names during one command.

use std::sync::Arc;

use airlock_domain::{
    Cause, ExecutionId, Grant, PathAccess, ProtectAction, Violation, ViolationAction, limits::VIOLATIONS,
};
use airlock_sandbox::{
    Mask,
    protect::{Action, Found, GitUses, Names, Outcome, Rules, Writer},
};

use super::guarded::{GuardError, Guarded, SessionGuard};
use crate::session::OpenSession;

/// The failed step in a result: protected names could not be watched, or the command violated them.
const STEP: &str = "protected_names";

/// The watch of one command. If it is dropped without [`Watch::finish`], the end of the next command finds the changes.
#[derive(Debug)]
pub(crate) struct Watch {
    session: Arc<OpenSession>,
    /// `None` if nothing is watched.
    workspace: Option<u64>,
    home: Option<u64>,
    directory: Vec<u8>,
    masks: Vec<Mask>,
    still: Option<u64>,
}

impl Watch {
    /// Begins the watch, before the command starts. The first call blocks while it scans workspace and HOME.
    ///
    /// # Errors
    /// If the scan fails. The command must then not start.
    pub(crate) fn begin(
        session: &Arc<OpenSession>,
        id: ExecutionId,
        grant: &Grant,
    ) -> Result<Self, GuardError> {
        let SessionGuard { workspace, home } = session.guard();
        let writer = writer(id, grant, workspace);
        let mut watch = Self {
            session: Arc::clone(session),
            workspace: None,
            home: None,
            directory: writer.directory.clone(),
            masks: Vec::new(),
            still: None,
        };
        if writer.writes {
            // New repositories are reported for the workspace only.
            let git = GitUses { made: Vec::new(), ..writer.git.clone() };
            let in_home = Writer { git, directory: Vec::new(), ..self::writer(id, grant, home) };
            watch.home = Some(home.with(|guard, directory| guard.begin(directory, in_home))?.id);
        }
        if writer.writes || writer.git.any {
            let begun = workspace.with(|guard, directory| guard.begin(directory, writer))?;
            (watch.workspace, watch.masks, watch.still) = (Some(begun.id), begun.masks, begun.still);
        } else {
            watch.still = workspace.still();
        }
        Ok(watch)
    }

    /// Returns the masks that make protected names read-only for the command.
    pub(crate) fn masks(&mut self) -> Vec<Mask> {
        std::mem::take(&mut self.masks)
    }

    /// Returns a number for the state of the session's directories before the command, if no other process can change
    /// them.
    pub(crate) fn still(&self) -> Option<u64> {
        self.still
    }

    /// Ends the watch, after the command has ended or could not be started. Returns the violations, and the cause if
    /// they change the result. Blocks while it scans workspace and HOME.
    pub(crate) fn finish(mut self) -> (Vec<Violation>, Option<Cause>) {
        let session = Arc::clone(&self.session);
        let SessionGuard { workspace, home } = session.guard();
        let now = workspace.below(&session.directory()).unwrap_or_default();
        let directories = [self.directory.clone(), now];
        let (mut told, mut cause) = (Vec::new(), None);
        for (guarded, id) in [(workspace, &mut self.workspace), (home, &mut self.home)] {
            let Some(number) = *id else { continue };
            let directories = directories.each_ref().map(Vec::as_slice);
            match guarded.with(|guard, directory| Ok(guard.end(directory, number, &directories))) {
                Ok(found) => {
                    *id = None;
                    cause = cause.or_else(|| failure(guarded, &found));
                    told.extend(found.iter().map(|found| violation(guarded, found)));
                }
                Err(error) => cause = cause.or_else(|| Some(failed(error.to_string()))),
            }
        }
        (shortened(told), cause)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let SessionGuard { workspace, home } = self.session.guard();
        for (guarded, id) in [(workspace, self.workspace), (home, self.home)] {
            let Some(id) = id else { continue };
            let abandoned = guarded.with(|guard, _| {
                guard.abandon(id);
                Ok(())
            });
            if let Err(error) = abandoned {
                tracing::error!(session = %self.session.id, %error, "cannot watch a command's protected \
                                                                     names");
            }
        }
    }
}

/// Returns the cause for a command that violated protected names, or for failed protection of these names.
pub(crate) fn failed(message: String) -> Cause {
    let hint = "see the violations in the result; `airlock quarantine list` shows the moved files".to_owned();
    Cause::SandboxFailed { step: STEP.to_owned(), message, hint }
}

fn writer(id: ExecutionId, grant: &Grant, guarded: &Guarded) -> Writer {
    let protect = &grant.profile.protect;
    let writes = |access| matches!(access, PathAccess::Write | PathAccess::Create | PathAccess::Delete);
    let paths = grant.decided.paths.iter().filter(|path| writes(path.access));
    Writer {
        execution: id.to_string(),
        writes: !grant.read_only,
        outside: grant.unsandboxed,
        rules: Rules {
            action: match protect.action {
                ProtectAction::Report => Action::Report,
                ProtectAction::Quarantine => Action::Quarantine,
                ProtectAction::Fail => Action::Fail,
            },
            git_writes: protect.git_writes,
            git_config: protect.git_config,
            names: Names::and(protect.names.iter().map(String::as_str)),
        },
        git: GitUses::read(&grant.decided.git),
        paths: paths.filter_map(|path| guarded.below(&path.path)).collect(),
        directory: guarded.below(&grant.command.directory).unwrap_or_default(),
    }
}

fn failure(guarded: &Guarded, found: &[Found]) -> Option<Cause> {
    let first = found.iter().find(|found| found.outcome == Outcome::Failed)?;
    let path = first.path.as_ref().map(|path| format!("`{}`: ", guarded.inside(path).escape_ascii()));
    Some(failed(format!("{}{}", path.unwrap_or_default(), first.detail)))
}

fn shortened(mut told: Vec<Violation>) -> Vec<Violation> {
    let more = told.len().saturating_sub(VIOLATIONS);
    told.truncate(VIOLATIONS);
    if more > 0
        && let Some(last) = told.last_mut()
    {
        last.path = Vec::new();
        last.quarantine_id = String::new();
        last.detail = format!("and {} more; the quarantine lists all moved files", more + 1);
    }
    told
}

fn violation(guarded: &Guarded, found: &Found) -> Violation {
    Violation {
        layer: found.layer.to_owned(),
        kind: found.kind.to_owned(),
        path: found.path.as_deref().map(|path| guarded.inside(path)).unwrap_or_default(),
        action: match found.outcome {
            Outcome::Reported => ViolationAction::Reported,
            Outcome::Quarantined => ViolationAction::Quarantined,
            Outcome::Failed => ViolationAction::Failed,
        },
        detail: found.detail.clone(),
        quarantine_id: found.quarantine.clone().unwrap_or_default(),
    }
}
