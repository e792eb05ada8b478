//! Protected names of a session, in its workspace and its HOME, watched for the commands that run in it: from a
//! grant to what the sandbox has read-only, and from what was found to the violations of a result.
//!
//! All work in the folders is the sandbox's (`airlock_sandbox::protect`), on a thread with the rights of
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
    Folders, HOME, HostIds, WORKSPACE,
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
    pub(crate) workspace: Guarded,
    pub(crate) home: Guarded,
}

impl SessionGuard {
    pub(crate) fn new(folders: &Folders, ids: Option<HostIds>) -> Self {
        let guarded = |path: &Path, inside, beside| Guarded {
            inside,
            path: path.to_owned(),
            folder: path.parent().unwrap_or(&folders.root).join(beside),
            ids,
            state: Mutex::new(None),
        };
        Self {
            workspace: guarded(&folders.workspace, WORKSPACE, protect::FOLDER),
            home: guarded(&folders.home, HOME, protect::FOLDER_OF_HOME),
        }
    }

    /// Both, in the order in which they are always taken.
    pub(crate) fn both(&self) -> [&Guarded; 2] {
        [&self.workspace, &self.home]
    }

    /// Lets go of the session's disk, once its commands have ended.
    pub(crate) fn close(&self) {
        for guarded in self.both() {
            guarded.close();
        }
    }
}

/// One folder of a session whose protected names are watched.
#[derive(Debug)]
pub(crate) struct Guarded {
    /// Where it is for commands.
    inside: &'static str,
    path: PathBuf,
    /// Beside it, on its file system.
    folder: PathBuf,
    ids: Option<HostIds>,
    state: Mutex<Option<Guard>>,
}

impl Guarded {
    /// Works with the guard and the folder, when it is this folder's turn. Blocks for as long as that takes.
    ///
    /// # Errors
    /// If the folders cannot be opened; and the work's.
    pub(crate) fn with<T>(
        &self,
        work: impl FnOnce(&mut Guard, BorrowedFd<'_>) -> Result<T, ProtectError>,
    ) -> Result<T, GuardError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let _turn = turns::take();
        let watched = open(&self.path)?;
        let folder = if state.is_none() { Some(self.make_folder()?) } else { None };
        let ids = self.ids.map(|ids| (ids.uid, ids.gid));
        let done = as_session_over_limits(ids, || {
            if let Some(folder) = folder {
                let guard =
                    if self.inside == HOME { Guard::open_for_home(folder) } else { Guard::open(folder) };
                *state = Some(guard?);
            }
            match state.as_mut() {
                Some(guard) => work(guard, watched.as_fd()),
                None => Err(ProtectError::Vault { action: "open it", cause: "it is not there".to_owned() }),
            }
        });
        Ok(done??)
    }

    /// What [`Guard::still`] says; nothing if another thread is at work there. Does not block.
    pub(crate) fn still(&self) -> Option<u64> {
        let state = self.state.try_lock().ok()?;
        // Nothing of this process has changed it so far.
        state.as_ref().map_or(Some(0), Guard::still)
    }

    /// A path inside, relative to this folder; none if it is elsewhere.
    pub(crate) fn below(&self, inside: &[u8]) -> Option<Vec<u8>> {
        let rest = inside.strip_prefix(self.inside.as_bytes())?;
        if !matches!(rest.first(), None | Some(b'/')) {
            return None;
        }
        let parts: Vec<&[u8]> =
            rest.split(|byte| *byte == b'/').filter(|part| !matches!(*part, b"" | b".")).collect();
        (!parts.contains(&&b".."[..])).then(|| parts.join(&b'/'))
    }

    /// A path relative to this folder, as it is inside.
    pub(crate) fn inside(&self, relative: &[u8]) -> Vec<u8> {
        if relative.is_empty() {
            self.inside.as_bytes().to_vec()
        } else {
            [self.inside.as_bytes(), relative].join(&b'/')
        }
    }

    fn close(&self) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_inside_are_below_the_workspace_or_none() {
        let guard = SessionGuard::new(&Folders::at(Path::new("/srv/x")), None);
        let (workspace, home) = (&guard.workspace, &guard.home);
        for (path, expected) in [
            (&b"/workspace"[..], Some(&b""[..])),
            (b"/workspace/", Some(b"")),
            (b"/workspace/a//./b", Some(b"a/b")),
            (b"/workspace/a/../b", None),
            (b"/workspace2/a", None),
            (b"/tmp/a", None),
            (b"a", None),
        ] {
            assert_eq!(workspace.below(path).as_deref(), expected);
        }
        let both = (workspace.inside(b""), workspace.inside(b"a/b"));
        assert_eq!(both, (b"/workspace".to_vec(), b"/workspace/a/b".to_vec()));
        assert_eq!(home.below(b"/home/agent/.bashrc").as_deref(), Some(&b".bashrc"[..]));
        assert_eq!((home.below(b"/workspace/a"), home.inside(b"a")), (None, b"/home/agent/a".to_vec()));
    }
}
