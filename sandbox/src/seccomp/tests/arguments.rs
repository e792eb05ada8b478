//! Tests of calls that depend on their arguments: call, arguments, verdict. They run on the part of the classic BPF
//! machine that the filters use. It does not depend on the compiler. An unsupported instruction is an error.

use super::{TARGETS, sockets};
use crate::profile::Sockets;

const EPERM: Verdict = Verdict::Errno(1);
const EAFNOSUPPORT: Verdict = Verdict::Errno(97);

/// The upper half of an argument, which the kernel ignores. It must not change the verdict.
const UPPER: u64 = 0xdead_beef_0000_0000;

#[track_caller]
fn assert_verdict(given: &Sockets, call: &str, args: &[u64], wanted: Verdict) {
    let mut found = 0;
    for target in TARGETS.iter().filter(|target| (target.number)(call).is_some()) {
        found += 1;
        for upper in [0, UPPER] {
            let mut all = [upper; 6];
            all.iter_mut().zip(args).for_each(|(place, arg)| *place |= arg);
            let verdict = target.by_name(given, call, all);
            assert_eq!(verdict, wanted, "{call} {args:x?} on {}, {given:?}", target.name);
        }
    }
    assert!(found > 0, "no `{call}` anywhere");
}

#[track_caller]
fn allowed(call: &str, args: &[u64]) {
    assert_verdict(&sockets(false, false), call, args, Verdict::Allow);
    assert_verdict(&sockets(true, true), call, args, Verdict::Allow);
}

#[track_caller]
fn refused(call: &str, args: &[u64], wanted: Verdict) {
    assert_verdict(&sockets(false, false), call, args, wanted);
    assert_verdict(&sockets(true, true), call, args, wanted);
}

fn wide(value: i32) -> u64 {
    u64::from(value.cast_unsigned())
}

#[test]
fn clone_makes_processes_and_threads_and_no_namespace() {
    allowed("clone", &[wide(libc::SIGCHLD)]);
    let thread =
        libc::CLONE_VM | libc::CLONE_FS | libc::CLONE_FILES | libc::CLONE_SIGHAND | libc::CLONE_THREAD;
    let more =
        libc::CLONE_SYSVSEM | libc::CLONE_SETTLS | libc::CLONE_PARENT_SETTID | libc::CLONE_CHILD_CLEARTID;
    allowed("clone", &[wide(thread | more)]);
    allowed("clone", &[wide(libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD)]);
    let namespaces = [
        libc::CLONE_NEWNS,
        libc::CLONE_NEWCGROUP,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
    ];
    for namespace in namespaces {
        refused("clone", &[wide(namespace)], EPERM);
        refused("clone", &[wide(namespace | thread | more | libc::SIGCHLD)], EPERM);
    }
    refused("clone", &[wide(namespaces.into_iter().fold(0, |all, one| all | one))], EPERM);
}

#[test]
fn only_a_few_families_of_sockets_can_be_made() {
    let flags = [0, wide(libc::SOCK_CLOEXEC), wide(libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK)];
    for family in [libc::AF_INET, libc::AF_INET6].map(wide) {
        for flag in flags {
            for protocol in [0, libc::IPPROTO_TCP].map(wide) {
                allowed("socket", &[family, wide(libc::SOCK_STREAM) | flag, protocol]);
            }
            for protocol in [0, libc::IPPROTO_UDP].map(wide) {
                allowed("socket", &[family, wide(libc::SOCK_DGRAM) | flag, protocol]);
            }
        }
        for protocol in [libc::IPPROTO_SCTP, libc::IPPROTO_DCCP, 262].map(wide) {
            refused("socket", &[family, wide(libc::SOCK_STREAM), protocol], EAFNOSUPPORT);
        }
        for kind in [libc::SOCK_RAW, libc::SOCK_RDM, libc::SOCK_SEQPACKET, libc::SOCK_DCCP] {
            refused("socket", &[family, wide(kind), 0], EAFNOSUPPORT);
        }
    }
    // AF_UNSPEC, and all families from AX.25 on, including packet, alg, vsock and XDP.
    let others = [0].into_iter().chain(3..64).filter(|family| !matches!(family, 10 | 16));
    for family in others.chain([u64::from(u32::MAX)]) {
        for kind in 1..=6 {
            refused("socket", &[family, kind, 0], EAFNOSUPPORT);
            refused("socketpair", &[family, kind, 0], EAFNOSUPPORT);
        }
    }
    for family in [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK].map(wide) {
        refused("socketpair", &[family, 1, 0], EAFNOSUPPORT);
    }
}

#[test]
fn sockets_of_unix_and_netlink_are_by_profile() {
    let unix = wide(libc::AF_UNIX);
    for kind in [libc::SOCK_STREAM, libc::SOCK_DGRAM, libc::SOCK_SEQPACKET].map(wide) {
        for netlink_route in [false, true] {
            let (on, off) = (sockets(true, netlink_route), sockets(false, netlink_route));
            assert_verdict(&on, "socket", &[unix, kind, 0], Verdict::Allow);
            assert_verdict(&off, "socket", &[unix, kind, 0], EAFNOSUPPORT);
            assert_verdict(&on, "socketpair", &[unix, kind, 0], Verdict::Allow);
            // A pair that is connected permanently cannot reach another socket.
            let pair = if kind == wide(libc::SOCK_DGRAM) { EAFNOSUPPORT } else { Verdict::Allow };
            assert_verdict(&off, "socketpair", &[unix, kind | wide(libc::SOCK_CLOEXEC), 0], pair);
        }
    }
    let netlink = wide(libc::AF_NETLINK);
    for kind in [libc::SOCK_RAW, libc::SOCK_DGRAM, libc::SOCK_RAW | libc::SOCK_CLOEXEC].map(wide) {
        for unix in [false, true] {
            let route = [netlink, kind, wide(libc::NETLINK_ROUTE)];
            assert_verdict(&sockets(unix, true), "socket", &route, Verdict::Allow);
            assert_verdict(&sockets(unix, false), "socket", &route, EAFNOSUPPORT);
            // Netfilter, audit, uevents, generic and others.
            for protocol in 1..32 {
                assert_verdict(&sockets(unix, true), "socket", &[netlink, kind, protocol], EAFNOSUPPORT);
            }
        }
    }
}

#[test]
fn terminals_cannot_be_typed_into() {
    for request in [libc::TIOCSTI, libc::TIOCLINUX, libc::TIOCSETD] {
        refused("ioctl", &[0, request], EPERM);
        refused("ioctl", &[7, request, u64::MAX >> 32], EPERM);
    }
    for request in [libc::TCGETS, libc::TIOCGWINSZ, libc::TIOCSWINSZ, libc::FIONREAD, libc::FIONBIO] {
        allowed("ioctl", &[0, request]);
    }
}

#[test]
fn processes_are_changed_by_themselves_only() {
    for call in ["prlimit64", "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler"] {
        allowed(call, &[0, 7]);
        for process in [1, 2, 1000, wide(-1)] {
            refused(call, &[process, 7], EPERM);
        }
    }
    // Process, group, user.
    let kinds = [("setpriority", libc::PRIO_PROCESS.cast_signed()), ("ioprio_set", 1)];
    for (call, own) in kinds {
        allowed(call, &[wide(own), 0, 5]);
        refused(call, &[wide(own), 1, 5], EPERM);
        for other in (0..5).filter(|&kind| kind != own) {
            refused(call, &[wide(other), 0, 5], EPERM);
        }
    }
}

#[test]
fn no_device_can_be_made_and_pipes_can() {
    let mode = |kind: u32| u64::from(kind | 0o666);
    for (call, before) in [("mknodat", vec![wide(libc::AT_FDCWD), 0]), ("mknod", vec![0])] {
        let with = |mode: u64| [before.clone(), vec![mode, 0]].concat();
        for kind in [0, libc::S_IFREG, libc::S_IFIFO, libc::S_IFSOCK] {
            allowed(call, &with(mode(kind)));
        }
        for kind in [libc::S_IFCHR, libc::S_IFBLK, libc::S_IFDIR, libc::S_IFLNK] {
            refused(call, &with(mode(kind)), EPERM);
        }
    }
}

#[test]
fn oneself_is_changed_within_bounds() {
    for option in [libc::PR_SET_NAME, libc::PR_SET_PDEATHSIG, libc::PR_SET_NO_NEW_PRIVS, libc::PR_GET_SECCOMP]
    {
        allowed("prctl", &[wide(option)]);
    }
    refused("prctl", &[wide(libc::PR_SCHED_CORE)], EPERM);
    for persona in [0, 8, wide(libc::ADDR_NO_RANDOMIZE), 0xffff_ffff] {
        allowed("personality", &[persona]);
    }
    for persona in [libc::READ_IMPLIES_EXEC, libc::MMAP_PAGE_ZERO, libc::ADDR_COMPAT_LAYOUT].map(wide) {
        refused("personality", &[persona], EPERM);
    }
}

/// The data of a call that a filter sees.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    pub(crate) arch: u32,
    pub(crate) number: u32,
    pub(crate) args: [u64; 6],
}

/// The kernel's reaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Allow,
    Errno(u32),
    KillProcess,
    /// Refused with ENOSYS unless a second filter selects this error.
    Watched(u32),
    /// The process with the listener answers.
    Notify,
}

struct Instruction {
    code: u16,
    jt: u8,
    jf: u8,
    k: u32,
}

fn instruction(program: &[u8], at: usize) -> Instruction {
    let bytes = &program[at * 8..at * 8 + 8];
    Instruction {
        code: u16::from_le_bytes([bytes[0], bytes[1]]),
        jt: bytes[2],
        jf: bytes[3],
        k: u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
    }
}

fn load(call: &Call, offset: u32) -> u32 {
    // struct seccomp_data: number, arch, instruction pointer (8 bytes), six arguments of 8 bytes, low half first.
    match offset {
        0 => call.number,
        4 => call.arch,
        16..64 => {
            let arg = call.args[usize::try_from((offset - 16) / 8).unwrap()];
            let half = if offset.is_multiple_of(8) { arg & 0xffff_ffff } else { arg >> 32 };
            u32::try_from(half).unwrap()
        }
        _ => panic!("a load from {offset}"),
    }
}

/// Runs a filter for a call.
pub(super) fn run(program: &[u8], call: &Call) -> Verdict {
    assert_eq!(program.len() % 8, 0);
    let (mut at, mut accumulator) = (0, 0);
    loop {
        let Instruction { code, jt, jf, k } = instruction(program, at);
        at += 1;
        let mut branch = |holds: bool| at += usize::from(if holds { jt } else { jf });
        match code {
            0x20 => accumulator = load(call, k),
            0x54 => accumulator &= k,
            0x05 => at += usize::try_from(k).unwrap(),
            0x15 => branch(accumulator == k),
            0x25 => branch(accumulator > k),
            0x35 => branch(accumulator >= k),
            0x45 => branch(accumulator & k != 0),
            0x06 => return verdict(k),
            _ => panic!("instruction {code:#x} at {at}"),
        }
    }
}

fn verdict(value: u32) -> Verdict {
    match (value & 0xffff_0000, value & 0xffff) {
        (0x7fff_0000, _) => Verdict::Allow,
        (0x0005_0000, errno) => Verdict::Errno(errno),
        (0x7fc0_0000, _) => Verdict::Notify,
        (0x7ff0_0000, errno) => Verdict::Watched(errno),
        (0x8000_0000, _) => Verdict::KillProcess,
        _ => panic!("an answer of {value:#x}"),
    }
}
