//! One command under watch, from before its start to after its end.

use std::sync::Arc;

use airlock_proto::{
    domain::{Cause, ExecutionId, Grant, PathAccess, ProtectAction, Violation, ViolationAction},
    limits::VIOLATIONS,
};
use airlock_sandbox::{
    Mask,
    protect::{Action, Found, Names, Outcome, Rules, Writer},
};

use super::{GuardError, below, inside};
use crate::session::OpenSession;

/// The step that failed, of a command whose protected names could not be watched or are its failure.
const STEP: &str = "protected_names";

/// See the module. Dropped without [`Watch::finish`], what the command did is found at the next one's end.
#[derive(Debug)]
pub(crate) struct Watch {
    session: Arc<OpenSession>,
    /// None where there is nothing to watch.
    id: Option<u64>,
    directory: Vec<u8>,
    masks: Vec<Mask>,
}

impl Watch {
    /// Before the start. Blocks for as long as it takes to look through the workspace, the first time.
    ///
    /// # Errors
    /// If that fails: then the command must not start.
    pub(crate) fn begin(
        session: &Arc<OpenSession>,
        id: ExecutionId,
        grant: &Grant,
    ) -> Result<Self, GuardError> {
        let writer = writer(id, grant);
        let mut watch = Self {
            session: Arc::clone(session),
            id: None,
            directory: writer.directory.clone(),
            masks: Vec::new(),
        };
        if writer.writes || !writer.git.is_empty() {
            let begun = session.guard().with(|guard, workspace| guard.begin(workspace, writer))?;
            (watch.id, watch.masks) = (Some(begun.id), begun.masks);
        }
        Ok(watch)
    }

    /// What the command has read-only.
    pub(crate) fn masks(&mut self) -> Vec<Mask> {
        std::mem::take(&mut self.masks)
    }

    /// After its end, or when it could not be started: what was found, and the cause that this makes of
    /// its end. Blocks for as long as it takes to look through the workspace.
    pub(crate) fn finish(mut self) -> (Vec<Violation>, Option<Cause>) {
        let Some(id) = self.id else { return (Vec::new(), None) };
        let now = below(&self.session.directory()).unwrap_or_default();
        let directories = [self.directory.as_slice(), now.as_slice()];
        let found = self.session.guard().with(|guard, workspace| Ok(guard.end(workspace, id, &directories)));
        match found {
            Ok(found) => {
                self.id = None;
                (violations(&found), failure(&found))
            }
            Err(error) => (Vec::new(), Some(failed(error.to_string()))),
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        let abandoned = self.session.guard().with(|guard, _| {
            guard.abandon(id);
            Ok(())
        });
        if let Err(error) = abandoned {
            tracing::error!(session = %self.session.id, %error, "a command's protected names are not watched");
        }
    }
}

/// The end of a command whose protected names could not be watched, or are its failure.
pub(crate) fn failed(message: String) -> Cause {
    let hint = "the result's violations say more; `airlock quarantine list` shows what was moved".to_owned();
    Cause::SandboxFailed { step: STEP.to_owned(), message, hint }
}

fn writer(id: ExecutionId, grant: &Grant) -> Writer {
    let protect = &grant.profile.protect;
    let writes = |access| matches!(access, PathAccess::Write | PathAccess::Create | PathAccess::Delete);
    let paths = grant.decided.paths.iter().filter(|path| writes(path.access));
    Writer {
        execution: id.to_string(),
        writes: !grant.read_only,
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
        git: grant.decided.git.clone(),
        paths: paths.filter_map(|path| below(&path.path)).collect(),
        directory: below(&grant.directory).unwrap_or_default(),
    }
}

fn failure(found: &[Found]) -> Option<Cause> {
    let first = found.iter().find(|found| found.outcome == Outcome::Failed)?;
    let path = first.path.as_ref().map(|path| format!("`{}`: ", inside(path).escape_ascii()));
    Some(failed(format!("{}{}", path.unwrap_or_default(), first.detail)))
}

fn violations(found: &[Found]) -> Vec<Violation> {
    let mut told: Vec<Violation> = found.iter().take(VIOLATIONS).map(violation).collect();
    if let Some(more) = found.len().checked_sub(VIOLATIONS).filter(|more| *more > 0)
        && let Some(last) = told.last_mut()
    {
        last.path = Vec::new();
        last.quarantine_id = String::new();
        last.detail = format!("and {} more; the quarantine lists all that was moved", more + 1);
    }
    told
}

fn violation(found: &Found) -> Violation {
    Violation {
        layer: found.layer.to_owned(),
        kind: found.kind.to_owned(),
        path: found.path.as_deref().map(inside).unwrap_or_default(),
        action: match found.outcome {
            Outcome::Reported => ViolationAction::Reported,
            Outcome::Quarantined => ViolationAction::Quarantined,
            Outcome::Failed => ViolationAction::Failed,
        },
        detail: found.detail.clone(),
        quarantine_id: found.quarantine.clone().unwrap_or_default(),
    }
}
