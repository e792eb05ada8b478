//! The system calls that no safe wrapper covers: the one module of the
//! workspace in which `unsafe` is allowed.
//!
//! Must not grow: a call that `nix` or `rustix` offers belongs there.
#![expect(unsafe_code, reason = "close_range, signal dispositions, keyctl and wait4 have no safe wrapper")]

use std::io;
use std::time::Duration;

/// Marks every descriptor from `first` on close-on-exec.
///
/// # Errors
///
/// The system call's error; `ENOSYS` before Linux 5.11.
pub fn close_on_exec_from(first: u32) -> io::Result<()> {
    let flags = libc::CLOSE_RANGE_CLOEXEC.cast_signed();
    // SAFETY: close_range with CLOSE_RANGE_CLOEXEC reads no memory of ours and
    // closes nothing now, so no owned descriptor becomes invalid.
    let result = unsafe { libc::close_range(first, u32::MAX, flags) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Gives every signal its default disposition: ignored ones would be inherited
/// by the shell.
pub fn reset_signals() {
    for signal in 1..=libc::SIGRTMAX() {
        // SAFETY: SIG_DFL installs no handler, so no code of ours can run in
        // signal context. SIGKILL, SIGSTOP and the C library's own two are
        // refused with EINVAL, which leaves them as they are.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Leaves the session keyring of whoever started this process for a new, empty
/// one: keys in it could be used by all who inherit it.
///
/// # Errors
///
/// The system call's error. Where keyrings are absent or forbidden there is
/// nothing to leave, and that is not an error.
pub fn leave_session_keyring() -> io::Result<()> {
    const JOIN_SESSION_KEYRING: libc::c_long = 1;
    let name = std::ptr::null::<libc::c_char>();
    // SAFETY: the name is null, which asks for an anonymous keyring; no memory
    // of ours is read or written.
    let result = unsafe { libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, name) };
    if result >= 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::ENOSYS | libc::EPERM | libc::EACCES) => Ok(()),
        _ => Err(error),
    }
}

/// How a child ended, and the CPU time of it and of all it waited for.
#[derive(Debug, Clone, Copy)]
pub struct Reaped {
    /// Exit code, or 128 and the signal.
    pub code: i32,
    /// User CPU time.
    pub user: Duration,
    /// System CPU time.
    pub system: Duration,
}

/// Waits for the child `pid` and reaps it.
///
/// # Errors
///
/// The system call's error; `ECHILD` if `pid` is not an unreaped child.
pub fn wait_for(pid: i32) -> io::Result<Reaped> {
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both pointers are to live, writable memory of the right type
        // for the whole call.
        let result = unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) };
        if result == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: rusage is plain integers, for which zeroed memory is a value; the
    // kernel filled it in as well.
    let usage = unsafe { usage.assume_init() };
    let code = if libc::WIFEXITED(status) {
        libc::WEXITSTATUS(status)
    } else {
        libc::WTERMSIG(status).saturating_add(128)
    };
    Ok(Reaped { code, user: duration(usage.ru_utime), system: duration(usage.ru_stime) })
}

fn duration(time: libc::timeval) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let micros = u64::try_from(time.tv_usec).unwrap_or(0);
    Duration::from_secs(seconds).saturating_add(Duration::from_micros(micros))
}
