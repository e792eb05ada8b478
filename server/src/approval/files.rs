//! What the files hold that a command would run, as its session's runner sees them when a person is asked.

use std::time::Duration;

use airlock_proto::domain::{BoundFile, FileState, RunnerId, SessionId};

use crate::{
    api::ApiError,
    engine::Core,
    model::{SessionRecord, SessionState},
};

/// How long a question waits for its runner. Then it is asked all the same, and asked again before the start.
const LOOK_WAIT: Duration = Duration::from_secs(10);

/// Looks at files in sessions; the exchanges implement it.
#[async_trait::async_trait]
pub trait FileLook: Send + Sync {
    /// What is at these paths, in their order. Dropped, it ends.
    ///
    /// # Errors
    /// `Unavailable`, `Exhausted`, and what the runner refuses.
    async fn look(
        &self,
        tenant: &str,
        runner: &RunnerId,
        session_id: SessionId,
        paths: Vec<Vec<u8>>,
    ) -> Result<Vec<BoundFile>, ApiError>;
}

impl Core {
    /// These files as they are now.
    pub(crate) async fn look_at(&self, session: &SessionRecord, files: &[BoundFile]) -> Vec<BoundFile> {
        if files.is_empty() {
            return Vec::new();
        }
        if session.throwaway && session.state == SessionState::Opening {
            return as_made(session, files);
        }
        let paths = files.iter().map(|file| file.path.clone()).collect();
        let look = self.parts.files.look(&session.tenant, &session.runner_id, session.id, paths);
        let found = tokio::select! {
            found = tokio::time::timeout(LOOK_WAIT, look) => found.ok(),
            () = self.stop.cancelled() => None,
        };
        match found {
            Some(Ok(found)) if is_about(&found, files) => found,
            Some(Err(error)) => {
                tracing::debug!(session_id = %session.id, %error, "the files of a question could not be looked at");
                unseen(files)
            }
            Some(Ok(_)) | None => unseen(files),
        }
    }
}

/// In a session that no runner has made yet: nothing is there, or what its base will bring, which nobody knows.
fn as_made(session: &SessionRecord, files: &[BoundFile]) -> Vec<BoundFile> {
    all(files, if session.base.is_empty() { FileState::Absent } else { FileState::Unknown })
}

/// What a runner said of these files with its refusal, where it did.
pub(crate) fn as_found(files: &[BoundFile], found: &[BoundFile]) -> Vec<BoundFile> {
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
