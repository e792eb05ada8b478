//! The second wall: while a thread works in a session's workspace, the kernel holds its access to files
//! against the rights of the session's user, not the runner's. A fault in that work then reaches no more
//! than a command of the session could.
//!
//! The ids of a thread are its own; those of the process stay. Must not be held across an `await`, nor
//! while a thread is started, which would inherit them.

use std::marker::PhantomData;

use nix::unistd::{Gid, Uid, getegid, geteuid, getgroups, setfsgid, setfsuid};
use rustix::thread::set_thread_groups;

/// Sets nothing, and so says what is set.
const NO_ID: u32 = u32::MAX;

/// Why a thread cannot work with other ids.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WallError {
    #[error("the thread works for a session already")]
    Entered,
    #[error("the groups of a thread cannot be read or set: {0}")]
    Groups(std::io::Error),
    #[error("the ids for access to files cannot be set")]
    Ids,
}

/// Whose rights a thread has to files.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rights {
    uid: Uid,
    gid: Gid,
    groups: Vec<Gid>,
}

impl Rights {
    /// Of this thread, now.
    fn now() -> Result<Self, WallError> {
        let groups = getgroups().map_err(|errno| WallError::Groups(errno.into()))?;
        Ok(Self { uid: setfsuid(Uid::from_raw(NO_ID)), gid: setfsgid(Gid::from_raw(NO_ID)), groups })
    }

    /// Gives this thread these.
    fn take(&self) -> Result<(), WallError> {
        let raw: Vec<_> = self.groups.iter().map(|group| rustix::fs::Gid::from_raw(group.as_raw())).collect();
        set_thread_groups(&raw).map_err(|errno| WallError::Groups(errno.into()))?;
        setfsgid(self.gid);
        // Last, and first to count: with it the kernel takes or gives the rights to pass over modes.
        setfsuid(self.uid);
        let now = Self::now()?;
        if (now.uid, now.gid) == (self.uid, self.gid) { Ok(()) } else { Err(WallError::Ids) }
    }
}

/// The thread has other rights for as long as this lives. Not sent to another thread.
#[derive(Debug)]
struct Held {
    before: Rights,
    _of_this_thread: PhantomData<*const ()>,
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Err(error) = self.before.take() {
            // What comes next on this thread would have another's rights.
            tracing::error!(%error, "a thread cannot be given back its rights to files; the process ends");
            std::process::abort();
        }
    }
}

fn hold(before: Rights, rights: &Rights) -> Result<Held, WallError> {
    let held = Held { before, _of_this_thread: PhantomData };
    rights.take()?;
    Ok(held)
}

/// Works with no more rights to files than the session's user has. `owner` is none where the runner and
/// all sessions have one user: then nothing changes.
///
/// # Errors
/// If the thread works for a session already, or its ids cannot be set.
pub(crate) fn as_session<T>(owner: Option<(u32, u32)>, work: impl FnOnce() -> T) -> Result<T, WallError> {
    let Some((uid, gid)) = owner else { return Ok(work()) };
    let before = Rights::now()?;
    if before.uid != geteuid() || before.gid != getegid() {
        return Err(WallError::Entered);
    }
    let rights = Rights { uid: Uid::from_raw(uid), gid: Gid::from_raw(gid), groups: Vec::new() };
    let _held = hold(before, &rights)?;
    Ok(work())
}

/// For the runner's own files, in the middle of work for a session: must touch nothing of the workspace.
///
/// # Errors
/// If the thread's ids cannot be set.
pub(super) fn as_runner<T>(work: impl FnOnce() -> T) -> Result<T, WallError> {
    let before = Rights::now()?;
    let rights = Rights { uid: geteuid(), gid: getegid(), groups: before.groups.clone() };
    if before == rights {
        return Ok(work());
    }
    let _held = hold(before, &rights)?;
    Ok(work())
}

#[cfg(test)]
mod tests;
