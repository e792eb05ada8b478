//! The system calls that no safe wrapper covers. This module and its submodule are the only ones of the workspace in
//! which `unsafe` is allowed.
//!
//! Must not grow: use `nix` or `rustix` for every call that they offer.
#![expect(unsafe_code, reason = "no safe wrapper provides these calls in the required form")]

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::Pid;

pub mod notify;

/// Marks every descriptor from `first` on close-on-exec.
///
/// # Errors
///
/// The system call's error; `ENOSYS` before Linux 5.11.
pub fn close_on_exec_from(first: u32) -> io::Result<()> {
    let flags = libc::CLOSE_RANGE_CLOEXEC.cast_signed();
    // SAFETY: close_range takes only integers, so it accesses no memory of this process. With
    // CLOSE_RANGE_CLOEXEC it closes no descriptor now, so every owned descriptor stays valid.
    let result = unsafe { libc::close_range(first, u32::MAX, flags) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Resets every signal to its default disposition. Otherwise the shell would inherit ignored signals.
pub fn reset_signals() {
    for signal in 1..=libc::SIGRTMAX() {
        // SAFETY: SIG_DFL installs no handler, so no code of this program runs in signal context. The
        // call fails with EINVAL, without effect, for SIGKILL, SIGSTOP and the two signals that the C
        // library reserves.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Replaces the session keyring by a new, empty one. Otherwise all processes that inherit the old one could use its
/// keys.
///
/// # Errors
///
/// The system call's error. If keyrings are unavailable or forbidden, there is nothing to replace, and the call
/// succeeds.
pub fn leave_session_keyring() -> io::Result<()> {
    const JOIN_SESSION_KEYRING: libc::c_long = 1;
    let name = std::ptr::null::<libc::c_char>();
    // SAFETY: KEYCTL_JOIN_SESSION_KEYRING takes only the name pointer. It is null, which requests an
    // anonymous keyring, so the kernel accesses no memory of this process.
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

/// Attributes of a mount in addition to `nosuid` and `nodev`, which are always set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MountAttributes {
    /// Whether it is read-only.
    pub read_only: bool,
    /// Whether its files cannot be executed.
    pub no_exec: bool,
}

/// Sets the attributes of the mount with the root `mount`.
///
/// # Errors
///
/// The system call's error; `ENOSYS` before Linux 5.12.
pub fn set_mount_attributes(mount: BorrowedFd<'_>, attributes: MountAttributes) -> Result<(), Errno> {
    const READ_ONLY: u64 = 1;
    const NO_SUID: u64 = 2;
    const NO_DEVICES: u64 = 4;
    const NO_EXEC: u64 = 8;
    /// The kernel's `struct mount_attr`, first version.
    #[repr(C)]
    struct MountAttr {
        set: u64,
        clear: u64,
        propagation: u64,
        user_namespace: u64,
    }
    let mut attr = MountAttr { set: NO_SUID | NO_DEVICES, clear: 0, propagation: 0, user_namespace: 0 };
    if attributes.read_only {
        attr.set |= READ_ONLY;
    } else {
        attr.clear |= READ_ONLY;
    }
    if attributes.no_exec {
        attr.set |= NO_EXEC;
    }
    // SAFETY: the path is a valid empty C string. `attr` is a live `repr(C)` structure with the
    // kernel's layout and the given size. The kernel only reads both. The descriptor is borrowed, so
    // it stays open during the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            &raw const attr,
            size_of::<MountAttr>(),
        )
    };
    if result == 0 {
        return Ok(());
    }
    Err(last_errno())
}

/// Assigns project `id` to a directory, and to everything that is created below it later. Existing entries keep their
/// project.
///
/// # Errors
///
/// The system call's error; `ENOTTY` or `EOPNOTSUPP` if the file system does not support projects.
pub fn set_project(directory: BorrowedFd<'_>, id: u32) -> Result<(), Errno> {
    /// The kernel's FS_IOC_FSGETXATTR and FS_IOC_FSSETXATTR.
    const GET: libc::c_long = 0x801c_581f;
    const SET: libc::c_long = 0x401c_5820;
    const INHERIT: u32 = 0x200;
    /// The kernel's `struct fsxattr`.
    #[repr(C)]
    #[derive(Default)]
    struct Attributes {
        flags: u32,
        extent: u32,
        extents: u32,
        project: u32,
        cow_extent: u32,
        unused: [u8; 8],
    }
    let mut attributes = Attributes::default();
    for request in [GET, SET] {
        // SAFETY: both requests transfer one `struct fsxattr`, 28 bytes as encoded in their numbers, to
        // or from `attributes`. It is live, writable, and has this layout and size. The descriptor is
        // borrowed, so it stays open during the call.
        let result =
            unsafe { libc::syscall(libc::SYS_ioctl, directory.as_raw_fd(), request, &raw mut attributes) };
        if result != 0 {
            return Err(last_errno());
        }
        attributes.project = id;
        attributes.flags |= INHERIT;
    }
    Ok(())
}

/// Sets the limits of project `id` on the file system of `directory`. 0 means no limit.
///
/// # Errors
///
/// The system call's error; `ESRCH` if the file system is mounted without project quotas, `ENOSYS` before Linux 5.14 or
/// without quota support.
pub fn limit_project(directory: BorrowedFd<'_>, id: u32, bytes: u64, inodes: u64) -> Result<(), Errno> {
    /// The number of quotactl_fd, on every architecture.
    const QUOTACTL_FD: libc::c_long = 443;
    /// Q_SETQUOTA for project quotas.
    const SET: libc::c_long = 0x8000_0802;
    /// The size of the kernel's quota block, in bytes.
    const BLOCK: u64 = 1024;
    /// The flags that mark both limits as valid.
    const LIMITS: u32 = 1 | 4;
    /// The kernel's `struct if_dqblk`.
    #[repr(C)]
    struct Quota {
        blocks_hard: u64,
        blocks_soft: u64,
        bytes_used: u64,
        inodes_hard: u64,
        inodes_soft: u64,
        inodes_used: u64,
        blocks_time: u64,
        inodes_time: u64,
        valid: u32,
    }
    let quota = Quota {
        blocks_hard: bytes.div_ceil(BLOCK),
        blocks_soft: 0,
        bytes_used: 0,
        inodes_hard: inodes,
        inodes_soft: 0,
        inodes_used: 0,
        blocks_time: 0,
        inodes_time: 0,
        valid: LIMITS,
    };
    // SAFETY: Q_SETQUOTA reads one `struct if_dqblk` from `quota`, which is live and has this layout,
    // and writes nothing. The descriptor is borrowed, so it stays open during the call.
    let result = unsafe { libc::syscall(QUOTACTL_FD, directory.as_raw_fd(), SET, id, &raw const quota) };
    if result == 0 { Ok(()) } else { Err(last_errno()) }
}

fn last_errno() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}

/// The two sides of [`clone_beside`].
#[derive(Debug)]
pub enum Cloned {
    /// The caller: pid and pidfd of the new process.
    Caller(i32, OwnedFd),
    /// The new process.
    New,
}

/// Continues in a second process. It is a child of the caller's own parent and process 1 of a new pid namespace. With
/// `cgroup` it is in that cgroup from its first instruction on.
///
/// # Errors
///
/// The system call's error. Fails if this process has a second thread, because a lock held by that thread would stay
/// locked in the new process.
pub fn clone_beside(cgroup: Option<BorrowedFd<'_>>) -> io::Result<Cloned> {
    const INTO_CGROUP: u64 = 0x2_0000_0000;
    // The link count of this directory is 2 plus the number of threads.
    if std::fs::metadata("/proc/self/task")?.nlink() != 3 {
        return Err(io::Error::other("the process has a second thread"));
    }
    let flags = libc::CLONE_PARENT | libc::CLONE_NEWPID | libc::CLONE_PIDFD;
    let mut pidfd: libc::c_int = -1;
    let args = libc::clone_args {
        flags: u64::from(flags.cast_unsigned()) | cgroup.map_or(0, |_| INTO_CGROUP),
        pidfd: (&raw mut pidfd).addr() as u64,
        child_tid: 0,
        parent_tid: 0,
        exit_signal: 0,
        stack: 0,
        stack_size: 0,
        tls: 0,
        set_tid: 0,
        set_tid_size: 0,
        cgroup: cgroup.map_or(0, |cgroup| u64::from(cgroup.as_raw_fd().cast_unsigned())),
    };
    // SAFETY: without CLONE_VM and without a stack, clone3 acts like fork: the new process gets a copy
    // of all memory. This process has one thread, so no other thread holds a lock in the copy. The
    // kernel only reads `args`, which is live and has the given size, and writes one descriptor number
    // to `pidfd`, which is live and writable.
    let result = unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size_of_val(&args)) };
    match i32::try_from(result) {
        Ok(0) => Ok(Cloned::New),
        Ok(pid) if pid > 0 => {
            // SAFETY: clone3 succeeded with CLONE_PIDFD, so the kernel stored a new open descriptor
            // in `pidfd` that no other object owns.
            Ok(Cloned::Caller(pid, unsafe { OwnedFd::from_raw_fd(pidfd) }))
        }
        _ => Err(io::Error::last_os_error()),
    }
}

/// A program to execute.
#[derive(Debug)]
pub struct Program {
    /// Its path.
    pub path: CString,
    /// Its arguments, including the program name.
    pub words: Vec<CString>,
    /// Its whole environment.
    pub env: Vec<CString>,
}

/// Starts a program with these three descriptors as its stdin, stdout and stderr. It gets its own process group. With
/// `on_terminal` it gets its own session, with its stdin as controlling terminal. It inherits no close-on-exec
/// descriptor. It shares the current directory with the caller until it forks: a change by one applies to both.
///
/// # Errors
///
/// The error of the system call or of the program's execution. The program then does not run.
pub fn spawn_sharing_directory(
    program: &Program,
    fds: [BorrowedFd<'_>; 3],
    on_terminal: bool,
) -> io::Result<Pid> {
    let pointers = |texts: &[CString]| {
        let ends = std::iter::once(std::ptr::null());
        texts.iter().map(|text| text.as_ptr()).chain(ends).collect::<Vec<*const libc::c_char>>()
    };
    let (words, env) = (pointers(&program.words), pointers(&program.env));
    let [stdin, stdout, stderr] = fds.map(|fd| fd.as_raw_fd());
    if stdin.min(stdout).min(stderr) <= 2 {
        return Err(io::Error::other("one of the program's descriptors has a number below 3"));
    }
    let (said, say) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let say_number = say.as_raw_fd();
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: without CLONE_VM and without a stack, clone acts like fork, except that the current
    // directory is shared. The new process has a copy of all memory but only this thread, and other
    // threads may have held locks. Until execve or _exit it therefore calls only async-signal-safe
    // functions. `path`, `words` and `env` were built before the clone and live in its copy. The last two
    // are arrays of valid C strings that end with a null pointer.
    let pid = unsafe {
        let pid = libc::syscall(libc::SYS_clone, libc::CLONE_FS | libc::SIGCHLD, none, none, none, none);
        if pid == 0 {
            let apart = if on_terminal { libc::setsid() > 0 } else { libc::setpgid(0, 0) == 0 };
            let prepared = apart
                && libc::dup2(stdin, 0) >= 0
                && libc::dup2(stdout, 1) >= 0
                && libc::dup2(stderr, 2) >= 0
                && (!on_terminal || libc::ioctl(0, libc::TIOCSCTTY, 0) == 0);
            if prepared {
                libc::execve(program.path.as_ptr(), words.as_ptr(), env.as_ptr());
            }
            let errno = *libc::__errno_location();
            libc::write(say_number, (&raw const errno).cast(), size_of_val(&errno));
            libc::_exit(127);
        }
        pid
    };
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).filter(|_| pid > 0);
    let Some(pid) = pid else { return Err(io::Error::last_os_error()) };
    drop(say);
    let mut errno = [0; size_of::<libc::c_int>()];
    match rustix::io::retry_on_intr(|| rustix::io::read(&said, &mut errno))? {
        0 => Ok(pid),
        _ => Err(io::Error::from_raw_os_error(libc::c_int::from_ne_bytes(errno))),
    }
}

/// Waits until any child has ended, and returns its pid. The child is not reaped.
///
/// # Errors
///
/// The system call's error, if there is no child.
pub fn wait_for_any_end() -> io::Result<Pid> {
    loop {
        // SAFETY: siginfo_t consists of integers and pointers, so zeroed memory is a valid value. waitid
        // writes at most this live structure. `si_pid` reads bytes that are initialized in any case: by
        // waitid on success, otherwise by the zeroing.
        let (result, pid) = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let result = libc::waitid(libc::P_ALL, 0, &raw mut info, libc::WEXITED | libc::WNOWAIT);
            (result, info.si_pid())
        };
        match Pid::from_raw(pid) {
            Some(pid) if result == 0 => return Ok(pid),
            _ => {}
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// The end of a child, and the CPU time of it and of the children that it waited for.
#[derive(Debug, Clone, Copy)]
pub struct Reaped {
    /// The exit code, or 128 plus the signal.
    pub code: i32,
    /// The user CPU time.
    pub user: Duration,
    /// The system CPU time.
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
        // SAFETY: both pointers refer to live, writable memory of the correct type for the whole call.
        let result = unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) };
        if result == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: rusage consists of integers, so its zeroed memory is an initialized value, whether or
    // not the kernel has written it.
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

/// Pairs of flags that exclude each other, so that the kernel creates no process.
const CLONE_MOUNT: libc::c_long = 0x0002_0000 | 0x0200;
const CLONE_USER: libc::c_long = 0x1000_0000 | 0x0200;

/// System calls that a sandbox refuses, by name, with arguments on which no kernel can act: no valid address, no open
/// descriptor, no known flag.
const BARE: [(&str, libc::c_long, [libc::c_long; 6]); 43] = [
    ("add_key", libc::SYS_add_key, [0; 6]),
    ("adjtimex", libc::SYS_adjtimex, [0; 6]),
    ("bpf", libc::SYS_bpf, [0xffff, 0, 0, 0, 0, 0]),
    ("clock_adjtime", libc::SYS_clock_adjtime, [0; 6]),
    ("clock_settime", libc::SYS_clock_settime, [0; 6]),
    ("clone a mount namespace", libc::SYS_clone, [CLONE_MOUNT, 0, 0, 0, 0, 0]),
    ("clone a user namespace", libc::SYS_clone, [CLONE_USER, 0, 0, 0, 0, 0]),
    ("clone3", libc::SYS_clone3, [0; 6]),
    ("delete_module", libc::SYS_delete_module, [0; 6]),
    ("fanotify_init", libc::SYS_fanotify_init, [0x200, -1, 0, 0, 0, 0]),
    ("finit_module", libc::SYS_finit_module, [-1, 0, 0, 0, 0, 0]),
    ("fsconfig", libc::SYS_fsconfig, [-1, -1, 0, 0, 0, 0]),
    ("fsmount", libc::SYS_fsmount, [-1, -1, 0, 0, 0, 0]),
    ("fsopen", libc::SYS_fsopen, [0, -1, 0, 0, 0, 0]),
    ("fspick", libc::SYS_fspick, [-1, 0, -1, 0, 0, 0]),
    ("init_module", libc::SYS_init_module, [0; 6]),
    ("io_uring_enter", libc::SYS_io_uring_enter, [-1, 0, 0, 0, 0, 0]),
    ("io_uring_register", libc::SYS_io_uring_register, [-1, 0, 0, 0, 0, 0]),
    ("io_uring_setup", libc::SYS_io_uring_setup, [0; 6]),
    ("kcmp", libc::SYS_kcmp, [0, 0, 99, 0, 0, 0]),
    ("kexec_load", libc::SYS_kexec_load, [0, 0xffff, 0, -1, 0, 0]),
    ("keyctl", libc::SYS_keyctl, [0xffff, 0, 0, 0, 0, 0]),
    ("mount", libc::SYS_mount, [0; 6]),
    ("mount_setattr", libc::SYS_mount_setattr, [-1, 0, -1, 0, 0, 0]),
    ("move_mount", libc::SYS_move_mount, [-1, 0, -1, 0, -1, 0]),
    ("open_by_handle_at", libc::SYS_open_by_handle_at, [-1, 0, 0, 0, 0, 0]),
    ("open_tree", libc::SYS_open_tree, [-1, 0, -1, 0, 0, 0]),
    ("perf_event_open", libc::SYS_perf_event_open, [0; 6]),
    ("pidfd_getfd", libc::SYS_pidfd_getfd, [-1, -1, 0, 0, 0, 0]),
    ("pivot_root", libc::SYS_pivot_root, [0; 6]),
    ("process_madvise", libc::SYS_process_madvise, [-1, 0, 0, 0, 0, 0]),
    ("process_vm_readv", libc::SYS_process_vm_readv, [0; 6]),
    ("process_vm_writev", libc::SYS_process_vm_writev, [0; 6]),
    ("ptrace", libc::SYS_ptrace, [0xffff, 0x7fff_ffff, 0, 0, 0, 0]),
    ("quotactl", libc::SYS_quotactl, [-1, 0, 0, 0, 0, 0]),
    ("reboot", libc::SYS_reboot, [0; 6]),
    ("request_key", libc::SYS_request_key, [0; 6]),
    ("setns", libc::SYS_setns, [-1, 0, 0, 0, 0, 0]),
    ("settimeofday", libc::SYS_settimeofday, [0; 6]),
    ("swapon", libc::SYS_swapon, [0; 6]),
    // Returns the size of the kernel's log.
    ("syslog", libc::SYS_syslog, [10, 0, 0, 0, 0, 0]),
    ("umount2", libc::SYS_umount2, [0, -1, 0, 0, 0, 0]),
    ("userfaultfd", libc::SYS_userfaultfd, [0xffff, 0, 0, 0, 0, 0]),
];

/// Makes the system call `name` in a form without effect. The error shows whether the kernel or a filter answers.
/// `None` if `name` is not in the table of refused calls.
///
/// # Errors
///
/// The call's error.
pub fn bare_call(name: &str) -> Option<io::Result<()>> {
    let (_, number, [a, b, c, d, e, f]) = BARE.iter().find(|(known, ..)| *known == name)?;
    // SAFETY: number and arguments come from the constant table above. No argument is a valid address or
    // an open descriptor where the call expects one. The kernel therefore accesses no memory of this
    // process (an invalid pointer gives EFAULT), closes no descriptor, and creates no process or thread.
    let result = unsafe { libc::syscall(*number, *a, *b, *c, *d, *e, *f) };
    Some(if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) })
}

/// A request that acts on behalf of the user at a terminal.
#[derive(Debug, Clone, Copy)]
pub enum TerminalRequest {
    /// Types a byte.
    Type,
    /// Types a byte, with upper bits set that the kernel ignores.
    TypeWithHighBits,
    /// Reads the shift state of the console.
    Console,
}

/// Makes a request of a terminal: types one newline, or asks a harmless question.
///
/// # Errors
///
/// The system call's error.
pub fn terminal_request(terminal: BorrowedFd<'_>, request: TerminalRequest) -> io::Result<()> {
    const SHIFT_STATE: u8 = 6;
    let (number, first) = match request {
        TerminalRequest::Type => (libc::TIOCSTI, b'\n'),
        TerminalRequest::TypeWithHighBits => (libc::TIOCSTI | 1 << 32, b'\n'),
        TerminalRequest::Console => (libc::TIOCLINUX, SHIFT_STATE),
    };
    let mut bytes = [first, 0, 0, 0, 0, 0, 0, 0];
    // SAFETY: TIOCSTI reads one byte. TIOCLINUX with this subcode reads one byte and writes one. Both stay
    // within `bytes`, which is live and writable during the call.
    let result = unsafe { libc::syscall(libc::SYS_ioctl, terminal.as_raw_fd(), number, bytes.as_mut_ptr()) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
