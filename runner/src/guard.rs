//! Protected names of a session, watched for the commands that run in it: from a grant to what the sandbox
//! has read-only, and from what was found to the violations of a result.
//!
//! All work in the workspace is the sandbox's (`airlock_sandbox::protect`), on a thread with the rights of
//! the session's user. Blocks. Must not decide what a violation means for a command's end.

mod turns;
mod watch;

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use airlock_sandbox::{
    Folders, HostIds, WORKSPACE,
    protect::{self, Guard, ProtectError},
};
use rustix::{
    fs::{CWD, Gid, Mode, OFlags, Uid, fchown, mkdirat, openat},
    io::Errno,
};

use crate::files::{WallError, as_session_over_limits};

pub(crate) use watch::{Watch, failed};

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Why a session's protected names could not be looked at.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GuardError {
    #[error("a session's folder cannot be opened: {0}")]
    Folder(io::Error),
    #[error(transparent)]
    Wall(#[from] WallError),
    #[error(transparent)]
    Protect(#[from] ProtectError),
}

/// Of one session. Looks at nothing until it is needed.
#[derive(Debug)]
pub(crate) struct SessionGuard {
    workspace: PathBuf,
    /// Beside the workspace, on its file system.
    folder: PathBuf,
    ids: Option<HostIds>,
    state: Mutex<Option<Guard>>,
}

impl SessionGuard {
    pub(crate) fn new(folders: &Folders, ids: Option<HostIds>) -> Self {
        let beside = folders.workspace.parent().unwrap_or(&folders.root);
        Self {
            workspace: folders.workspace.clone(),
            folder: beside.join(protect::FOLDER),
            ids,
            state: Mutex::new(None),
        }
    }

    /// Works with the guard and the workspace, when it is this session's turn. Blocks for as long as that
    /// takes.
    ///
    /// # Errors
    /// If the folders cannot be opened; and the work's.
    pub(crate) fn with<T>(
        &self,
        work: impl FnOnce(&mut Guard, BorrowedFd<'_>) -> Result<T, ProtectError>,
    ) -> Result<T, GuardError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let _turn = turns::take();
        let workspace = open(&self.workspace)?;
        let folder = if state.is_none() { Some(self.make_folder()?) } else { None };
        let ids = self.ids.map(|ids| (ids.uid, ids.gid));
        let done = as_session_over_limits(ids, || {
            if let Some(folder) = folder {
                *state = Some(Guard::open(folder)?);
            }
            match state.as_mut() {
                Some(guard) => work(guard, workspace.as_fd()),
                None => Err(ProtectError::Vault { action: "open it", cause: "it is not there".to_owned() }),
            }
        });
        Ok(done??)
    }

    /// Lets go of the session's disk, once its commands have ended.
    pub(crate) fn close(&self) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn make_folder(&self) -> Result<OwnedFd, GuardError> {
        match mkdirat(CWD, &self.folder, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(GuardError::Folder(errno.into())),
        }
        let folder = open(&self.folder)?;
        if let Some(ids) = self.ids {
            let (uid, gid) = (Uid::from_raw(ids.uid), Gid::from_raw(ids.gid));
            fchown(&folder, Some(uid), Some(gid)).map_err(|errno| GuardError::Folder(errno.into()))?;
        }
        Ok(folder)
    }
}

fn open(path: &Path) -> Result<OwnedFd, GuardError> {
    openat(CWD, path, FOLDER, Mode::empty()).map_err(|errno| GuardError::Folder(errno.into()))
}

/// A path inside, relative to the workspace; none if it is elsewhere.
pub(crate) fn below(inside: &[u8]) -> Option<Vec<u8>> {
    let rest = inside.strip_prefix(WORKSPACE.as_bytes())?;
    if !matches!(rest.first(), None | Some(b'/')) {
        return None;
    }
    let parts: Vec<&[u8]> =
        rest.split(|byte| *byte == b'/').filter(|part| !matches!(*part, b"" | b".")).collect();
    (!parts.contains(&&b".."[..])).then(|| parts.join(&b'/'))
}

/// A path relative to the workspace, as it is inside.
pub(crate) fn inside(relative: &[u8]) -> Vec<u8> {
    if relative.is_empty() {
        WORKSPACE.as_bytes().to_vec()
    } else {
        [WORKSPACE.as_bytes(), relative].join(&b'/')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_inside_are_below_the_workspace_or_none() {
        for (path, expected) in [
            (&b"/workspace"[..], Some(&b""[..])),
            (b"/workspace/", Some(b"")),
            (b"/workspace/a//./b", Some(b"a/b")),
            (b"/workspace/a/../b", None),
            (b"/workspace2/a", None),
            (b"/tmp/a", None),
            (b"a", None),
        ] {
            assert_eq!(below(path).as_deref(), expected);
        }
        assert_eq!((inside(b""), inside(b"a/b")), (b"/workspace".to_vec(), b"/workspace/a/b".to_vec()));
    }
}
