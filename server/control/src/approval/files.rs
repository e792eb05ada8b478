//! The state of the files that a command would run, as the session's runner reports it when an approval is created, and
//! the question that follows when a runner finds that they differ.

use std::time::Duration;

use airlock_domain::{BoundFile, Cause, FileState};
use airlock_lifecycle::{Question, Redecision};
use airlock_store::{
    StoreError,
    record::{ExecutionRecord, SessionRecord, SessionState},
};

use super::Approvals;
use crate::{decision, shared::micros};

/// The maximum time that an approval waits for the runner. After this time, the approval is created without the state
/// of the files, and the runner is asked again before the start.
const LOOK_WAIT: Duration = Duration::from_secs(10);

impl Approvals {
    /// Returns the current state of these files.
    pub(crate) async fn look_at(&self, session: &SessionRecord, files: &[BoundFile]) -> Vec<BoundFile> {
        if files.is_empty() {
            return Vec::new();
        }
        if session.throwaway && session.state == SessionState::Opening {
            return as_made(session, files);
        }
        let paths = files.iter().map(|file| file.path.clone()).collect();
        let look = self.files.look(&session.tenant, &session.runner_id, session.id, paths);
        let found = tokio::select! {
            found = tokio::time::timeout(LOOK_WAIT, look) => found.ok(),
            () = self.lifecycle.stopped() => None,
        };
        match found {
            Some(Ok(found)) if is_about(&found, files) => found,
            Some(Err(error)) => {
                tracing::debug!(session_id = %session.id, %error, "cannot inspect the files that an approval is bound to");
                unseen(files)
            }
            Some(Ok(_)) | None => unseen(files),
        }
    }
}

/// Returns the states in a session that no runner has created yet. Files are absent, or unknown if the
/// session has a base.
fn as_made(session: &SessionRecord, files: &[BoundFile]) -> Vec<BoundFile> {
    all(files, if session.base.is_empty() { FileState::Absent } else { FileState::Unknown })
}

/// Returns the states that a runner reported with its refusal, if they are for these files.
pub(super) fn as_found(files: &[BoundFile], found: &[BoundFile]) -> Vec<BoundFile> {
    if is_about(found, files) { found.to_vec() } else { unseen(files) }
}

fn is_about(found: &[BoundFile], files: &[BoundFile]) -> bool {
    found.iter().map(|file| &file.path).eq(files.iter().map(|file| &file.path))
}

fn unseen(files: &[BoundFile]) -> Vec<BoundFile> {
    all(files, FileState::Unknown)
}

fn all(files: &[BoundFile], state: FileState) -> Vec<BoundFile> {
    files.iter().map(|file| BoundFile { path: file.path.clone(), state }).collect()
}

impl Approvals {
    /// Returns the question to a person after the runner found that programs or paths differ from the
    /// decision. Returns `None` if the request does not wait for an answer or a person cannot lift the
    /// refusal.
    pub(crate) async fn question_of_refusal(
        &self,
        record: &ExecutionRecord,
        refusal: &Cause,
    ) -> Result<Option<Question>, StoreError> {
        let Cause::Refused { reason, message, files } = refusal else { return Ok(None) };
        let known = [decision::UNTRUSTED_PATH, decision::FILES_CHANGED, decision::NAMES_A_PROGRAM];
        let Some(code) = known.into_iter().find(|code| code == reason) else { return Ok(None) };
        let session = self.store.session(record.session_id).await?;
        let Some(session) = session.filter(|_| record.spec.wait_for_approval) else { return Ok(None) };
        let Some(profile) = self.profiles.get(&session.profile) else { return Ok(None) };
        let profile = self.decisions.with_remembered(profile, &session.tenant, session.id).await?;
        let encode = self.decisions.encode;
        let decided = self
            .decisions
            .decide_stored(profile.clone(), &session, record, &record.spec.command.directory)
            .await?;
        let decided = self.desk.recall(&profile, decided, &record.decision.hooks);
        let Some(question) = decided.question(code, message, profile.name(), encode) else { return Ok(None) };
        let mut asked = record.clone();
        let files = as_found(&question.grant.decided.files, files);
        asked.decision = question.record;
        let approval = self.new_approval(&asked, decision::asked(&question.grant, files));
        Ok(Some(Question {
            decision: Redecision { record: asked.decision, directory: asked.spec.command.directory },
            approval,
            valid_micros: micros(self.valid_for(&session)),
        }))
    }
}
