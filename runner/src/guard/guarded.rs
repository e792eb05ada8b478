//! The directories of a session with protected names, and their guards. Limits how many workspaces are scanned at once.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
    sync::{Condvar, Mutex, PoisonError},
};

use airlock_sandbox::{
    HOME, HostIds, SessionDirectories, WORKSPACE,
    protect::{self, Guard, ProtectError},
};
use rustix::{
    fs::{CWD, Gid, Mode, OFlags, Uid, fchown, mkdirat, openat},
    io::Errno,
};

use crate::files::{FsuidError, as_session_over_limits};

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The reason why a session's protected names could not be checked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GuardError {
    #[error("a session's directory cannot be opened: {0}")]
    Directory(io::Error),
    #[error(transparent)]
    Wall(#[from] FsuidError),
    #[error(transparent)]
    Protect(#[from] ProtectError),
}

/// The guards of one session. They read nothing until the first use.
#[derive(Debug)]
pub(crate) struct SessionGuard {
    pub(crate) workspace: Guarded,
    pub(crate) home: Guarded,
}

impl SessionGuard {
    pub(crate) fn new(directories: &SessionDirectories, ids: Option<HostIds>) -> Self {
        let guarded = |path: &Path, inside, beside| Guarded {
            inside,
            path: path.to_owned(),
            directory: path.parent().unwrap_or(&directories.root).join(beside),
            ids,
            state: Mutex::new(None),
        };
        Self {
            workspace: guarded(&directories.workspace, WORKSPACE, protect::DIRECTORY),
            home: guarded(&directories.home, HOME, protect::HOME_DIRECTORY),
        }
    }

    /// Returns both guards, in the order in which they are always locked.
    pub(crate) fn both(&self) -> [&Guarded; 2] {
        [&self.workspace, &self.home]
    }

    /// Closes the open handles on the session's disk. Call it after the session's commands have ended.
    pub(crate) fn close(&self) {
        for guarded in self.both() {
            guarded.close();
        }
    }
}

/// One directory of a session with protected names.
#[derive(Debug)]
pub(crate) struct Guarded {
    /// The path inside the sandbox.
    inside: &'static str,
    path: PathBuf,
    /// The directory for the guard's records, next to `path` on the same file system.
    directory: PathBuf,
    ids: Option<HostIds>,
    state: Mutex<Option<Guard>>,
}

impl Guarded {
    /// Calls `work` with the guard and the directory, when it is this directory's turn. Blocks until `work` is done.
    ///
    /// # Errors
    /// If a directory cannot be opened, or if `work` fails.
    pub(crate) fn with<T>(
        &self,
        work: impl FnOnce(&mut Guard, BorrowedFd<'_>) -> Result<T, ProtectError>,
    ) -> Result<T, GuardError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let _turn = take_turn();
        let watched = open(&self.path)?;
        let directory = if state.is_none() { Some(self.make_directory()?) } else { None };
        let ids = self.ids.map(|ids| (ids.uid, ids.gid));
        let done = as_session_over_limits(ids, || {
            if let Some(directory) = directory {
                let guard = if self.inside == HOME {
                    Guard::open_for_home(directory)
                } else {
                    Guard::open(directory)
                };
                *state = Some(guard?);
            }
            match state.as_mut() {
                Some(guard) => work(guard, watched.as_fd()),
                None => Err(ProtectError::Store { action: "open it", cause: "it does not exist".to_owned() }),
            }
        });
        Ok(done??)
    }

    /// Returns [`Guard::still`], or `None` if another thread uses the guard. Does not block.
    pub(crate) fn still(&self) -> Option<u64> {
        let state = self.state.try_lock().ok()?;
        // No command or upload of this process has changed it yet.
        state.as_ref().map_or(Some(0), Guard::still)
    }

    /// Converts a path inside the sandbox to one relative to this directory. `None` if the path is elsewhere.
    pub(crate) fn below(&self, inside: &[u8]) -> Option<Vec<u8>> {
        let rest = inside.strip_prefix(self.inside.as_bytes())?;
        if !matches!(rest.first(), None | Some(b'/')) {
            return None;
        }
        let parts: Vec<&[u8]> =
            rest.split(|byte| *byte == b'/').filter(|part| !matches!(*part, b"" | b".")).collect();
        (!parts.contains(&&b".."[..])).then(|| parts.join(&b'/'))
    }

    /// Converts a path relative to this directory to the path inside the sandbox.
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

    fn make_directory(&self) -> Result<OwnedFd, GuardError> {
        match mkdirat(CWD, &self.directory, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(GuardError::Directory(errno.into())),
        }
        let directory = open(&self.directory)?;
        if let Some(ids) = self.ids {
            let (uid, gid) = (Uid::from_raw(ids.uid), Gid::from_raw(ids.gid));
            fchown(&directory, Some(uid), Some(gid)).map_err(|errno| GuardError::Directory(errno.into()))?;
        }
        Ok(directory)
    }
}

fn open(path: &Path) -> Result<OwnedFd, GuardError> {
    openat(CWD, path, DIRECTORY, Mode::empty()).map_err(|errno| GuardError::Directory(errno.into()))
}

/// The maximum number of concurrent scans.
const AT_ONCE: usize = 2;

static TAKEN: Mutex<usize> = Mutex::new(0);
static FREE: Condvar = Condvar::new();

/// A turn. It ends on drop.
///
/// Limits how many workspaces are scanned at once. A scan needs one handle per nesting level, and a hostile workspace
/// costs much processor time. A turn must not be held while a command runs.
struct Turn(());

/// Waits for a turn.
fn take_turn() -> Turn {
    let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut taken = FREE.wait_while(taken, |taken| *taken >= AT_ONCE).unwrap_or_else(PoisonError::into_inner);
    *taken += 1;
    Turn(())
}

impl Drop for Turn {
    fn drop(&mut self) {
        *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        FREE.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_inside_are_below_the_workspace_or_none() {
        let guard = SessionGuard::new(&SessionDirectories::at(Path::new("/srv/x")), None);
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
