//! The state of the files that a command would run, as the session's runner reports it when an approval is
//! created.

use std::time::Duration;

use airlock_domain::{BoundFile, FileState};
use airlock_store::record::{SessionRecord, SessionState};

use super::Approvals;

/// How long an approval waits for the runner. After it, the approval is created without the state of the
/// files, and the runner is asked again before the start.
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
