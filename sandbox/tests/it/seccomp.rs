//! Tests of the system call filter from inside the sandbox. Each stopped call has a control in a plain bubblewrap
//! sandbox that has every similar layer except this one. Other tests check the calls that the filter must not stop.
//!
//! Every attempt is harmless if it succeeds: it changes at most its own process.

mod program;
mod reported;

use std::fs;
use std::path::Path;
use std::process::Command;

use airlock_sandbox::{Cause, Started};
use program::{TEXT, of_call, of_i386_call};

use crate::support::{BWRAP, Host, OrdinaryRunner, finish};

const EPERM: u8 = 1;
const ENOSYS: u8 = 38;
const EOPNOTSUPP: u8 = 95;
const EAFNOSUPPORT: u8 = 97;
/// The exit code of a process that SIGSYS ended.
const BAD_CALL: u8 = 128 + 31;
const NONE: u64 = u64::MAX;

/// Runs a script in a directory of programs as the user nobody, in new namespaces and without capabilities, but without
/// Airlock's filter.
fn plain(directory: &Path, script: &str) -> String {
    let output = Command::new("setpriv")
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
        .args([BWRAP, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"])
        .arg("--ro-bind")
        .arg(directory)
        .args(["/mnt", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net"])
        .args(["--cap-drop", "ALL", "--new-session", "--die-with-parent", "--chdir", "/tmp"])
        .args(["bash", "-c", script])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

struct Attempt {
    name: &'static str,
    program: Vec<u8>,
    /// The kernel's answer without a filter.
    control: u8,
    inside: u8,
}

fn attempt(name: &'static str, number: i64, args: &[u64], control: u8, inside: u8) -> Attempt {
    Attempt { name, program: of_call(number.cast_unsigned(), args), control, inside }
}

/// Writes the programs to a directory that is shown at `/mnt`, and runs all of them in both sandboxes.
fn assert_stopped(attempts: &[Attempt]) {
    let mut host = Host::new();
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    for Attempt { name, program, .. } in attempts {
        program::write(&directory.path().join(name), program);
    }
    host.profile = host.profile.clone().with_bind(directory.path(), "/mnt");
    let lines = |code: fn(&Attempt) -> u8| {
        attempts.iter().map(|attempt| format!("{} {}\n", attempt.name, code(attempt))).collect::<String>()
    };
    let names: Vec<_> = attempts.iter().map(|attempt| attempt.name).collect();
    let script = format!("for name in {}; do /mnt/$name; echo $name $?; done 2>/dev/null", names.join(" "));
    let script = format!("{{ {script}; }}");
    assert_eq!(plain(directory.path(), &script), lines(|attempt| attempt.control), "the control");
    assert_eq!(host.sh(&script).stdout, lines(|attempt| attempt.inside), "inside");
    let read_only = host.run(&host.session(), &host.read_only_spec(&script));
    assert_eq!(read_only.stdout, lines(|attempt| attempt.inside), "inside, read-only");
}

#[test]
fn no_namespace_is_made_or_joined() {
    assert_stopped(&[
        attempt("unshare-nothing", libc::SYS_unshare, &[0], 0, EPERM),
        attempt("unshare-files", libc::SYS_unshare, &[0x400], 0, EPERM),
        attempt("setns", libc::SYS_setns, &[NONE, 0], 9, EPERM),
        // A new user namespace with a shared file system is an invalid combination.
        attempt("clone-user", libc::SYS_clone, &[0x1000_0000 | 0x200], 22, EPERM),
        attempt("clone-user-upper-bits", libc::SYS_clone, &[0xffff_ffff_1000_0200], 22, EPERM),
        attempt("clone3", libc::SYS_clone3, &[0, 0], 22, ENOSYS),
    ]);
}

#[test]
fn no_other_process_is_read_traced_or_changed() {
    assert_stopped(&[
        attempt("ptrace-me", libc::SYS_ptrace, &[0], 0, EPERM),
        attempt("process-vm-readv", libc::SYS_process_vm_readv, &[0; 6], 0, EPERM),
        attempt("process-vm-writev", libc::SYS_process_vm_writev, &[0; 6], 0, EPERM),
        attempt("pidfd-getfd", libc::SYS_pidfd_getfd, &[NONE, 0, 0], 9, EPERM),
        attempt("kcmp", libc::SYS_kcmp, &[0; 5], 3, EPERM),
        attempt("process-madvise", libc::SYS_process_madvise, &[NONE, 0, 0, 4, 0], 9, EPERM),
        attempt("limits-of-pid-1", libc::SYS_prlimit64, &[1, 7, 0, 0], 0, EPERM),
        attempt("limits-of-pid-2", libc::SYS_prlimit64, &[2, 7, 0, 0], 0, EPERM),
        attempt("affinity-of-pid-1", libc::SYS_sched_setaffinity, &[1, 8, 0], 14, EPERM),
        attempt("scheduler-of-pid-1", libc::SYS_sched_setscheduler, &[1, 0, 0], 22, EPERM),
        attempt("priority-of-pid-1", libc::SYS_setpriority, &[0, 1, 19], 0, EPERM),
        attempt("priority-of-the-user", libc::SYS_setpriority, &[2, 0, 19], 0, EPERM),
        attempt("io-priority-of-pid-1", libc::SYS_ioprio_set, &[1, 1, 0], 0, EPERM),
    ]);
}

#[test]
fn the_wide_parts_of_the_kernel_are_not_there() {
    assert_stopped(&[
        attempt("keyctl", libc::SYS_keyctl, &[0, NONE - 2, 0], 0, ENOSYS),
        attempt("add-key", libc::SYS_add_key, &[0; 5], 14, ENOSYS),
        attempt("request-key", libc::SYS_request_key, &[0; 4], 14, ENOSYS),
        attempt("io-uring", libc::SYS_io_uring_setup, &[1, 0], 14, ENOSYS),
        attempt("native-aio", libc::SYS_io_setup, &[1, 0], 14, ENOSYS),
        attempt("userfaultfd", libc::SYS_userfaultfd, &[1], 0, EPERM),
        attempt("perf", libc::SYS_perf_event_open, &[0, 0, NONE, NONE, 0], 14, EPERM),
        attempt("adjtimex", libc::SYS_adjtimex, &[0], 14, EPERM),
        attempt("clock-adjtime", libc::SYS_clock_adjtime, &[0, 0], 14, EPERM),
        attempt("open-tree", libc::SYS_open_tree, &[NONE, 0, 0], 14, EPERM),
        attempt("handle", libc::SYS_name_to_handle_at, &[NONE, TEXT, 0, 0, 0], 9, EOPNOTSUPP),
        attempt("personality", libc::SYS_personality, &[0x20_0000], 0, EPERM),
        attempt("unlisted", libc::SYS_vmsplice, &[NONE, 0, 0, 0], 9, ENOSYS),
        attempt("no-call-at-all", 4095, &[], ENOSYS, ENOSYS),
    ]);
}

#[test]
fn sockets_of_other_families_cannot_be_made() {
    let socket = libc::SYS_socket;
    assert_stopped(&[
        attempt("netlink-route", socket, &[16, 3, 0], 0, EAFNOSUPPORT),
        attempt("netlink-audit", socket, &[16, 3, 9], 0, EAFNOSUPPORT),
        attempt("vsock", socket, &[40, 1, 0], 0, EAFNOSUPPORT),
        attempt("internet", socket, &[2, 1, 0], 0, 0),
        attempt("unix", socket, &[1, 1, 0], 0, 0),
    ]);
}

#[test]
fn no_device_can_be_made_even_one_that_needs_no_capability() {
    // The device 0:0, which overlay file systems use to mark deleted files.
    let device = 0o020_666;
    let here = NONE - 99;
    assert_stopped(&[
        attempt("mknodat", libc::SYS_mknodat, &[here, TEXT, device, 0], 0, EPERM),
        attempt("mknod", libc::SYS_mknod, &[TEXT, device, 0], 17, EPERM),
    ]);
}

#[test]
fn a_call_of_another_architecture_ends_the_process() {
    const GETPID: u32 = 20;
    let program = of_i386_call(GETPID);
    assert_stopped(&[Attempt { name: "i386", program, control: 0, inside: BAD_CALL }]);
}

#[test]
fn a_terminal_cannot_be_typed_into() {
    let request = 0x5412;
    let host = Host::new();
    let session = host.session();
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let bound = Host { profile: host.profile.clone().with_bind(directory.path(), "/mnt"), ..host };
    // The text to type is at an invalid address, so the control types no text.
    for (name, request) in [("type", request), ("type-upper-bits", request | 1 << 32)] {
        program::write(&directory.path().join(name), &of_call(16, &[0, request, 0]));
        let script = format!("script -qec /mnt/{name} /dev/null >/dev/null; echo $?");
        // The kernel itself refuses the call only if it was built without it.
        assert!(["14\n", "5\n"].contains(&plain(directory.path(), &script).as_str()), "the control");
        assert_eq!(bound.run(&session, &bound.spec(&script)).stdout, format!("{EPERM}\n"));
    }
}

#[test]
fn a_profile_says_which_sockets_there_are() {
    let mut host = Host::new();
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let calls = [
        ("unix", libc::SYS_socket, [1, 1, 0]),
        ("route", libc::SYS_socket, [16, 3, 0]),
        ("audit", libc::SYS_socket, [16, 3, 9]),
        ("pair", libc::SYS_socketpair, [1, 1, 0]),
        ("datagram-pair", libc::SYS_socketpair, [1, 2, 0]),
    ];
    for (name, number, args) in calls {
        program::write(&directory.path().join(name), &of_call(number.cast_unsigned(), &args));
    }
    host.profile = host.profile.clone().with_bind(directory.path(), "/mnt");
    let session = host.session();
    let script = "for name in unix route audit pair datagram-pair; do /mnt/$name; echo $?; done";
    // An allowed pair without an address returns EFAULT.
    for (unix, netlink_route, wanted) in [
        (true, false, "0\n97\n97\n14\n14\n"),
        (false, false, "97\n97\n97\n14\n97\n"),
        (true, true, "0\n0\n97\n14\n14\n"),
        (false, true, "97\n0\n97\n14\n97\n"),
    ] {
        host.profile.sockets.unix = unix;
        host.profile.sockets.netlink_route = netlink_route;
        let output = host.run(&session, &host.spec(script));
        assert_eq!(output.stdout, wanted, "unix {unix}, netlink_route {netlink_route}");
    }
}

#[test]
fn a_bubblewrap_that_applies_no_filter_starts_nothing() {
    // The arguments are: --json-status-fd FD --seccomp FD --args FD -- PROGRAM MODE.
    let forgets = "words=(\"$@\"); for i in \"${!words[@]}\"; do if [ \"${words[i]}\" = --seccomp ]; then \
        at=$i; fi; done; filter=${words[at+1]}; eval \"exec $filter<&-\"; unset 'words[at]' 'words[at+1]'; \
        exec /usr/bin/bwrap \"${words[@]}\"";
    let host = Host::new().with_bwrap(forgets);
    let error = host.refused(&host.session(), &host.spec("true"));
    assert_eq!(error.step(), "seccomp", "{error}");
    assert!(error.to_string().starts_with("the system call filter is not active"), "{error}");
    assert_eq!(error.started(), Started::No);
    let honest = Host::new().with_bwrap("exec /usr/bin/bwrap \"$@\"");
    finish(honest.start(&honest.session(), &honest.spec("true")));
}

/// Returns a filter that answers as a kernel without filters does: `prctl(PR_SET_SECCOMP)` returns EINVAL, and all
/// other calls are allowed.
fn as_without_filters() -> Vec<u8> {
    let instruction = |code: u16, jt: u8, jf: u8, k: u32| {
        let [code0, code1] = code.to_le_bytes();
        let [k0, k1, k2, k3] = k.to_le_bytes();
        [code0, code1, jt, jf, k0, k1, k2, k3]
    };
    let prctl = u32::try_from(libc::SYS_prctl).unwrap();
    let program = [
        instruction(0x20, 0, 0, 0),
        instruction(0x15, 0, 3, prctl),
        instruction(0x20, 0, 0, 16),
        instruction(0x15, 0, 1, libc::PR_SET_SECCOMP.cast_unsigned()),
        instruction(0x06, 0, 0, 0x0005_0000 | libc::EINVAL.cast_unsigned()),
        instruction(0x06, 0, 0, 0x7fff_0000),
    ];
    program.concat()
}

#[test]
fn a_kernel_without_filters_starts_nothing_and_the_error_says_so() {
    let runner = OrdinaryRunner::new();
    let filter = runner.directory().join("filter");
    fs::write(&filter, as_without_filters()).unwrap();
    let run = |option: &str| {
        // This sandbox only provides the descriptor: it keeps root, the whole host and all namespaces.
        let script = format!(
            "exec {BWRAP} --bind / / --dev-bind /dev /dev --cap-add ALL {option} \
             setpriv --reuid 65534 --regid 65534 --clear-groups \
             {0}/run {0}/state 'echo it ran' 3<{1}",
            runner.directory().display(),
            filter.display()
        );
        let output = Command::new("bash").args(["-c", &script]).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.success(), text(&output.stdout), text(&output.stderr))
    };
    let (started, said, error) = run("--seccomp 3");
    assert!(!started && said.is_empty(), "{said}");
    assert!(error.contains("system calls cannot be filtered: Invalid argument"), "{error}");
    assert!(error.contains("step: Seccomp"), "{error}");
    let (started, said, error) = run("");
    assert!(started && said == "it ran\n", "control: {error}");
}

#[test]
fn two_filters_of_ours_are_in_force_in_every_build() {
    let host = Host::new();
    let output = host.sh("grep Seccomp /proc/self/status /proc/1/status; exit 3");
    assert_eq!(output.ended.cause, Cause::Exited(3));
    let own = fs::read_to_string("/proc/self/status").unwrap();
    let count =
        |text: &str| text.lines().find_map(|line| line.strip_prefix("Seccomp_filters:\t")?.parse().ok());
    let outside: u32 = count(&own).unwrap();
    for process in ["self", "1"] {
        let lines =
            output.stdout.lines().filter_map(|line| line.strip_prefix(&format!("/proc/{process}/status:")));
        let lines: Vec<_> = lines.collect();
        assert_eq!(lines[0], "Seccomp:\t2");
        assert_eq!(count(lines[1]), Some(outside + 2), "{lines:?}");
    }
}
