//! The making of a session's folders, and their removal.

use std::{
    fs::{self, DirBuilder},
    io,
    os::{
        fd::AsFd,
        unix::fs::{DirBuilderExt, MetadataExt},
    },
    path::{Path, PathBuf},
};

use airlock_mounts::{RemoveError, remove_tree};
use airlock_proto::domain::SessionId;
use airlock_sandbox::{DiskConfig, DiskError, Disks, FolderError, Folders, HostIds, SessionDisk, WORKSPACE};
use rustix::fs::{CWD, Mode, OFlags, openat};
use tokio_util::sync::CancellationToken;

use super::{
    OpenSession,
    copy::{CopyError, CopyLimits, copy_tree},
    saved::Saved,
};

/// Why a session was not made, or not removed.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The base folder cannot be opened.
    #[error("the base folder cannot be opened: {0}")]
    Base(io::Error),
    /// The base folder could not be copied.
    #[error("the base folder cannot be copied: {0}")]
    Copy(String),
    /// Somebody closed it meanwhile.
    #[error("the session was closed while it was made")]
    Cancelled,
    /// A session of an earlier process of this runner cannot be opened again as it was.
    #[error(
        "the session in `{root}` {problem}; set that right, or move the folder away to give the session up",
        root = root.display()
    )]
    Saved {
        /// Its folder.
        root: PathBuf,
        /// What does not fit.
        problem: String,
    },
    /// A folder could not be made or given to the session's user.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// Its disk could not be made, found or taken away.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The runner's own folder or file said no.
    #[error("cannot {action}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// The system's answer.
        source: io::Error,
    },
}

impl SessionError {
    /// The stable name for the server.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::Base(_) => "no_such_base",
            Self::Copy(_) => "base",
            Self::Cancelled => "closed",
            Self::Saved { .. } | Self::Folder(_) | Self::Disk(_) | Self::Io { .. } => "disk",
        }
    }
}

fn io_error(action: &'static str) -> impl FnOnce(io::Error) -> SessionError {
    move |source| SessionError::Io { action, source }
}

fn not_removed(action: &'static str) -> impl FnOnce(RemoveError) -> SessionError {
    move |error| io_error(action)(error.into())
}

/// The folders in which sessions live and die.
#[derive(Debug, Clone)]
pub(super) struct Places {
    pub(super) sessions: PathBuf,
    trash: PathBuf,
    pub(super) disks: Disks,
}

impl Places {
    /// Makes them if they are not there, and finds out how sessions can be held to `disk`. `spare` is a uid
    /// that sessions may have.
    pub(super) fn make(state_dir: &Path, disk: DiskConfig, spare: Option<u32>) -> Result<Self, SessionError> {
        let (sessions, trash) = (state_dir.join("sessions"), state_dir.join("trash"));
        for folder in [&sessions, &trash] {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)
                .map_err(io_error("make the sessions' folder"))?;
        }
        let disks = Disks::open(disk, &sessions, spare)?;
        Ok(Self { sessions, trash, disks })
    }

    /// Makes a session, with a copy of `base` if there is one. Blocks for as long as the copy takes. On
    /// an error nothing of it is left, as far as that can be done.
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
            tracing::warn!(session = %id, %error, "what was made of a session stays until the next start");
        }
        made
    }

    fn disk(&self, place: &Path, ids: Option<HostIds>) -> Result<SessionDisk, SessionError> {
        let disk = self.disks.make(place, ids.map(|ids| ids.uid))?;
        Folders::fill(disk.root(), ids)?;
        Ok(disk)
    }

    /// Removes a session's folder: first its disk, which nobody may have open any more; then it is gone at
    /// once by name, and then for good. Blocks.
    pub(super) fn remove(&self, place: &Path, uid: Option<u32>) -> Result<(), SessionError> {
        let Some(name) = place.file_name() else { return Ok(()) };
        self.disks.release(place, uid)?;
        let dead = self.trash.join(name);
        match fs::rename(place, &dead) {
            // The folder of sessions is a mount, and the trash is beside it: what has no such file is none.
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                Saved::remove(place).map_err(io_error("give a session up"))?;
                return remove_tree(place).map_err(not_removed("delete a session"));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(io_error("move a session to the trash")(error));
            }
            _ => {}
        }
        remove_tree(dead).map_err(not_removed("delete a session"))
    }

    /// As [`Places::remove`], of a folder of which nothing is known but what it holds.
    pub(super) fn remove_stale(&self, place: &Path) -> Result<(), SessionError> {
        // Not through its disk, which may not be mounted.
        let uid = fs::symlink_metadata(Folders::at(&place.join("disk")).workspace).map(|found| found.uid());
        self.remove(place, uid.ok().filter(|uid| *uid != 0))
    }

    /// Deletes what earlier processes did not come to delete. Blocks.
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
    // The runner may have rights to pass over limits, and a session that begins full is of no use.
    if let Ok(Some(full)) = session.disk.full() {
        return Err(SessionError::Copy(format!(
            "it does not fit into what a session may take of the disk ({full}); raise `workspace.bytes` and \
             `workspace.inodes`, or offer a smaller folder"
        )));
    }
    copied.map_err(|error| match error {
        CopyError::Cancelled => SessionError::Cancelled,
        other => SessionError::Copy(other.to_string()),
    })?;
    baseline.add(records).map_err(io_error("record a workspace"))
}
