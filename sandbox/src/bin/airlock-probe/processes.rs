//! Processes of the host, their environments, inherited descriptors.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::{IoSlice, IoSliceMut};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::sys::ptrace;
use nix::sys::signal::kill;
use nix::sys::uio::{RemoteIoVec, process_vm_readv, process_vm_writev};
use nix::unistd::Pid;
use rustix::process::{
    PidfdFlags, PidfdGetfdFlags, Resource, getrlimit, pidfd_getfd, pidfd_open, prlimit, setpriority_process,
};
use rustix::thread::{sched_getaffinity, sched_setaffinity};

use crate::attempt::Attempt;

/// Searches for a text of the runner's environment, in this process's environment and in everything that `/proc` shows.
pub(crate) fn environment(text: &OsStr) -> Vec<Attempt> {
    let own = std::env::vars_os()
        .any(|(name, value)| holds(name.as_bytes(), text) || holds(value.as_bytes(), text));
    let mut ways = vec![Attempt::new("own environment", own, "as passed to the program")];
    for name in ["environ", "task/*/environ"] {
        let (mut seen, mut found) = (0, false);
        for path in all(name) {
            if let Ok(bytes) = fs::read(path) {
                seen += 1;
                found |= holds(&bytes, text);
            }
        }
        ways.push(Attempt::new(format!("/proc/*/{name}"), found, format!("{seen} files")));
    }
    let one = fs::read("/proc/1/environ").is_ok_and(|bytes| holds(&bytes, text));
    ways.push(Attempt::new("/proc/1/environ", one, "pid 1"));
    ways
}

/// Attempts to reach a process of the host, by a text in its command line or by its pid.
pub(crate) fn process(mark: &OsStr) -> Vec<Attempt> {
    let own = std::process::id().to_string();
    let seen = all("cmdline").into_iter().find(|path| {
        let own = path.starts_with("/proc/self") || path.starts_with(format!("/proc/{own}"));
        // The shell that runs this probe contains the text in its own command line.
        !own && fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"sleep\0") && holds(&bytes, mark))
    });
    let number = mark.to_string_lossy().parse::<i32>().ok();
    let by_number = number.map_or(Err(nix::Error::ESRCH), |number| kill(Pid::from_raw(number), None));
    vec![
        Attempt::new("command lines", seen.is_some(), format!("{seen:?}")),
        Attempt::of("signal 0 by number", by_number),
    ]
}

/// Runs a shell command.
pub(crate) fn program(command: &OsStr) -> Vec<Attempt> {
    let result = Command::new("bash").arg("-c").arg(command).stdin(Stdio::null()).output();
    vec![Attempt::program("program", result)]
}

/// Attempts the operations that a process may perform on another process of the same user, on this pid.
pub(crate) fn bend(number: &OsStr) -> Vec<Attempt> {
    let number = number.to_string_lossy().parse::<i32>().unwrap_or(0);
    let Some(pid) = rustix::process::Pid::from_raw(number) else {
        return vec![Attempt::new("number", true, "not a process ID; nothing was attempted")];
    };
    let traced = Pid::from_raw(number);
    let file = |name: &str| format!("/proc/{number}/{name}");
    let write = |name| OpenOptions::new().write(true).open(file(name));
    let limit = getrlimit(Resource::Nofile);
    let mut byte = [0];
    let remote = [RemoteIoVec { base: 0x1000, len: 1 }];
    let is_let_through = |errno| errno == Errno::EFAULT;
    let read = process_vm_readv(traced, &mut [IoSliceMut::new(&mut byte)], &remote);
    let written = process_vm_writev(traced, &[IoSlice::new(b"x")], &remote);
    let handle = pidfd_open(pid, PidfdFlags::empty());
    let taken = handle.and_then(|handle| pidfd_getfd(&handle, 0, PidfdGetfdFlags::empty()));
    vec![
        Attempt::of("prlimit", prlimit(Some(pid), Resource::Nofile, limit)),
        Attempt::of("affinity", sched_getaffinity(None).and_then(|all| sched_setaffinity(Some(pid), &all))),
        Attempt::of("priority", setpriority_process(Some(pid), 19)),
        Attempt::of("out-of-memory score", write("oom_score_adj")),
        Attempt::of("memory file", write("mem")),
        Attempt::of("list of descriptors", fs::read_dir(file("fd"))),
        Attempt::of("first descriptor", write("fd/0")),
        Attempt::of("second descriptor", write("fd/2")),
        Attempt::of("directory", fs::read_dir(file("cwd"))),
        Attempt::past("process_vm_readv", read, is_let_through),
        Attempt::past("process_vm_writev", written, is_let_through),
        Attempt::of("pidfd_getfd", taken),
        Attempt::of("ptrace", ptrace::seize(traced, ptrace::Options::empty())),
    ]
}

/// Attempts to trace a child and to be traced by the parent.
pub(crate) fn trace() -> Vec<Attempt> {
    let mut ways = Vec::new();
    let child = Command::new("sleep").arg("60").spawn();
    if let Ok(mut child) = child {
        let pid = Pid::from_raw(child.id().try_into().unwrap_or(0));
        ways.push(Attempt::of("seize", ptrace::seize(pid, ptrace::Options::empty())));
        let _ = child.kill();
        let _ = child.wait();
    }
    let child = Command::new("sleep").arg("60").spawn();
    if let Ok(mut child) = child {
        let pid = Pid::from_raw(child.id().try_into().unwrap_or(0));
        ways.push(Attempt::of("attach", ptrace::attach(pid)));
        let _ = child.kill();
        let _ = child.wait();
    }
    // Last: after this call the parent is the tracer.
    ways.push(Attempt::of("traceme", ptrace::traceme()));
    ways
}

/// Lists descriptors above 2. Each counts as reached.
pub(crate) fn descriptors() -> Vec<Attempt> {
    let Ok(entries) = fs::read_dir("/proc/self/fd") else {
        return vec![Attempt::new("list", true, "the list cannot be read; it may not be empty")];
    };
    let names = entries.flatten().map(|entry| (entry.file_name(), fs::read_link(entry.path())));
    let found: Vec<_> = names
        .filter(|(name, _)| name.to_string_lossy().parse::<u32>().is_ok_and(|number| number > 2))
        .filter_map(|(name, target)| Some((name, target.ok()?)))
        // Skips the descriptor of this listing.
        .filter(|(_, target)| !target.ends_with(format!("{}/fd", std::process::id())))
        .collect();
    found
        .into_iter()
        .map(|(name, target)| Attempt::new(name.to_string_lossy(), true, target.to_string_lossy()))
        .collect()
}

fn all(name: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let mut paths = Vec::new();
    for entry in entries.flatten() {
        match name.strip_prefix("task/*/") {
            None => paths.push(entry.path().join(name)),
            Some(file) => {
                let tasks = fs::read_dir(entry.path().join("task")).into_iter().flatten().flatten();
                paths.extend(tasks.map(|task| task.path().join(file)));
            }
        }
    }
    paths
}

fn holds(bytes: &[u8], text: &OsStr) -> bool {
    let text = text.as_bytes();
    !text.is_empty() && bytes.windows(text.len()).any(|window| window == text)
}
