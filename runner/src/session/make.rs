//! Creation and removal of a session's directories.

use std::{
    fs::{self, DirBuilder},
    io,
    os::{
        fd::AsFd,
        unix::fs::{DirBuilderExt, MetadataExt},
    },
    path::{Path, PathBuf},
};

use airlock_domain::SessionId;
use airlock_mounts::{RemoveError, remove_tree};
use airlock_sandbox::{
    DirectoryError, DiskConfig, DiskError, Disks, HostIds, SessionDirectories, SessionDisk, WORKSPACE,
};
use rustix::fs::{CWD, Mode, OFlags, openat};
use tokio_util::sync::CancellationToken;

use super::{
    copy::{CopyError, CopyLimits, copy_tree},
    open::OpenSession,
    saved::Saved,
};

/// The reason why a session was not created or removed.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The base directory cannot be opened.
    #[error("the base directory cannot be opened: {0}")]
    Base(io::Error),
    /// The base directory could not be copied.
    #[error("the base directory cannot be copied: {0}")]
    Copy(String),
    /// The session was closed while it was created.
    #[error("the session was closed while it was created")]
    Cancelled,
    /// A session of an earlier process of this runner cannot be opened again.
    #[error(
        "the session in `{root}` {problem}; correct this, or move the directory away to discard the session",
        root = root.display()
    )]
    Saved {
        /// Its directory.
        root: PathBuf,
        /// The problem.
        problem: String,
    },
    /// A directory could not be created or given to the session's user.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The session's disk could not be created, found or removed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// An operation on the runner's own directory or file failed.
    #[error("cannot {action}: {source}")]
    Io {
        /// The step that failed.
        action: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl SessionError {
    /// Returns the stable reason for the server.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::Base(_) => "no_such_base",
            Self::Copy(_) => "base",
            Self::Cancelled => "closed",
            Self::Saved { .. } | Self::Directory(_) | Self::Disk(_) | Self::Io { .. } => "disk",
        }
    }
}

fn io_error(action: &'static str) -> impl FnOnce(io::Error) -> SessionError {
    move |source| SessionError::Io { action, source }
}

fn not_removed(action: &'static str) -> impl FnOnce(RemoveError) -> SessionError {
    move |error| io_error(action)(error.into())
}

/// The directories of sessions and of deleted sessions.
#[derive(Debug, Clone)]
pub(super) struct StateDirectories {
    pub(super) sessions: PathBuf,
    trash: PathBuf,
    pub(super) disks: Disks,
}

impl StateDirectories {
    /// Creates the directories if necessary, and determines how the limits of `disk` can be enforced. `spare` is a
    /// uid of the sessions' range.
    pub(super) fn make(state_dir: &Path, disk: DiskConfig, spare: Option<u32>) -> Result<Self, SessionError> {
        let (sessions, trash) = (state_dir.join("sessions"), state_dir.join("trash"));
        for directory in [&sessions, &trash] {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(directory)
                .map_err(io_error("create the sessions' directory"))?;
        }
        let disks = Disks::open(disk, &sessions, spare)?;
        Ok(Self { sessions, trash, disks })
    }

    /// Creates a session, with a copy of `base` if there is one. Blocks for the duration of the copy. After an error,
    /// the session is removed as far as possible.
    pub(super) fn create(
        &self,
        id: SessionId,
        ids: Option<HostIds>,
        base: Option<&Path>,
        limits: CopyLimits,
        cancelled: &CancellationToken,
    ) -> Result<OpenSession, SessionError> {
        let place = self.disks.new_place()?;
        let uid = ids.map(|ids| ids.uid);
        let made = self.disk(&place, ids).and_then(|disk| {
            let session = OpenSession::new(id, &place, disk, ids, WORKSPACE.as_bytes().to_vec());
            fill(&session, base, limits, cancelled)?;
            let saved = session.saved(WORKSPACE.as_bytes());
            saved.write(&place).map_err(io_error("save a session"))?;
            Ok(session)
        });
        if made.is_err()
            && let Err(error) = self.remove(&place, uid)
        {
            tracing::warn!(session = %id, %error, "cannot remove a partly created session; the next start \
                                                   removes it");
        }
        made
    }

    fn disk(&self, place: &Path, ids: Option<HostIds>) -> Result<SessionDisk, SessionError> {
        let disk = self.disks.make(place, ids.map(|ids| ids.uid))?;
        SessionDirectories::fill(disk.root(), ids)?;
        Ok(disk)
    }

    /// Removes a session's directory. First releases its disk, which no process may still use. Then renames the
    /// directory into the trash, and deletes it there. Blocks.
    pub(super) fn remove(&self, place: &Path, uid: Option<u32>) -> Result<(), SessionError> {
        let Some(name) = place.file_name() else { return Ok(()) };
        self.disks.release(place, uid)?;
        let dead = self.trash.join(name);
        match fs::rename(place, &dead) {
            // The sessions directory can be a mount point, and a rename cannot cross it. Without the session's file,
            // the directory no longer counts as a session.
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                Saved::remove(place).map_err(io_error("discard a session"))?;
                return remove_tree(place).map_err(not_removed("delete a session"));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(io_error("move a session to the trash")(error));
            }
            _ => {}
        }
        remove_tree(dead).map_err(not_removed("delete a session"))
    }

    /// Removes a directory about which only its contents are known. See [`StateDirectories::remove`].
    pub(super) fn remove_stale(&self, place: &Path) -> Result<(), SessionError> {
        // Not the disk's mount, which may be missing.
        let uid = fs::symlink_metadata(SessionDirectories::at(&place.join("disk")).workspace)
            .map(|found| found.uid());
        self.remove(place, uid.ok().filter(|uid| *uid != 0))
    }

    /// Deletes files that earlier processes left in the trash. Blocks.
    pub(super) fn empty_trash(&self) -> Result<(), SessionError> {
        for entry in fs::read_dir(&self.trash).map_err(io_error("read the trash"))? {
            let entry = entry.map_err(io_error("read the trash"))?;
            remove_tree(entry.path()).map_err(not_removed("empty the trash"))?;
        }
        Ok(())
    }
}

fn fill(
    session: &OpenSession,
    base: Option<&Path>,
    limits: CopyLimits,
    cancelled: &CancellationToken,
) -> Result<(), SessionError> {
    let Some(base) = base else { return Ok(()) };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let source = openat(CWD, base, flags, Mode::empty()).map_err(|errno| SessionError::Base(errno.into()))?;
    let target = openat(CWD, session.workspace(), flags | OFlags::NOFOLLOW, Mode::empty())
        .map_err(|errno| io_error("open a workspace")(errno.into()))?;
    let baseline = session.baseline();
    let mut records = baseline.recorder(limits.baseline).map_err(io_error("record a workspace"))?;
    let owner = session.owner();
    let copied = copy_tree(source.as_fd(), target, owner, limits, &mut records, cancelled);
    // The runner may have the right to exceed limits. A session that is full at the start is useless.
    if let Ok(Some(full)) = session.disk.full() {
        return Err(SessionError::Copy(format!(
            "it does not fit into a session's disk limit ({full}); raise `workspace.bytes` and \
             `workspace.inodes`, or use a smaller directory"
        )));
    }
    copied.map_err(|error| match error {
        CopyError::Cancelled => SessionError::Cancelled,
        other => SessionError::Copy(other.to_string()),
    })?;
    baseline.add(records).map_err(io_error("record a workspace"))
}
