//! An open session: its directories, its current directory and state, and the work on its files. A directory that a
//! command reported is checked against the files.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use airlock_domain::{DirectoryReport, SessionId, SessionPhase, SessionSnapshot, limits::DIRECTORY_BYTES};
use airlock_sandbox::{
    HostIds, LaunchError, Launcher, Profile, Resolved, Session, SessionDirectories, SessionDisk, SessionNet,
    WORKSPACE,
};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use tokio::sync::Semaphore;
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

use super::saved::{self, KeptSnapshot, Saved};
use crate::{files::Baseline, guard::SessionGuard};

/// The maximum number of listings and comparisons at once in one session.
const FILE_TURNS: usize = 2;

/// An open session.
#[derive(Debug)]
pub(crate) struct OpenSession {
    pub(crate) id: SessionId,
    /// The session's directory on the host. It holds the runner's records and the session's disk.
    pub(super) place: PathBuf,
    pub(super) disk: SessionDisk,
    directories: SessionDirectories,
    pub(super) ids: Option<HostIds>,
    directory: Mutex<Vec<u8>>,
    net: Mutex<Option<SessionNet>>,
    /// Cancelled when the session is taken out of use. All its file work then ends.
    closing: CancellationToken,
    /// The file work in progress.
    file_work: TaskTracker,
    file_turns: Semaphore,
    baseline: Baseline,
    pub(super) guard: SessionGuard,
    cached_rules: CachedRules,
    pub(super) snapshot: KeptSnapshot,
}

impl OpenSession {
    pub(super) fn new(
        id: SessionId,
        place: &Path,
        disk: SessionDisk,
        ids: Option<HostIds>,
        directory: Vec<u8>,
    ) -> Self {
        let directories = SessionDirectories::at(disk.root());
        Self {
            id,
            guard: SessionGuard::new(&directories, ids),
            directories,
            ids,
            directory: Mutex::new(directory),
            net: Mutex::new(None),
            closing: CancellationToken::new(),
            file_work: TaskTracker::new(),
            file_turns: Semaphore::new(FILE_TURNS),
            cached_rules: CachedRules::default(),
            snapshot: KeptSnapshot::default(),
            baseline: Baseline::new(place),
            place: place.to_owned(),
            disk,
        }
    }

    /// Returns the host path of the workspace.
    pub(crate) fn workspace(&self) -> &Path {
        &self.directories.workspace
    }

    /// Returns the host paths of the session's directories.
    pub(crate) fn directories(&self) -> &SessionDirectories {
        &self.directories
    }

    /// Returns the session's disk and the mechanism that limits it.
    pub(crate) fn disk(&self) -> &SessionDisk {
        &self.disk
    }

    /// Returns the owner of files that the runner creates in the workspace. `None` if the runner cannot change owners.
    pub(crate) fn owner(&self) -> Option<(u32, u32)> {
        self.ids.map(|ids| (ids.uid, ids.gid))
    }

    /// Returns the record of the workspace's initial contents.
    pub(crate) fn baseline(&self) -> &Baseline {
        &self.baseline
    }

    /// Returns the guard of its protected names.
    pub(crate) fn guard(&self) -> &SessionGuard {
        &self.guard
    }

    /// Returns the cached result of the path rules.
    pub(crate) fn cached_rules(&self) -> &CachedRules {
        &self.cached_rules
    }

    /// Returns its shell snapshot.
    pub(crate) fn snapshot(&self) -> SessionSnapshot {
        self.snapshot.now()
    }

    /// Sets the shell snapshot and saves it for the runner's next process. A snapshot that cannot be written is
    /// discarded. Blocks briefly.
    pub(crate) fn keep_snapshot(&self, snapshot: SessionSnapshot) {
        self.snapshot.keep(&self.place, snapshot);
        if let Err(error) = self.saved(&self.directory()).write(&self.place) {
            tracing::warn!(session = %self.id, %error, "cannot save the state of a session's snapshot");
        }
    }

    /// Returns the text of the shell snapshot if it still has this digest. Otherwise the session has no snapshot from
    /// now on. Blocks briefly.
    pub(crate) fn verified_snapshot(&self, digest: &[u8]) -> Option<Vec<u8>> {
        let text = saved::read_snapshot(&self.place).ok().flatten();
        let found = text.filter(|text| saved::digest_of(text) == digest);
        if found.is_none() && !self.snapshot().text.is_empty() {
            self.keep_snapshot(SessionSnapshot::missing(saved::CHANGED));
        }
        found
    }

    /// Registers file work, unless the session is closed. The work must end soon after [`Self::closing`] is cancelled.
    pub(crate) fn file_work(&self) -> Option<TaskTrackerToken> {
        // The token comes first: a close between the two steps then waits for it.
        let token = self.file_work.token();
        if self.closing.is_cancelled() { None } else { Some(token) }
    }

    /// Returns the permits for short file work in this session. They keep one session from starving others.
    pub(crate) fn file_turns(&self) -> &Semaphore {
        &self.file_turns
    }

    /// Returns the token that is cancelled when the session closes.
    pub(crate) fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// Ends all file work in the session, refuses further work, and waits for the work in progress.
    pub(crate) async fn end_file_work(&self) {
        self.closing.cancel();
        self.file_work.close();
        self.file_work.wait().await;
    }

    /// Returns its state for servers.
    pub(crate) fn phase(&self) -> SessionPhase {
        SessionPhase::Open { directory: self.directory(), snapshot: self.snapshot() }
    }

    /// Returns the current directory as a path inside the sandbox.
    pub(crate) fn directory(&self) -> Vec<u8> {
        self.directory.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reports whether a command can start in this directory. Blocks briefly.
    pub(crate) fn has_directory(&self, inside: &[u8]) -> bool {
        is_beneath(&self.directories.workspace, inside)
    }

    /// Stores the directory that a command reported as its last one. If it is not a valid directory, stores the
    /// workspace's root instead. Blocks briefly.
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
                tracing::warn!(session = %self.id, %error, "cannot save a session's working directory");
            }
        }
        report
    }

    /// Returns the session's parameters for one launch. The first command that needs the loopback creates it, which
    /// blocks for some milliseconds.
    ///
    /// # Errors
    /// If the loopback cannot be created.
    pub(crate) fn for_launch(&self, launcher: &Launcher, with_net: bool) -> Result<Session, LaunchError> {
        let mut net = self.net.lock().unwrap_or_else(PoisonError::into_inner);
        if with_net && net.is_none() {
            *net = Some(launcher.session_net(self.ids)?);
        }
        let net = if with_net { net.clone() } else { None };
        Ok(Session { directories: self.directories.clone(), ids: self.ids, net })
    }

    /// Returns the session's parameters for a launch in its loopback. `None` if no command has needed a loopback yet.
    pub(crate) fn with_network(&self) -> Option<Session> {
        let net = self.net.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        Some(Session { directories: self.directories.clone(), ids: self.ids, net: Some(net) })
    }

    /// Returns the record for the runner's next process.
    pub(super) fn saved(&self, directory: &[u8]) -> Saved {
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

/// Returns the path relative to the workspace of a path inside the sandbox. `None` if it is not the workspace or below.
fn below(inside: &[u8]) -> Option<&[u8]> {
    let rest = inside.strip_prefix(WORKSPACE.as_bytes())?;
    match rest {
        b"" | b"/" => Some(b"."),
        [b'/', rest @ ..] => Some(rest),
        _ => None,
    }
}

/// Reports whether `inside` names a directory beneath the workspace, through any links. `workspace` is its host path.
/// Blocks briefly.
fn is_beneath(workspace: &Path, inside: &[u8]) -> bool {
    let Some(path) = below(inside).filter(|_| inside.len() <= DIRECTORY_BYTES && !inside.contains(&0)) else {
        return false;
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(root) = openat(CWD, workspace, flags | OFlags::NOFOLLOW, Mode::empty()) else {
        return false;
    };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
    openat2(&root, path, flags, Mode::empty(), resolve).is_ok()
}

/// The cached result of the path rules of a session.
#[derive(Debug, Default)]
pub(crate) struct CachedRules(Mutex<Option<Entry>>);

#[derive(Debug)]
struct Entry {
    /// The state of the directories at that time.
    at: u64,
    /// The profile that contains the rules.
    profile: Profile,
    resolved: Resolved,
}

impl CachedRules {
    /// Returns the result for this state of the directories and this profile.
    pub(crate) fn find(&self, at: u64, profile: &Profile) -> Option<Resolved> {
        let entry = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entry.as_ref().filter(|entry| entry.at == at && entry.profile == *profile)?;
        Some(entry.resolved.clone())
    }

    /// Keeps a result. It replaces the previous one.
    pub(crate) fn keep(&self, at: u64, profile: &Profile, resolved: Resolved) {
        let entry = Entry { at, profile: profile.clone(), resolved };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(entry);
    }
}
