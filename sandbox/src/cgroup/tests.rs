//! Tests on the host's own hierarchy, with processes outside any sandbox.

use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process};

use super::*;

fn cgroups(state: &Path, mode: CgroupMode) -> Cgroups {
    Cgroups::new(&CgroupConfig { mode, parent: None }, state).unwrap()
}

fn one(cgroups: &Cgroups) -> Cgroup {
    let cgroup = cgroups.enter(&Limits::default()).unwrap();
    cgroup.unwrap_or_else(|| panic!("{:?}", cgroups.not_enforced()))
}

/// Starts a shell in its own process group. The script begins when the shell is in the cgroup.
fn shell_in(cgroup: &Cgroup, script: &str) -> Child {
    let mut command = Command::new("/bin/bash");
    command.args(["-c", &format!("read -r; {script}")]).process_group(0);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    fs::write(cgroup.directory().join("cgroup.procs"), child.id().to_string()).unwrap();
    drop(child.stdin.take());
    child
}

/// Reads the pid that a script prints.
fn printed_pid(child: &mut Child) -> Pid {
    let mut text = String::new();
    let mut byte = [0];
    let mut stdout = child.stdout.take().unwrap();
    while stdout.read(&mut byte).unwrap() == 1 && byte != *b"\n" {
        text.push(char::from(byte[0]));
    }
    Pid::from_raw(text.parse().unwrap()).unwrap()
}

fn lives(pid: Pid) -> bool {
    let state = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    test_kill_process(pid).is_ok() && !state.contains(") Z ")
}

/// Reports whether the process has a pending signal.
fn has_pending(pid: Pid) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).unwrap_or_default();
    let pending = status.lines().filter(|line| line.starts_with("SigPnd:") || line.starts_with("ShdPnd:"));
    let none: Vec<bool> = pending.map(|line| line.trim_end_matches('0').ends_with('\t')).collect();
    none != [true, true]
}

#[test]
fn one_write_ends_what_no_process_group_and_no_signal_reaches() {
    let state = tempfile::tempdir().unwrap();
    let cgroups = cgroups(state.path(), CgroupMode::Auto);
    let ways = [
        "setsid bash -c 'trap \"\" TERM HUP INT; echo $$; while :; do sleep 1000; done' &",
        "(setsid bash -c '(trap \"\" TERM HUP INT; echo $BASHPID; while :; do sleep 1000; done) &' &) &",
    ];
    for way in ways {
        let cgroup = one(&cgroups);
        let mut shell = shell_in(&cgroup, &format!("{way} wait; sleep 1000"));
        let daemon = printed_pid(&mut shell);
        let group = Pid::from_child(&shell);
        for signal in [Signal::TERM, Signal::KILL] {
            kill_process_group(group, signal).unwrap();
        }
        shell.wait().unwrap();
        rustix::process::kill_process(daemon, Signal::TERM).unwrap();
        // Bash blocks SIGTERM while it starts a program. Until then the signal is pending, although it is ignored.
        let is_handled = (0..1000).any(|_| {
            let pending = lives(daemon) && has_pending(daemon);
            if pending {
                std::thread::sleep(Duration::from_millis(10));
            }
            !pending
        });
        assert!(is_handled && lives(daemon), "control: it outlives its group and ignores SIGTERM: {way}");
        cgroup.end().unwrap().unwrap();
        assert!(!lives(daemon), "{way}");
        assert!(!cgroup.directory().exists());
    }
}

#[test]
fn processor_time_is_counted_of_what_nobody_waited_for() {
    let state = tempfile::tempdir().unwrap();
    let cgroups = cgroups(state.path(), CgroupMode::Auto);
    let cgroup = one(&cgroups);
    let script = "(setsid bash -c 'for ((i = 0; i < 200000; i++)); do :; done; echo $$; sleep 1000' &)";
    let mut shell = shell_in(&cgroup, script);
    let daemon = printed_pid(&mut shell);
    shell.wait().unwrap();
    assert!(lives(daemon));
    let usage = cgroup.end().unwrap().unwrap();
    assert!(usage.user >= Duration::from_millis(20), "{usage:?}");
    assert!(!usage.oom_killed);
    assert_eq!(cgroup.end().unwrap(), None, "the second call has nothing to do");
}

#[test]
fn nothing_stays_when_the_last_of_a_launcher_is_dropped() {
    let state = tempfile::tempdir().unwrap();
    let cgroups = cgroups(state.path(), CgroupMode::Auto);
    let directory = cgroups.directory().unwrap().to_owned();
    let first = one(&cgroups);
    let second = one(&cgroups);
    drop(first);
    drop(cgroups);
    assert!(directory.exists(), "a sandbox remains in it");
    drop(second);
    assert!(!directory.exists());
    assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
}

#[test]
fn a_new_start_ends_and_removes_what_an_earlier_process_left_and_only_that() {
    let (state, other_state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let other = cgroups(other_state.path(), CgroupMode::Auto);
    let others = one(&other);
    let mut bystander = shell_in(&others, "echo $$; sleep 1000");
    let left = cgroups(state.path(), CgroupMode::Auto);
    let directory = left.directory().unwrap().to_owned();
    let sandbox = one(&left);
    let mut shell = shell_in(&sandbox, "trap '' TERM; echo $$; sleep 1000");
    let (shell_pid, bystander_pid) = (printed_pid(&mut shell), printed_pid(&mut bystander));
    // As after a SIGKILL: nothing is cleaned up.
    std::mem::forget(sandbox);
    std::mem::forget(left);

    for mode in [CgroupMode::Off, CgroupMode::Auto] {
        let next = cgroups(state.path(), mode);
        assert!(!lives(shell_pid), "{mode:?}");
        assert!(!directory.exists(), "{mode:?}");
        assert!(lives(bystander_pid), "another launcher's sandbox continues");
        drop(next);
    }
    assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
    shell.wait().unwrap();
    others.end().unwrap();
    bystander.wait().unwrap();
}

#[test]
fn what_is_noted_and_no_launchers_cgroup_is_left_alone() {
    let state = tempfile::tempdir().unwrap();
    let directory = state.path().join("airlock-1");
    fs::create_dir(&directory).unwrap();
    let foreign = tree::own_cgroup().unwrap();
    for noted in [&directory, &foreign, &state.path().join("airlock-gone")] {
        tree::write_record(state.path(), noted).unwrap();
        drop(cgroups(state.path(), CgroupMode::Off));
        assert!(!state.path().join("cgroup").exists());
    }
    assert!(directory.exists() && foreign.exists());
}

#[test]
fn switched_off_there_is_none_and_every_limit_is_named() {
    let state = tempfile::tempdir().unwrap();
    let off = cgroups(state.path(), CgroupMode::Off);
    assert!(off.enter(&Limits::default()).unwrap().is_none());
    assert_eq!(off.directory(), None);
    let gaps = off.not_enforced();
    assert_eq!(
        gaps.iter().map(|gap| gap.limit).collect::<Vec<_>>(),
        ["cgroup", "memory", "swap", "pids", "cpu", "io"]
    );
    assert_eq!(gaps[3].cause, "switched off; RLIMIT_NPROC applies instead");
}

#[test]
fn a_parent_that_is_none_is_said_to_be_none() {
    let state = tempfile::tempdir().unwrap();
    let config = |mode| CgroupConfig { mode, parent: Some("/usr".into()) };
    let auto = Cgroups::new(&config(CgroupMode::Auto), state.path()).unwrap();
    assert_eq!(auto.not_enforced()[0].cause, "`/usr` is not a cgroup of version 2");
    let error = Cgroups::new(&config(CgroupMode::Require), state.path()).unwrap_err();
    assert_eq!(error.step(), "cgroup");
    assert_eq!(
        error.to_string(),
        "cgroups are required, and `memory` cannot be limited: `/usr` is not a cgroup of version 2"
    );
}

#[test]
fn what_holds_and_what_does_not_are_the_files_that_are_there() {
    let state = tempfile::tempdir().unwrap();
    let cgroups = cgroups(state.path(), CgroupMode::Auto);
    let directory = cgroups.directory().unwrap();
    let gaps = cgroups.not_enforced();
    let files = [("memory", "memory.max"), ("pids", "pids.max"), ("cpu", "cpu.max"), ("io", "io.stat")];
    for (limit, file) in files {
        assert_eq!(directory.join(file).exists(), !gaps.iter().any(|gap| gap.limit == limit), "{limit}");
    }
}
