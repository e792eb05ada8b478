//! The second layer of protection for files. While a thread works in a session's directories, the kernel checks its
//! file accesses against the rights of the session's user, not the runner's. A bug in this code then reaches no more
//! files than a command of the session.
//!
//! The IDs are set per thread; those of the process stay. Must not be held across an `await`, or while a thread is
//! started, which would inherit them.

use std::marker::PhantomData;

use nix::unistd::{Gid, Uid, getegid, geteuid, getgroups, setfsgid, setfsuid};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_thread_groups};

/// An invalid ID: setting it changes nothing and returns the current ID.
const NO_ID: u32 = u32::MAX;
/// A process with this capability is exempt from quotas of ext4.
const OVER_LIMITS: CapabilitySet = CapabilitySet::SYS_RESOURCE;

/// The reason why a thread's IDs cannot be changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FsuidError {
    #[error("the thread already works for a session")]
    Entered,
    #[error("the groups of a thread cannot be read or set: {0}")]
    Groups(std::io::Error),
    #[error("the ids for access to files cannot be set")]
    Ids,
    #[error("the capabilities of a thread cannot be read or set: {0}")]
    Capabilities(std::io::Error),
}

fn capabilities() -> Result<CapabilitySets, FsuidError> {
    rustix::thread::capabilities(None).map_err(|errno| FsuidError::Capabilities(errno.into()))
}

/// The rights of a thread to files.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rights {
    uid: Uid,
    gid: Gid,
    groups: Vec<Gid>,
    /// Whether the thread may exceed disk limits.
    over_limits: bool,
}

impl Rights {
    /// Returns the current rights of this thread.
    fn now() -> Result<Self, FsuidError> {
        let groups = getgroups().map_err(|errno| FsuidError::Groups(errno.into()))?;
        let over_limits = capabilities()?.effective.contains(OVER_LIMITS);
        let (uid, gid) = (setfsuid(Uid::from_raw(NO_ID)), setfsgid(Gid::from_raw(NO_ID)));
        Ok(Self { uid, gid, groups, over_limits })
    }

    /// Gives these rights to this thread.
    fn take(&self) -> Result<(), FsuidError> {
        let raw: Vec<_> = self.groups.iter().map(|group| rustix::fs::Gid::from_raw(group.as_raw())).collect();
        set_thread_groups(&raw).map_err(|errno| FsuidError::Groups(errno.into()))?;
        setfsgid(self.gid);
        // The last step: with the fsuid the kernel also drops or restores the capabilities to override file modes.
        setfsuid(self.uid);
        let mut sets = capabilities()?;
        if sets.effective.contains(OVER_LIMITS) != self.over_limits {
            sets.effective.set(OVER_LIMITS, self.over_limits);
            set_capabilities(None, sets).map_err(|errno| FsuidError::Capabilities(errno.into()))?;
        }
        let now = Self::now()?;
        let taken = (now.uid, now.gid, now.over_limits) == (self.uid, self.gid, self.over_limits);
        if taken { Ok(()) } else { Err(FsuidError::Ids) }
    }
}

/// The thread has other rights until this is dropped. Not `Send`.
#[derive(Debug)]
struct Held {
    before: Rights,
    _of_this_thread: PhantomData<*const ()>,
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Err(error) = self.before.take() {
            // Later work on this thread would run with wrong rights.
            tracing::error!(%error, "cannot restore a thread's permissions for files; the process aborts");
            std::process::abort();
        }
    }
}

fn hold(before: Rights, rights: &Rights) -> Result<Held, FsuidError> {
    let held = Held { before, _of_this_thread: PhantomData };
    rights.take()?;
    Ok(held)
}

/// Calls `work` with no more rights to files or disk space than the session's user has. If `owner` is `None`, the
/// runner and all sessions share one user, and the rights do not change.
///
/// # Errors
/// If the thread works for a session already, or if its IDs cannot be set.
pub(crate) fn as_session<T>(owner: Option<(u32, u32)>, work: impl FnOnce() -> T) -> Result<T, FsuidError> {
    enter(owner, false, work)
}

/// Like [`as_session`], but may exceed the disk limits if the runner's rights allow it. The protection of names needs
/// this when a session's disk is full.
///
/// # Errors
/// See [`as_session`].
pub(crate) fn as_session_over_limits<T>(
    owner: Option<(u32, u32)>,
    work: impl FnOnce() -> T,
) -> Result<T, FsuidError> {
    enter(owner, true, work)
}

fn enter<T>(owner: Option<(u32, u32)>, over_limits: bool, work: impl FnOnce() -> T) -> Result<T, FsuidError> {
    let Some((uid, gid)) = owner else { return Ok(work()) };
    let before = Rights::now()?;
    if before.uid != geteuid() || before.gid != getegid() {
        return Err(FsuidError::Entered);
    }
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    let over_limits = over_limits && before.over_limits;
    let rights = Rights { uid, gid, groups: Vec::new(), over_limits };
    let _held = hold(before, &rights)?;
    Ok(work())
}

/// Calls `work` with the runner's rights, in the middle of work for a session. `work` must not access the workspace.
///
/// # Errors
/// If the thread's IDs cannot be set.
pub(super) fn as_runner<T>(work: impl FnOnce() -> T) -> Result<T, FsuidError> {
    let before = Rights::now()?;
    let over_limits = capabilities()?.permitted.contains(OVER_LIMITS);
    let rights = Rights { uid: geteuid(), gid: getegid(), groups: before.groups.clone(), over_limits };
    if before == rights {
        return Ok(work());
    }
    let _held = hold(before, &rights)?;
    Ok(work())
}

#[cfg(test)]
mod tests;
