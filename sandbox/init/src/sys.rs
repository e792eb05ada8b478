//! The system calls that no safe wrapper covers: the one module of the
//! workspace in which `unsafe` is allowed.
//!
//! Must not grow: a call that `nix` or `rustix` offers belongs there.
#![expect(unsafe_code, reason = "no safe wrapper covers these calls as they are needed here")]

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::Pid;

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

/// Attributes of a mount beside `nosuid` and `nodev`, which every one gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MountAttributes {
    /// Whether it cannot be written.
    pub read_only: bool,
    /// Whether nothing of it can be executed.
    pub no_exec: bool,
}

/// Sets the attributes of the mount whose root `mount` is.
///
/// # Errors
///
/// The system call's error; `ENOSYS` before Linux 5.12.
pub fn set_mount_attributes(mount: BorrowedFd<'_>, attributes: MountAttributes) -> Result<(), Errno> {
    const READ_ONLY: u64 = 1;
    const NO_SUID: u64 = 2;
    const NO_DEVICES: u64 = 4;
    const NO_EXEC: u64 = 8;
    /// `struct mount_attr` of the kernel, in its first version.
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
    // SAFETY: the path is an empty C string and `attr` a live structure of the
    // size that is given; the kernel reads both and writes neither. The descriptor
    // is borrowed, and stays open.
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

/// Counts a folder, and everything that will be made below it, for project `id`.
/// What is in it already is not counted.
///
/// # Errors
///
/// The system call's error; `ENOTTY` or `EOPNOTSUPP` where the file system knows
/// no projects.
pub fn set_project(folder: BorrowedFd<'_>, id: u32) -> Result<(), Errno> {
    /// FS_IOC_FSGETXATTR and FS_IOC_FSSETXATTR of the kernel.
    const GET: libc::c_long = 0x801c_581f;
    const SET: libc::c_long = 0x401c_5820;
    const INHERIT: u32 = 0x200;
    /// `struct fsxattr` of the kernel.
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
        // SAFETY: both requests move one structure of this layout, 28 bytes as their
        // numbers say, to or from `attributes`, which is live and writable. The
        // descriptor is borrowed, and stays open.
        let result =
            unsafe { libc::syscall(libc::SYS_ioctl, folder.as_raw_fd(), request, &raw mut attributes) };
        if result != 0 {
            return Err(last_errno());
        }
        attributes.project = id;
        attributes.flags |= INHERIT;
    }
    Ok(())
}

/// Sets the most that project `id` may take of the file system that `folder` is on;
/// 0 is no limit.
///
/// # Errors
///
/// The system call's error; `ESRCH` where the file system is mounted without quotas
/// of projects, `ENOSYS` before Linux 5.14 or without quotas.
pub fn limit_project(folder: BorrowedFd<'_>, id: u32, bytes: u64, inodes: u64) -> Result<(), Errno> {
    /// The number of quotactl_fd, on every architecture.
    const QUOTACTL_FD: libc::c_long = 443;
    /// Q_SETQUOTA for quotas of projects.
    const SET: libc::c_long = 0x8000_0802;
    /// The kernel's blocks, in bytes.
    const BLOCK: u64 = 1024;
    /// That both limits are given.
    const LIMITS: u32 = 1 | 4;
    /// `struct if_dqblk` of the kernel.
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
    // SAFETY: this request reads one structure of this layout from `quota`, which is
    // live, and writes nothing. The descriptor is borrowed, and stays open.
    let result = unsafe { libc::syscall(QUOTACTL_FD, folder.as_raw_fd(), SET, id, &raw const quota) };
    if result == 0 { Ok(()) } else { Err(last_errno()) }
}

fn last_errno() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}

/// The two sides of [`clone_beside`].
#[derive(Debug)]
pub enum Cloned {
    /// The caller: number and descriptor of the new process.
    Caller(i32, OwnedFd),
    /// The new process.
    New,
}

/// Goes on in a second process: a child of the caller's own parent, pid 1 of a
/// new namespace of processes, and in `cgroup` from its first instruction on
/// where one is given.
///
/// # Errors
///
/// The system call's error. Refused where this process has a second thread: what
/// that one had locked would stay locked in the new process.
pub fn clone_beside(cgroup: Option<BorrowedFd<'_>>) -> io::Result<Cloned> {
    const INTO_CGROUP: u64 = 0x2_0000_0000;
    // The links of this folder are two and the threads.
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
    // SAFETY: without CLONE_VM and a stack this is fork: the new process has a
    // copy of all memory, and as there is one thread, no lock is held in it.
    // `args` is read only, and `pidfd`, to which it points, is live and writable.
    let result = unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size_of_val(&args)) };
    match i32::try_from(result) {
        Ok(0) => Ok(Cloned::New),
        Ok(pid) if pid > 0 => {
            // SAFETY: the call has succeeded, so it has put a descriptor there
            // that is nobody else's.
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
    /// Its words, itself first.
    pub words: Vec<CString>,
    /// Its whole environment.
    pub env: Vec<CString>,
}

/// Starts a program in a process group of its own, or in a session of its own whose
/// terminal is its input, with these three descriptors as its first. It has no other that is not inherited on purpose, and its directory is the
/// caller's: each goes where the other goes, until it has forked.
///
/// # Errors
///
/// The system call's error, that of the program's execution too: then nothing runs.
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
        return Err(io::Error::other("a descriptor stands where the program's are to be"));
    }
    let (said, say) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let say_number = say.as_raw_fd();
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: without CLONE_VM and a stack this is fork, but for the directory. The new
    // process has a copy of all memory; other threads are not in it and may have held
    // locks, so it does nothing but system calls on what was made before: every pointer
    // is to an array of C strings that ends with a null, and lives in its copy.
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

/// Waits until any child has ended, and says which. It is not reaped.
///
/// # Errors
///
/// The system call's error: there is no child.
pub fn wait_for_any_end() -> io::Result<Pid> {
    loop {
        // SAFETY: siginfo_t is plain integers and pointers, for which zeroed memory is
        // a value; the call writes it and nothing else, and si_pid is set by it.
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

/// Flags of which the two of each pair exclude each other: nothing is forked.
const CLONE_MOUNT: libc::c_long = 0x0002_0000 | 0x0200;
const CLONE_USER: libc::c_long = 0x1000_0000 | 0x0200;

/// System calls that a sandbox refuses, by name, with arguments on which no
/// kernel can act: no valid address, no open descriptor, no known flag.
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
    // Asks for the size of the kernel's log.
    ("syslog", libc::SYS_syslog, [10, 0, 0, 0, 0, 0]),
    ("umount2", libc::SYS_umount2, [0, -1, 0, 0, 0, 0]),
    ("userfaultfd", libc::SYS_userfaultfd, [0xffff, 0, 0, 0, 0, 0]),
];

/// Makes the system call `name` in a form that changes nothing, to see who
/// answers: the kernel, or a filter before it. `None` if it is not one of those
/// that a sandbox refuses.
///
/// # Errors
///
/// The answer, where it is not success.
pub fn bare_call(name: &str) -> Option<io::Result<()>> {
    let (_, number, [a, b, c, d, e, f]) = BARE.iter().find(|(known, ..)| *known == name)?;
    // SAFETY: the number and the arguments are those of the table above. No
    // argument is a valid address or an open descriptor, so no memory of this
    // process is read or written, nothing owned is closed, and no process or
    // thread is made; a pointer that is not valid is EFAULT.
    let result = unsafe { libc::syscall(*number, *a, *b, *c, *d, *e, *f) };
    Some(if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) })
}

/// A request by which a process acts in the name of who sits at its terminal.
#[derive(Debug, Clone, Copy)]
pub enum TerminalRequest {
    /// Types a byte.
    Type,
    /// The same, with bits set that the kernel does not look at.
    TypeWithHighBits,
    /// Asks the console for its shift keys.
    Console,
}

/// Makes a request of a terminal: one newline typed, or a harmless question.
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
    // SAFETY: TIOCSTI reads one byte; TIOCLINUX with this question reads one
    // byte and writes one. Both are in the array, which lives through the call.
    let result = unsafe { libc::syscall(libc::SYS_ioctl, terminal.as_raw_fd(), number, bytes.as_mut_ptr()) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
