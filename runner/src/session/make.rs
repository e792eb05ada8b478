//! The making of a session's folders, and their removal.

use std::{
    fs::{self, DirBuilder},
    io,
    os::{fd::AsFd, unix::fs::DirBuilderExt},
    path::{Path, PathBuf},
};

use airlock_proto::domain::SessionId;
use airlock_sandbox::{FolderError, Folders, HostIds, WORKSPACE};
use rustix::fs::{CWD, Mode, OFlags, openat};
use tokio_util::sync::CancellationToken;

use super::{
    OpenSession,
    copy::{CopyError, CopyLimits, copy_tree},
    remove::remove_tree,
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
            Self::Saved { .. } | Self::Folder(_) | Self::Io { .. } => "disk",
        }
    }
}

fn io_error(action: &'static str) -> impl FnOnce(io::Error) -> SessionError {
    move |source| SessionError::Io { action, source }
}

/// The folders in which sessions live and die.
#[derive(Debug, Clone)]
pub(super) struct Places {
    pub(super) sessions: PathBuf,
    trash: PathBuf,
}

impl Places {
    pub(super) fn make(state_dir: &Path) -> Result<Self, SessionError> {
        let places = Self { sessions: state_dir.join("sessions"), trash: state_dir.join("trash") };
        for folder in [&places.sessions, &places.trash] {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)
                .map_err(io_error("make the sessions' folder"))?;
        }
        Ok(places)
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
        let folders = Folders::create(&self.sessions, ids)?;
        let root = folders.root;
        let session = OpenSession::new(id, &root, ids, WORKSPACE.as_bytes().to_vec());
        let made = fill(&session, base, limits, cancelled).and_then(|()| {
            let saved = session.saved(WORKSPACE.as_bytes());
            saved.write(&root).map_err(io_error("save a session"))?;
            Ok(session)
        });
        if made.is_err()
            && let Err(error) = self.remove(&root)
        {
            tracing::warn!(session = %id, %error, "what was made of a session stays until the next start");
        }
        made
    }

    /// Removes a session's root folder: gone at once by name, and then for good. Blocks.
    pub(super) fn remove(&self, root: &Path) -> Result<(), SessionError> {
        let Some(name) = root.file_name() else { return Ok(()) };
        let dead = self.trash.join(name);
        match fs::rename(root, &dead) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(io_error("move a session to the trash")(error));
            }
            _ => {}
        }
        remove_tree(CWD, dead).map_err(io_error("delete a session"))
    }

    /// Deletes what earlier processes did not come to delete. Blocks.
    pub(super) fn empty_trash(&self) -> Result<(), SessionError> {
        for entry in fs::read_dir(&self.trash).map_err(io_error("read the trash"))? {
            let entry = entry.map_err(io_error("read the trash"))?;
            remove_tree(CWD, entry.path()).map_err(io_error("empty the trash"))?;
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
    copy_tree(source.as_fd(), target, owner, limits, &mut records, cancelled).map_err(
        |error| match error {
            CopyError::Cancelled => SessionError::Cancelled,
            other => SessionError::Copy(other.to_string()),
        },
    )?;
    baseline.add(records).map_err(io_error("record a workspace"))
}
