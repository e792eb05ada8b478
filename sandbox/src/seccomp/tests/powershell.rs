//! Checks that the filter permits the system calls that PowerShell makes in a run with files, processes, jobs and native
//! programs.

use super::arguments::Verdict;
use super::{ENOSYS, TARGETS, sockets};

/// Calls that must work with any arguments.
const FREE: &str = "access arch_prctl brk chdir chmod clock_nanosleep close dup2 epoll_create1 epoll_ctl epoll_wait \
    execve exit exit_group fadvise64 fchmod fcntl flock fstat fstatfs ftruncate futex getcwd getdents64 getegid geteuid \
    getgroups getpid getrandom getrusage getsid gettid lseek lstat madvise membarrier memfd_create mkdir mmap mprotect \
    munmap newfstatat openat pipe2 poll pread64 pwrite64 read readlink rmdir rseq rt_sigaction rt_sigprocmask \
    rt_sigreturn sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getparam sched_getscheduler \
    sched_yield set_robust_list set_tid_address sigaltstack stat statfs sysinfo uname unlink vfork wait4 waitid write";
/// Calls on sockets: of the diagnostics and the named pipe of each start. PowerShell also starts without them.
const ON_SOCKETS: &str = "accept4 bind connect listen setsockopt";

#[test]
fn every_call_that_it_needs_is_allowed() {
    let mut seen = 0;
    for target in &TARGETS {
        for name in FREE.split_whitespace().chain(ON_SOCKETS.split_whitespace()) {
            // The generic table of aarch64 has no older forms of calls.
            if (target.number)(name).is_none() {
                continue;
            }
            seen += 1;
            for sockets in [sockets(false, false), sockets(true, false)] {
                for args in [[0; 6], [u64::MAX; 6]] {
                    let verdict = target.by_name(&sockets, name, args);
                    assert_eq!(verdict, Verdict::Allow, "{name} on {}", target.name);
                }
            }
        }
    }
    assert!(seen >= 140, "{seen} calls");
}

#[test]
fn the_calls_with_conditions_are_allowed_as_it_makes_them() {
    const RLIMIT_NOFILE: u64 = 7;
    const PR_SET_NAME: u64 = 15;
    const TCGETS: u64 = 0x5401;
    const TIOCGWINSZ: u64 = 0x5413;
    const FIFO: u64 = 0o010_600;
    const STREAM: u64 = 1 | 0o2_000_000;
    for target in &TARGETS {
        for (name, args) in [
            // Each thread resets its own processors. Without this, PowerShell does not start.
            ("sched_setaffinity", [0, 128, 0, 0, 0, 0]),
            ("sched_setscheduler", [0, 0, 0, 0, 0, 0]),
            ("prlimit64", [0, RLIMIT_NOFILE, 1, 1, 0, 0]),
            ("prctl", [PR_SET_NAME, 1, 0, 0, 0, 0]),
            ("ioctl", [1, TCGETS, 1, 0, 0, 0]),
            ("ioctl", [1, TIOCGWINSZ, 1, 0, 0, 0]),
            ("mknodat", [u64::from(u32::MAX - 99), 1, FIFO, 0, 0, 0]),
        ] {
            let verdict = target.by_name(&sockets(false, false), name, args);
            assert_eq!(verdict, Verdict::Allow, "{name} {args:x?} on {}", target.name);
        }
        let unix = |given| target.by_name(&given, "socket", [1, STREAM, 0, 0, 0, 0]);
        assert_eq!(unix(sockets(true, false)), Verdict::Allow);
        // The control: a profile may refuse them.
        assert!(matches!(unix(sockets(false, false)), Verdict::Errno(_)));
    }
}

/// PowerShell starts without these, and uses older calls instead.
#[test]
fn the_calls_that_it_can_do_without_are_refused_softly() {
    for target in &TARGETS {
        for name in ["clone3", "get_mempolicy"] {
            assert_eq!(target.by_name(&sockets(false, false), name, [0; 6]), ENOSYS, "{name}");
        }
        // The flags of a thread, and of a child in the memory of its parent.
        for flags in [0x003d_0f00, 0x4111] {
            let verdict = target.by_name(&sockets(false, false), "clone", [flags, 0, 0, 0, 0, 0]);
            assert_eq!(verdict, Verdict::Allow, "{flags:x} on {}", target.name);
        }
    }
}
