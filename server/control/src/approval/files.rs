//! The state of the files that a command would run, and the changes of a file edit, as the session's runner reports them
//! when an approval is created. Also the question that follows when a runner finds that they differ.

use std::time::Duration;

use airlock_domain::{BoundFile, Cause, FileState, Grant};
use airlock_lifecycle::{Question, Redecision};
use airlock_store::{
    StoreError,
    record::{ExecutionRecord, SessionRecord, SessionState},
};

use super::Approvals;
use crate::{
    api::ApiError,
    decision::{self, Looked},
    shared::micros,
};

/// The maximum time that an approval waits for the runner. After this time, the approval is created without the state
/// of the files, and the runner is asked again before the start.
const LOOK_WAIT: Duration = Duration::from_secs(10);

/// The maximum time that a new question after a refusal waits for a preview. The runner's link is not read meanwhile.
const AGAIN_WAIT: Duration = Duration::from_secs(3);

impl Approvals {
    /// Returns the current state of the files of a grant and, for a file edit, its changes.
    pub(crate) async fn look_at(&self, session: &SessionRecord, grant: &Grant) -> Looked {
        if grant.decided.edit.is_some() {
            return self.preview(session, grant, LOOK_WAIT).await;
        }
        Looked { files: self.states(session, &grant.decided.files).await, preview: None }
    }

    /// Returns the changes of a file edit, or the reason why they are not known.
    async fn preview(&self, session: &SessionRecord, grant: &Grant, wait: Duration) -> Looked {
        let missing = |note: String| Looked { files: Vec::new(), preview: Some(Err(note)) };
        if session.state != SessionState::Open {
            return missing("the session is not open yet".to_owned());
        }
        let preview = self.files.preview(&session.tenant, &session.runner_id, grant.clone());
        let found = tokio::select! {
            found = tokio::time::timeout(wait, preview) => found,
            () = self.lifecycle.stopped() => return missing("the server is stopping".to_owned()),
        };
        match found {
            Ok(Ok(preview)) => Looked { files: decision::edit::states(&preview), preview: Some(Ok(preview)) },
            Ok(Err(error)) => {
                tracing::debug!(session_id = %session.id, %error, "cannot preview a file edit");
                missing(note(&error))
            }
            Err(_) => missing(format!("the runner did not answer within {} s", wait.as_secs())),
        }
    }

    /// Returns the current state of these files.
    async fn states(&self, session: &SessionRecord, files: &[BoundFile]) -> Vec<BoundFile> {
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

/// The maximum length of a note in bytes.
const NOTE_BYTES: usize = 512;

/// Returns the note for an approver. It is one line.
fn note(error: &ApiError) -> String {
    let mut note: String = error.to_string().chars().filter(|letter| !letter.is_control()).collect();
    note.truncate(note.floor_char_boundary(NOTE_BYTES));
    note
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
        let looked = match question.grant.decided.edit {
            Some(_) => self.preview(&session, &question.grant, AGAIN_WAIT).await,
            None => Looked { files: as_found(&question.grant.decided.files, files), preview: None },
        };
        asked.decision = question.record;
        let approval = self.new_approval(&asked, decision::asked(&question.grant, looked));
        Ok(Some(Question {
            decision: Redecision { record: asked.decision, directory: asked.spec.command.directory },
            approval,
            valid_micros: micros(self.valid_for(&session)),
        }))
    }
}
