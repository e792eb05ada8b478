//! Tests of the compiled filters against the lists, for both architectures, in a small BPF machine.

mod arguments;
mod powershell;
mod watched;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::str::FromStr;

use arguments::{Call, Verdict, run};
use syscalls::{aarch64, x86_64};

use super::{AARCH64, Programs, X86_64};
use crate::profile::Sockets;

/// One architecture under test.
struct Target {
    name: &'static str,
    arch: u32,
    programs: &'static Programs,
    number: fn(&str) -> Option<u32>,
}

const TARGETS: [Target; 2] = [
    Target {
        name: "x86_64",
        arch: 0xc000_003e,
        programs: &X86_64,
        number: |name| x86_64::Sysno::from_str(name).ok().map(|found| u32::try_from(found.id()).unwrap()),
    },
    Target {
        name: "aarch64",
        arch: 0xc000_00b7,
        programs: &AARCH64,
        number: |name| aarch64::Sysno::from_str(name).ok().map(|found| u32::try_from(found.id()).unwrap()),
    },
];

const ENOSYS: Verdict = Verdict::Errno(38);

fn sockets(unix: bool, netlink_route: bool) -> Sockets {
    Sockets { unix, netlink_route, ..Sockets::default() }
}

fn every_choice() -> [Sockets; 4] {
    [sockets(false, false), sockets(true, false), sockets(false, true), sockets(true, true)]
}

impl Target {
    fn by_number(&self, sockets: &Sockets, number: u32, args: [u64; 6]) -> Verdict {
        run(self.programs.filter(sockets), &Call { arch: self.arch, number, args })
    }

    fn by_name(&self, sockets: &Sockets, name: &str, args: [u64; 6]) -> Verdict {
        let number = (self.number)(name).unwrap_or_else(|| panic!("no `{name}` on {}", self.name));
        self.by_number(sockets, number, args)
    }
}

fn list(name: &str) -> toml::Table {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("seccomp").join(name);
    fs::read_to_string(path).unwrap().parse().unwrap()
}

/// Returns the calls of a list that exist on an architecture, each with its group.
fn calls(target: &Target, file: &str, key: &str) -> Vec<(String, toml::Table)> {
    let groups = list(file)[key].as_array().unwrap().clone();
    let groups = groups.into_iter().map(|group| group.as_table().unwrap().clone());
    let groups = groups
        .filter(|group| group.get("only").is_none_or(|only| only.as_str() == Some(target.name)))
        .collect::<Vec<_>>();
    let names = |group: &toml::Table| match group.get("call") {
        Some(call) => vec![call.clone()],
        None => group["calls"].as_array().unwrap().clone(),
    };
    let named = groups.iter().flat_map(|group| names(group).into_iter().map(move |name| (name, group)));
    named.map(|(name, group)| (name.as_str().unwrap().to_owned(), group.clone())).collect()
}

fn is_reported(group: &toml::Table) -> bool {
    group.get("report").is_some_and(|report| report.as_bool().unwrap())
}

#[test]
fn every_allowed_call_is_allowed_whatever_its_arguments() {
    for target in &TARGETS {
        let allowed = calls(target, "allow.toml", "allow");
        assert!(allowed.len() > 190, "{}", target.name);
        for (name, _) in allowed {
            for args in [[0; 6], [u64::MAX; 6]] {
                for sockets in every_choice() {
                    let verdict = target.by_name(&sockets, &name, args);
                    assert_eq!(verdict, Verdict::Allow, "{name} on {}", target.name);
                }
            }
        }
    }
}

#[test]
fn every_refused_call_is_refused_with_its_error() {
    let errors = BTreeMap::from([("EPERM", 1), ("ENOSYS", 38), ("EOPNOTSUPP", 95)]);
    for target in &TARGETS {
        let refused = calls(target, "refused.toml", "refused");
        assert!(refused.len() > 60, "{}", target.name);
        for (name, group) in refused {
            let errno = errors[group["errno"].as_str().unwrap()];
            for args in [[0; 6], [u64::MAX; 6]] {
                for sockets in every_choice() {
                    let verdict = target.by_name(&sockets, &name, args);
                    let wanted = match is_reported(&group) {
                        true => Verdict::Watched(errno),
                        false => Verdict::Errno(errno),
                    };
                    assert_eq!(verdict, wanted, "{name} on {}", target.name);
                }
            }
        }
    }
}

/// Lists the promised calls by name. A call that is missing in the lists would not be noticed above.
#[test]
fn what_is_promised_to_be_out_of_reach_is() {
    let promised = "mount umount2 pivot_root open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr \
        chroot unshare setns clone3 ptrace process_vm_readv process_vm_writev pidfd_getfd kcmp bpf \
        perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register keyctl add_key request_key \
        syslog init_module finit_module delete_module kexec_load kexec_file_load clock_settime settimeofday \
        adjtimex clock_adjtime reboot open_by_handle_at name_to_handle_at swapon swapoff acct quotactl \
        sethostname setdomainname fanotify_init io_setup process_madvise memfd_secret lookup_dcookie \
        nfsservctl vmsplice lsm_set_self_attr file_setattr";
    for target in &TARGETS {
        for name in promised.split_whitespace() {
            for sockets in every_choice() {
                let verdict = target.by_name(&sockets, name, [0; 6]);
                let refused = matches!(verdict, Verdict::Errno(_) | Verdict::Watched(_));
                assert!(refused, "{name} on {}: {verdict:?}", target.name);
            }
        }
    }
}

#[test]
fn a_call_in_no_list_returns_enosys() {
    for target in &TARGETS {
        let files = [("allow.toml", "allow"), ("checked.toml", "checked"), ("refused.toml", "refused")];
        let listed = files.into_iter().flat_map(|(file, key)| calls(target, file, key));
        let numbers: BTreeSet<_> = listed.map(|(name, _)| (target.number)(&name).unwrap()).collect();
        for number in (0..4096).filter(|number| !numbers.contains(number)) {
            for args in [[0; 6], [u64::MAX; 6]] {
                assert_eq!(target.by_number(&sockets(true, true), number, args), ENOSYS, "{number}");
            }
        }
    }
}

#[test]
fn numbers_of_x32_are_not_there() {
    const X32: u32 = 0x4000_0000;
    for number in 0..1024 {
        assert_eq!(TARGETS[0].by_number(&sockets(true, true), X32 | number, [0; 6]), ENOSYS, "{number}");
    }
    for number in [u32::MAX, X32 | 0x8000_0000, 1 << 31] {
        assert_eq!(TARGETS[0].by_number(&sockets(true, true), number, [0; 6]), ENOSYS, "{number}");
    }
}

#[test]
fn another_architecture_ends_the_process() {
    // i386, arm, aarch64, x86_64, big-endian aarch64, and none.
    for arch in [0x4000_0003, 0x4000_0028, 0xc000_00b7, 0xc000_003e, 0x8000_00b7, 0] {
        for target in TARGETS.iter().filter(|target| target.arch != arch) {
            for number in 0..512 {
                let program = target.programs.filter(&sockets(true, true));
                let verdict = run(program, &Call { arch, number, args: [0; 6] });
                assert_eq!(verdict, Verdict::KillProcess, "{number} of {arch:#x} on {}", target.name);
            }
        }
    }
}

/// The compiler and the tests above share one table of numbers. This test compares it with another source.
#[test]
fn numbers_are_the_kernels() {
    #[cfg(target_arch = "x86_64")]
    for (name, number) in [
        ("openat", libc::SYS_openat),
        ("clone", libc::SYS_clone),
        ("clone3", libc::SYS_clone3),
        ("ioctl", libc::SYS_ioctl),
        ("socket", libc::SYS_socket),
        ("ptrace", libc::SYS_ptrace),
        ("unshare", libc::SYS_unshare),
        ("setns", libc::SYS_setns),
        ("bpf", libc::SYS_bpf),
        ("keyctl", libc::SYS_keyctl),
        ("prlimit64", libc::SYS_prlimit64),
        ("mount_setattr", libc::SYS_mount_setattr),
        ("landlock_restrict_self", libc::SYS_landlock_restrict_self),
        ("io_uring_setup", libc::SYS_io_uring_setup),
        ("process_vm_readv", libc::SYS_process_vm_readv),
        ("uretprobe", 335),
        ("mseal", libc::SYS_mseal),
    ] {
        assert_eq!((TARGETS[0].number)(name).map(i64::from), Some(number), "{name}");
    }
    // The generic table, which this architecture uses.
    for (name, number) in [
        ("ioctl", 29),
        ("mknodat", 33),
        ("openat", 56),
        ("personality", 92),
        ("unshare", 97),
        ("ptrace", 117),
        ("sched_setaffinity", 122),
        ("prctl", 167),
        ("socket", 198),
        ("socketpair", 199),
        ("clone", 220),
        ("prlimit64", 261),
        ("setns", 268),
        ("clone3", 435),
    ] {
        assert_eq!((TARGETS[1].number)(name), Some(number), "{name}");
    }
}

#[test]
fn every_filter_fits_into_the_kernel() {
    for target in &TARGETS {
        for sockets in every_choice() {
            let program = target.programs.filter(&sockets);
            assert!(program.len() % 8 == 0 && program.len() / 8 <= 4096, "{}", program.len());
        }
    }
}
