//! Sessions: a workspace, HOME and /tmp of their own, a host uid of their own, a current directory that
//! persists, a loopback. They outlive the runner's process; only `close` removes them.
//!
//! What is in the folders was shaped by hostile commands: it is touched through directory handles only.

mod copy;
mod directory;
mod make;
mod saved;
mod snapshot;
mod strays;
mod table;

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use airlock_proto::domain::{DirectoryReport, SessionId, SessionSnapshot};
use airlock_sandbox::{Folders, HostIds, LaunchError, Launcher, Session, SessionDisk, SessionNet, WORKSPACE};

use tokio::sync::Semaphore;
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

use crate::{files::Baseline, guard::SessionGuard, job::KeptRules};
use saved::Saved;
use snapshot::KeptSnapshot;

pub(crate) use copy::CopyLimits;
pub use make::SessionError;
pub(crate) use table::{Closing, Opening, Reserved, Sessions};

/// Listings and comparisons in one session at once.
const FILE_TURNS: usize = 2;

/// An open session.
#[derive(Debug)]
pub(crate) struct OpenSession {
    pub(crate) id: SessionId,
    /// Its folder on the host: what the runner keeps of it, and its disk.
    place: PathBuf,
    disk: SessionDisk,
    folders: Folders,
    ids: Option<HostIds>,
    directory: Mutex<Vec<u8>>,
    net: Mutex<Option<SessionNet>>,
    /// Cancelled when the session is taken out of use: file work in it ends.
    closing: CancellationToken,
    /// File work that is not over yet.
    file_work: TaskTracker,
    file_turns: Semaphore,
    baseline: Baseline,
    guard: SessionGuard,
    kept_rules: KeptRules,
    snapshot: KeptSnapshot,
}

impl OpenSession {
    fn new(id: SessionId, place: &Path, disk: SessionDisk, ids: Option<HostIds>, directory: Vec<u8>) -> Self {
        let folders = Folders::at(disk.root());
        Self {
            id,
            guard: SessionGuard::new(&folders, ids),
            folders,
            ids,
            directory: Mutex::new(directory),
            net: Mutex::new(None),
            closing: CancellationToken::new(),
            file_work: TaskTracker::new(),
            file_turns: Semaphore::new(FILE_TURNS),
            kept_rules: KeptRules::default(),
            snapshot: KeptSnapshot::default(),
            baseline: Baseline::new(place),
            place: place.to_owned(),
            disk,
        }
    }

    /// Where the workspace is on the host.
    pub(crate) fn workspace(&self) -> &Path {
        &self.folders.workspace
    }

    /// Where its folders are on the host.
    pub(crate) fn folders(&self) -> &Folders {
        &self.folders
    }

    /// What it takes of the disk, and who holds it to its limits.
    pub(crate) fn disk(&self) -> &SessionDisk {
        &self.disk
    }

    /// Who owns what is put into the workspace; none where the runner cannot change owners.
    pub(crate) fn owner(&self) -> Option<(u32, u32)> {
        self.ids.map(|ids| (ids.uid, ids.gid))
    }

    /// What the workspace was made of.
    pub(crate) fn baseline(&self) -> &Baseline {
        &self.baseline
    }

    /// Its protected names.
    pub(crate) fn guard(&self) -> &SessionGuard {
        &self.guard
    }

    /// What path rules came to.
    pub(crate) fn kept_rules(&self) -> &KeptRules {
        &self.kept_rules
    }

    /// Its shell snapshot.
    pub(crate) fn snapshot(&self) -> SessionSnapshot {
        self.snapshot.now()
    }

    /// Makes this its shell snapshot, for the runner's next process too. One that cannot be written is not kept.
    /// Blocks for a moment.
    pub(crate) fn keep_snapshot(&self, snapshot: SessionSnapshot) {
        self.snapshot.keep(&self.place, snapshot);
        if let Err(error) = self.saved(&self.directory()).write(&self.place) {
            tracing::warn!(session = %self.id, %error, "what became of a session's snapshot was not saved");
        }
    }

    /// The text of its shell snapshot, if that is still the one with this digest. If not, the session has none
    /// from now on. Blocks for a moment.
    pub(crate) fn verified_snapshot(&self, digest: &[u8]) -> Option<Vec<u8>> {
        let text = snapshot::read(&self.place).ok().flatten();
        let found = text.filter(|text| snapshot::digest_of(text) == digest);
        if found.is_none() && !self.snapshot().text.is_empty() {
            self.keep_snapshot(SessionSnapshot::missing(snapshot::CHANGED));
        }
        found
    }

    /// Registers file work, unless the session is closed. The work ends soon after [`Self::closing`] is
    /// cancelled.
    pub(crate) fn file_work(&self) -> Option<TaskTrackerToken> {
        // In this order: a close that comes between them waits for the token.
        let token = self.file_work.token();
        if self.closing.is_cancelled() { None } else { Some(token) }
    }

    /// Of short file work in it at once, so that other sessions come to theirs.
    pub(crate) fn file_turns(&self) -> &Semaphore {
        &self.file_turns
    }

    /// Cancelled when the session is closed.
    pub(crate) fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// Ends all file work in it, now and in future, and waits for what is under way.
    pub(crate) async fn end_file_work(&self) {
        self.closing.cancel();
        self.file_work.close();
        self.file_work.wait().await;
    }

    /// The current directory, inside the sandbox.
    pub(crate) fn directory(&self) -> Vec<u8> {
        self.directory.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether a command can start there. Blocks for a moment.
    pub(crate) fn has_directory(&self, inside: &[u8]) -> bool {
        directory::is_beneath(&self.folders.workspace, inside)
    }

    /// Makes what a command said to be its last directory the session's, if it is one; else the
    /// workspace's root. Blocks for a moment.
    pub(crate) fn keep_directory(&self, claimed: &[u8]) -> DirectoryReport {
        let (directory, report) = if self.has_directory(claimed) {
            (claimed, DirectoryReport::Reported)
        } else {
            (WORKSPACE.as_bytes(), DirectoryReport::SnappedBack)
        };
        let mut current = self.directory.lock().unwrap_or_else(PoisonError::into_inner);
        if *current != directory {
            directory.clone_into(&mut current);
            if let Err(error) = self.saved(&current).write(&self.place) {
                tracing::warn!(session = %self.id, %error, "a session's directory was not saved");
            }
        }
        report
    }

    /// The session for one launch. The loopback is made with the first command that wants it. Blocks
    /// for some milliseconds then.
    ///
    /// # Errors
    /// If the loopback cannot be made.
    pub(crate) fn for_launch(&self, launcher: &Launcher, with_net: bool) -> Result<Session, LaunchError> {
        let mut net = self.net.lock().unwrap_or_else(PoisonError::into_inner);
        if with_net && net.is_none() {
            *net = Some(launcher.session_net(self.ids)?);
        }
        let net = if with_net { net.clone() } else { None };
        Ok(Session { folders: self.folders.clone(), ids: self.ids, net })
    }

    fn saved(&self, directory: &[u8]) -> Saved {
        Saved {
            id: self.id.to_string(),
            uid: self.ids.map(|ids| ids.uid),
            disk: self.disk.backend().as_str().to_owned(),
            directory: hex::encode(directory),
            snapshot_digest: hex::encode(self.snapshot().digest()),
            snapshot_problem: self.snapshot().problem,
        }
    }
}

#[cfg(test)]
mod tests;
