//! Tests that no process outlives the process that started it, or bubblewrap, even if these are killed at any moment.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::support::{
    Host, eventually, example, host_processes, next_start, next_uid, processes_of, sleepers,
};

/// Returns a number that no process of another test has in its command line.
fn mark(test: u32) -> String {
    format!("{}.{test}", 80_000_000 + std::process::id())
}

fn owner(directory: &Path, uid: u32, options: &[&str], command: &str) -> Child {
    let mut owner = Command::new(example());
    owner.args(["--uid", &uid.to_string()]).args(options).arg(directory).arg(command);
    owner.stdout(Stdio::null()).spawn().unwrap()
}

fn kill(mut owner: Child) {
    owner.kill().unwrap();
    assert_eq!(owner.wait().unwrap().signal(), Some(9));
}

#[test]
fn nothing_is_left_when_the_owner_of_the_launcher_is_killed() {
    let directory = airlock_mounts::ScratchDir::new();
    for round in 0..5 {
        let (mark, uid) = (mark(round), next_uid());
        let command = format!("trap '' TERM HUP; setsid sleep {mark} & sleep {mark}; true");
        let owner = owner(directory.path(), uid, &[], &command);
        eventually("the command runs", || host_processes(&format!("sleep {mark}")).len() >= 2);
        kill(owner);
        eventually("everything has ended", || processes_of(uid).is_empty());
    }
    let state = directory.path().join("launcher");
    let cgroup = fs::read_to_string(state.join("cgroup")).unwrap();
    assert!(Path::new(&cgroup).exists(), "control: a killed owner cannot remove it");
    next_start(&state);
    assert!(!Path::new(&cgroup).exists());
}

#[test]
fn no_process_remains_if_the_owner_is_killed_during_a_start() {
    let directory = airlock_mounts::ScratchDir::new();
    let uid = next_uid();
    for delay in 0..30 {
        let owner = owner(directory.path(), uid, &[], "sleep 1000; true");
        std::thread::sleep(Duration::from_micros(700 * delay));
        kill(owner);
    }
    // All processes after the change of IDs, with any command line.
    eventually("everything has ended", || processes_of(uid).is_empty());
    let runtime = directory.path().to_string_lossy().into_owned();
    eventually("the launch step has ended", || host_processes(&runtime).is_empty());
    next_start(&directory.path().join("launcher"));
}

/// A replacement of bubblewrap that has created an untied child and hangs. The real bubblewrap is in this state between
/// two of its system calls.
fn orphan(mark: &str) -> String {
    format!("setsid sleep {mark} & ")
}

#[test]
fn the_control_an_orphan_outlives_its_parent() {
    let mark = mark(20);
    let mut parent =
        Command::new("bash").args(["-c", &format!("{}exec sleep 1000", orphan(&mark))]).spawn().unwrap();
    // Until the parent sleeps too, its command line contains the mark.
    eventually("it is there", || host_processes(&mark).len() == 1 && sleepers(&mark).len() == 1);
    parent.kill().unwrap();
    parent.wait().unwrap();
    let left = host_processes(&mark);
    assert_eq!(left.len(), 1, "without an outer PID namespace");
    let status = fs::read_to_string(left[0].join("status")).unwrap();
    for pending in ["SigPnd", "ShdPnd"] {
        assert!(status.contains(&format!("{pending}:\t{:016x}\n", 0)), "the process does not end: {status}");
    }
    let pid = left[0].file_name().unwrap().to_string_lossy().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn an_orphan_of_bubblewraps_ends_with_a_failed_start() {
    let mark = mark(21);
    for rest in ["sleep 0.1; exit 1", "sleep 0.1; kill -KILL $$", "exec sleep 1000"] {
        let mut host = Host::new().with_bwrap(&format!("{}{rest}", orphan(&mark)));
        host.limits.start_timeout = Duration::from_millis(500);
        let error = host.refused(&host.session(), &host.spec("true"));
        assert!(matches!(error.step(), "setup" | "start_timeout"), "{error}");
        assert_eq!(host_processes(&mark), Vec::<PathBuf>::new(), "{rest}");
    }
}

#[test]
fn an_orphan_of_bubblewraps_ends_with_a_killed_owner() {
    let mark = mark(22);
    let directory = airlock_mounts::ScratchDir::new();
    fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o711)).unwrap();
    let bwrap = directory.path().join("bwrap");
    let answers = "case $1 in --help|--version) exec /usr/bin/bwrap $1;; esac";
    fs::write(&bwrap, format!("#!/bin/bash\n{answers}\n{}exec sleep {mark}\n", orphan(&mark))).unwrap();
    fs::set_permissions(&bwrap, PermissionsExt::from_mode(0o755)).unwrap();
    for mode in ["auto", "off"] {
        let options = ["--bwrap", bwrap.to_str().unwrap(), "--cgroup", mode];
        let owner = owner(directory.path(), next_uid(), &options, "true");
        eventually("both are there", || host_processes(&format!("sleep {mark}")).len() == 2);
        kill(owner);
        eventually("everything has ended", || host_processes(&mark).is_empty());
    }
    next_start(&directory.path().join("launcher"));
}
