//! Tests of the count of refused system calls: it names them, changes no answer, and cannot hold up process 1.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use airlock_init::sys::notify::add_filter;
use airlock_sandbox::{Cause, RefusedCall};

use super::program::{self, of_call, of_endless_call};
use super::{EPERM, NONE};
use crate::support::{Host, finish, wait_for};

const EBUSY: u8 = 16;
const EFAULT: u8 = 14;
const ENOSYS: u8 = 38;
/// Adds a filter with `seccomp`.
const SET_MODE_FILTER: u64 = 1;
const NEW_LISTENER: u64 = 8;

/// A host with programs at `/mnt` that make one system call each.
fn host() -> (Host, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let call = |name: &str, number: i64, args: &[u64]| {
        program::write(&directory.path().join(name), &of_call(number.cast_unsigned(), args));
    };
    call("mount", libc::SYS_mount, &[0; 5]);
    call("ptrace", libc::SYS_ptrace, &[0]);
    call("unshare", libc::SYS_unshare, &[0]);
    call("clone3", libc::SYS_clone3, &[0, 0]);
    call("unlisted", libc::SYS_vmsplice, &[NONE, 0, 0, 0]);
    call("filter", libc::SYS_seccomp, &[SET_MODE_FILTER, 0, 0]);
    call("listener", libc::SYS_seccomp, &[SET_MODE_FILTER, NEW_LISTENER, 0]);
    program::write(&directory.path().join("endless"), &of_endless_call(libc::SYS_mount.cast_unsigned()));
    let mut host = Host::new();
    host.profile = host.profile.clone().with_bind(directory.path(), "/mnt");
    (host, directory)
}

fn named(calls: &[RefusedCall]) -> Vec<(&str, u64)> {
    calls.iter().map(|call| (call.name, call.count)).collect()
}

/// Makes calls of each kind, and prints the errors.
const SOME: &str = "for name in mount mount ptrace unshare mount clone3 unlisted filter listener; \
                    do /mnt/$name; echo $name $?; done";

fn answers() -> String {
    format!(
        "mount {EPERM}\nmount {EPERM}\nptrace {EPERM}\nunshare {EPERM}\nmount {EPERM}\nclone3 {ENOSYS}\n\
         unlisted {ENOSYS}\nfilter {EFAULT}\nlistener {EBUSY}\n"
    )
}

#[test]
fn refused_calls_are_counted_by_name_and_those_that_programs_make_routinely_are_not() {
    let (host, _directory) = host();
    let session = host.session();
    for spec in [host.spec(SOME), host.read_only_spec(SOME)] {
        let output = host.run(&session, &spec);
        assert_eq!(output.stdout, answers());
        assert_eq!(named(&output.ended.refused_calls), [("mount", 3), ("unshare", 1), ("ptrace", 1)]);
        assert!(output.ended.refused_calls.iter().all(|call| !call.why.is_empty()));
    }
    assert_eq!(host.run(&session, &host.spec("true")).ended.refused_calls, []);
}

#[test]
fn without_notifications_the_answers_are_the_same_and_nothing_is_counted() {
    // Everything that this thread starts has a listener already, as in some containers.
    let allow = libc::sock_filter { code: 6, jt: 0, jf: 0, k: 0x7fff_0000 };
    let listener = add_filter(&[allow], true).unwrap();
    let (host, _directory) = host();
    let running = host.start(&host.session(), &host.spec(SOME));
    assert!(!running.waiter.counts_refused_calls());
    let output = finish(running);
    assert_eq!(output.stdout, answers());
    assert_eq!(output.ended.refused_calls, []);
    drop(listener);
}

#[test]
fn a_command_that_may_write_no_file_is_refused_the_same_calls() {
    let (mut host, _directory) = host();
    host.limits.fsize = Some(0);
    assert_eq!(host.sh(SOME).stdout, answers());
}

#[test]
fn a_killed_command_has_its_count() {
    let (host, _directory) = host();
    let running = host.start(&host.session(), &host.spec("/mnt/mount; echo ready; sleep 1000"));
    assert!(running.waiter.counts_refused_calls());
    wait_for(&running, "ready\n");
    running.control.kill();
    let ended = finish(running).ended;
    assert_eq!(ended.cause, Cause::Killed);
    assert_eq!(named(&ended.refused_calls), [("mount", 1)]);
}

#[test]
fn a_flood_of_refused_calls_delays_neither_signals_nor_the_end() {
    let (host, _directory) = host();
    let session = host.session();
    let flood = "for n in {1..20}; do /mnt/endless & done; ";
    let waits = format!("{flood}trap 'kill -KILL $(jobs -p); exit 7' TERM; echo ready; wait; wait");
    let running = host.start(&session, &host.spec(waits));
    wait_for(&running, "ready\n");
    running.control.terminate();
    let ended = finish(running).ended;
    assert_eq!(ended.cause, Cause::Exited(7));
    let [RefusedCall { name: "mount", count, .. }] = ended.refused_calls[..] else { panic!("{ended:?}") };
    assert!(count > 0);
    // Processes that still run when the shell ends are killed.
    let ended = host.run(&session, &host.spec(format!("{flood}exit 3"))).ended;
    assert_eq!((ended.cause, ended.leftovers), (Cause::Exited(3), true));
}
