//! The system calls for a filter with notifications: add it, receive a notification, answer with an error.
//!
//! Must not offer an answer that lets a call continue, and must not add a descriptor to another process.

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::io::Errno;

use super::last_errno;

/// SECCOMP_IOCTL_NOTIF_RECV and SECCOMP_IOCTL_NOTIF_SEND. The numbers contain the sizes of the structures, 80 and 24
/// bytes. A kernel with other structures does not know them.
const RECEIVE: libc::c_long = 0xc050_2100;
const SEND: libc::c_long = 0xc018_2101;
/// Not in every version of the C library.
const WAIT_KILLABLE: libc::c_ulong = 1 << 5;

/// A system call that waits for its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notification {
    /// The kernel's ID of it.
    pub id: u64,
    /// The number of the system call.
    pub number: u32,
}

/// Adds a filter to this thread and to everything that it starts. It cannot be removed. With `listener`, returns the
/// close-on-exec descriptor that receives notifications.
///
/// # Errors
///
/// The system call's error; `EBUSY` if a filter with a listener applies already, `EINVAL` before Linux 5.0.
pub fn add_filter(program: &[libc::sock_filter], listener: bool) -> Result<Option<OwnedFd>, Errno> {
    let length = u16::try_from(program.len()).map_err(|_| Errno::INVAL)?;
    let program = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut() };
    if !listener {
        // As bubblewrap does. Some containers forbid the other call.
        let mode = libc::c_ulong::from(libc::SECCOMP_MODE_FILTER);
        add(libc::SYS_prctl, [libc::PR_SET_SECCOMP.unsigned_abs().into(), mode], &program)?;
        return Ok(None);
    }
    // Without the second flag, which Linux has since 5.19, a signal handler can interrupt a refused call.
    let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    let with = |flags| add(libc::SYS_seccomp, [libc::SECCOMP_SET_MODE_FILTER.into(), flags], &program);
    let number = match with(flags | WAIT_KILLABLE) {
        Err(Errno::INVAL) => with(flags)?,
        other => other?,
    };
    let number = i32::try_from(number).map_err(|_| Errno::BADF)?;
    // SAFETY: seccomp succeeded with SECCOMP_FILTER_FLAG_NEW_LISTENER, so the result is a new open
    // descriptor that no other object owns.
    Ok(Some(unsafe { OwnedFd::from_raw_fd(number) }))
}

/// Makes a call that adds a filter, with its first two arguments.
fn add(
    call: libc::c_long,
    words: [libc::c_ulong; 2],
    program: &libc::sock_fprog,
) -> Result<libc::c_long, Errno> {
    let [first, second] = words;
    // SAFETY: both callers pass arguments with which the kernel only reads `program` and the `len`
    // instructions that it points to. `program` is live, and `add_filter` borrows the instructions, whose
    // number is `len`, during the call.
    let result = unsafe { libc::syscall(call, first, second, std::ptr::from_ref(program)) };
    if result < 0 { Err(last_errno()) } else { Ok(result) }
}

/// Receives one notification. Does not wait if the listener is readable.
///
/// # Errors
///
/// The system call's error; `ENOENT` if the process of the call has ended meanwhile.
pub fn receive(listener: BorrowedFd<'_>) -> Result<Notification, Errno> {
    // struct seccomp_notif: id (8 bytes), pid, flags, and from byte 16 on the number of the call.
    let mut notification = [0_u64; 10];
    // SAFETY: the request writes one structure of 80 bytes, as encoded in its number, to `notification`.
    // It is live, writable, zeroed as the kernel requires, and has this size and the structure's
    // alignment. The descriptor is borrowed, so it stays open during the call.
    let result =
        unsafe { libc::syscall(libc::SYS_ioctl, listener.as_raw_fd(), RECEIVE, notification.as_mut_ptr()) };
    if result < 0 {
        return Err(last_errno());
    }
    let [id, _, call, ..] = notification;
    let [n0, n1, n2, n3, ..] = call.to_ne_bytes();
    Ok(Notification { id, number: u32::from_ne_bytes([n0, n1, n2, n3]) })
}

/// Lets the call of a notification return an error.
///
/// # Errors
///
/// The system call's error; `ENOENT` if the call no longer waits.
pub fn refuse(listener: BorrowedFd<'_>, id: u64, errno: u16) -> Result<(), Errno> {
    let [e0, e1, e2, e3] = (-i32::from(errno)).to_ne_bytes();
    // struct seccomp_notif_resp: id (8 bytes), value (8 bytes), error, flags. No flag: the call does not continue.
    let answer = [id, 0, u64::from_ne_bytes([e0, e1, e2, e3, 0, 0, 0, 0])];
    // SAFETY: the request reads one structure of 24 bytes, as encoded in its number, from `answer`. It is
    // live and has this size and the structure's alignment. The descriptor is borrowed, so it stays open
    // during the call.
    let result = unsafe { libc::syscall(libc::SYS_ioctl, listener.as_raw_fd(), SEND, answer.as_ptr()) };
    if result < 0 { Err(last_errno()) } else { Ok(()) }
}
