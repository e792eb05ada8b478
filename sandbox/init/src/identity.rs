//! Changes from the runner's identity to the session's: IDs, groups, and the parent-death signal.
//!
//! The change must be irreversible: after [`become_session`] the process has no rights of the runner's uid.

use std::fs;

use airlock_init::sys::leave_session_keyring;
use airlock_init::wire::{HostIds, INSIDE_ID, Step};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::{Gid, Uid, getegid, geteuid, getppid, setgroups, setresgid, setresuid};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::failure::{AtStep, AtSystemStep, Failure};

/// Lets the kernel kill this process when the thread that forked it ends, and checks that the parent still exists. A
/// change of IDs clears this setting, so call it again afterwards.
pub(crate) fn die_with_parent(parent: u32) -> Result<(), Failure> {
    prctl::set_pdeathsig(Signal::SIGKILL).at(Step::Parent)?;
    if u32::try_from(getppid().as_raw()) == Ok(parent) {
        Ok(())
    } else {
        Err(Failure::new(Step::Parent, "the runner has ended"))
    }
}

/// Like [`die_with_parent`], for a process with a parent in another pid namespace. Checks that the runner still holds
/// the other end of the socket. If the runner ends between the two steps, the socket closes a moment later, and the
/// next read from it ends this process.
pub(crate) fn die_with_runner() -> Result<(), Failure> {
    prctl::set_pdeathsig(Signal::SIGKILL).at(Step::Parent)?;
    let control = std::io::stdin();
    let mut fds = [PollFd::new(&control, PollFlags::empty())];
    poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).at(Step::Parent)?;
    if fds.iter().any(|fd| fd.revents().contains(PollFlags::HUP)) {
        return Err(Failure::new(Step::Parent, "the runner has ended"));
    }
    Ok(())
}

/// Changes to the session's IDs without supplementary groups, irreversibly.
pub(crate) fn become_session(ids: Option<HostIds>) -> Result<(), Failure> {
    if let Some(HostIds { uid, gid }) = ids {
        if uid == 0 || gid == 0 {
            return Err(Failure::new(Step::Identity, "a session's uid and gid must not be 0"));
        }
        let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
        setgroups(&[]).at(Step::Identity)?;
        setresgid(gid, gid, gid).at(Step::Identity)?;
        setresuid(uid, uid, uid).at(Step::Identity)?;
    }
    if Uid::effective().is_root() {
        return Err(Failure::new(Step::Identity, "a sandbox must not run with host uid 0"));
    }
    leave_session_keyring().at(Step::Identity)?;
    prctl::set_no_new_privs().at(Step::Identity)
}

/// Enters a new user namespace in which this user and its group have the IDs of the sandbox. Also enters new
/// namespaces of the kinds in `others`, which belong to it.
pub(crate) fn own_user_namespace(others: CloneFlags) -> Result<(), Failure> {
    // After a change of IDs, root owns the `/proc` files of this process. The maps are written through them.
    prctl::set_dumpable(true).at(Step::Namespaces)?;
    let (uid, gid) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER | others).at_system(Step::Namespaces)?;
    fs::write("/proc/self/setgroups", "deny").at_system(Step::Namespaces)?;
    fs::write("/proc/self/uid_map", format!("{INSIDE_ID} {uid} 1")).at_system(Step::Namespaces)?;
    fs::write("/proc/self/gid_map", format!("{INSIDE_ID} {gid} 1")).at_system(Step::Namespaces)
}
