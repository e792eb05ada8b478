//! The cgroup of one sandbox. It is created with its limits before a process runs in it, and removed when it is empty.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use super::tree::Tree;
use crate::error::LaunchError;
use crate::spec::Limits;

/// The accounting period of processor time, in microseconds.
const CPU_PERIOD: u64 = 100_000;
/// The smallest quota of a period that the kernel accepts.
const CPU_QUOTA_MIN: u64 = 1000;
/// bubblewrap itself, which `Limits::nproc` does not count.
const OUTSIDE: u64 = 1;
/// The time for a sandbox's cgroup to become empty after all processes were killed.
const PATIENCE: Duration = Duration::from_secs(10);

/// The usage of a sandbox, counted by its cgroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) user: Duration,
    pub(crate) system: Duration,
    /// The peak memory in bytes, if the controller is available.
    pub(crate) peak_memory: Option<u64>,
    /// Whether the kernel has killed processes because memory ran out.
    pub(crate) oom_killed: bool,
    /// How often the limit of processes prevented a new one.
    pub(crate) processes_refused: u64,
}

/// A sandbox's cgroup. Dropping it kills its processes and removes it.
#[derive(Debug)]
pub(crate) struct Cgroup {
    directory: PathBuf,
    handle: OwnedFd,
    /// Kept until all child cgroups are removed.
    tree: Arc<Tree>,
    removed: AtomicBool,
}

impl Cgroup {
    pub(super) fn make(tree: &Arc<Tree>, limits: &Limits) -> Result<Self, LaunchError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| LaunchError::Cgroup { path, source }
        };
        let directory = tree.make_child().map_err(failed(tree.directory()))?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = openat(CWD, &directory, flags, Mode::empty()).map_err(io::Error::from);
        let handle = handle.map_err(failed(&directory))?;
        let cgroup = Self { directory, handle, tree: Arc::clone(tree), removed: AtomicBool::new(false) };
        for (file, value) in files(limits, |limit| cgroup.tree.has(limit)) {
            let path = cgroup.directory.join(file);
            fs::write(&path, value).map_err(failed(&path))?;
        }
        Ok(cgroup)
    }

    #[cfg(test)]
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns its directory as a descriptor that cannot be read.
    pub(crate) fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    /// Kills all its processes, including those that are just being created.
    pub(crate) fn kill(&self) {
        if !self.removed.load(Ordering::SeqCst) {
            // Fails only if it was removed meanwhile.
            let _ = kill(&self.directory);
        }
    }

    /// Kills the remaining processes, waits until the cgroup is empty, and removes it. A second call has no effect.
    pub(crate) fn end(&self) -> io::Result<Option<Usage>> {
        if self.removed.swap(true, Ordering::SeqCst) {
            return Ok(None);
        }
        kill(&self.directory)?;
        wait_until_empty(&self.directory, PATIENCE)?;
        let usage = usage(&self.directory);
        fs::remove_dir(&self.directory)?;
        usage.map(Some)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // If the removal fails, the next start repeats it.
        let _ = self.end();
    }
}

/// Returns the files to write, for the available limits.
fn files(limits: &Limits, has: impl Fn(&str) -> bool) -> Vec<(&'static str, String)> {
    let mut files = Vec::new();
    if has("memory") {
        // If memory runs out, the whole command ends, not only one of its processes.
        files.push(("memory.oom.group", "1".to_owned()));
        if let Some(bytes) = limits.memory {
            files.push(("memory.max", bytes.to_string()));
            if has("swap") {
                files.push(("memory.swap.max", limits.swap.to_string()));
            }
        }
    }
    if has("pids") {
        files.push(("pids.max", limits.nproc.saturating_add(OUTSIDE).to_string()));
    }
    if has("cpu")
        && let Some(millis) = limits.cpu_millis
    {
        let quota = millis.saturating_mul(CPU_PERIOD / 1000).max(CPU_QUOTA_MIN);
        files.push(("cpu.max", format!("{quota} {CPU_PERIOD}")));
    }
    files
}

fn usage(directory: &Path) -> io::Result<Usage> {
    let read = |file: &str| fs::read_to_string(directory.join(file));
    let stat = read("cpu.stat")?;
    let time = |key| Duration::from_micros(number(&stat, key).unwrap_or(0));
    // Missing before Linux 5.19, and without the controller.
    let peak_memory = read("memory.peak").ok().and_then(|text| text.trim().parse().ok());
    let events = read("memory.events").unwrap_or_default();
    Ok(Usage {
        user: time("user_usec"),
        system: time("system_usec"),
        peak_memory,
        oom_killed: number(&events, "oom_kill").is_some_and(|count| count > 0),
        processes_refused: read("pids.events").ok().and_then(|text| number(&text, "max")).unwrap_or(0),
    })
}

/// Returns the number of a key, in a file with one key per line.
fn number(text: &str, key: &str) -> Option<u64> {
    let found = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
    found.and_then(|value| value.parse().ok())
}

/// Kills all processes in a cgroup and below it.
pub(super) fn kill(directory: &Path) -> io::Result<()> {
    fs::write(directory.join("cgroup.kill"), "1")
}

/// Waits until no process is left in a cgroup and below it.
pub(super) fn wait_until_empty(directory: &Path, patience: Duration) -> io::Result<()> {
    let path = directory.join("cgroup.events");
    let deadline = Instant::now() + patience;
    loop {
        // The kernel signals only changes that follow the open and the read of this file.
        let events = File::open(&path)?;
        if number(&io::read_to_string(&events)?, "populated") == Some(0) {
            return Ok(());
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "its processes do not end"));
        }
        let mut fds = [PollFd::new(&events, PollFlags::PRI)];
        let limit = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut fds, Some(&limit)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [&str; 5] = ["memory", "swap", "pids", "cpu", "io"];

    #[test]
    fn what_is_written_is_what_was_asked_where_it_is_there() {
        let limits =
            Limits { memory: Some(64 << 20), cpu_millis: Some(1500), nproc: 99, ..Limits::default() };
        let every = files(&limits, |limit| ALL.contains(&limit));
        let expected = [
            ("memory.oom.group", "1"),
            ("memory.max", "67108864"),
            ("memory.swap.max", "0"),
            ("pids.max", "100"),
            ("cpu.max", "150000 100000"),
        ];
        assert_eq!(every, expected.map(|(file, value)| (file, value.to_owned())));
        assert_eq!(files(&limits, |_| false), []);
        assert_eq!(files(&limits, |limit| limit == "pids").len(), 1);
        let unlimited = files(&Limits::default(), |limit| ALL.contains(&limit));
        assert_eq!(
            unlimited.iter().map(|(file, _)| *file).collect::<Vec<_>>(),
            ["memory.oom.group", "pids.max"]
        );
    }

    #[test]
    fn a_quota_that_the_kernel_would_refuse_is_the_smallest_that_it_takes() {
        let limits = Limits { cpu_millis: Some(1), ..Limits::default() };
        assert_eq!(files(&limits, |limit| limit == "cpu"), [("cpu.max", "1000 100000".to_owned())]);
    }

    #[test]
    fn numbers_are_found_by_the_whole_key() {
        let text = "oom 3\noom_kill 1\noom_group_kill 2\n";
        assert_eq!(number(text, "oom"), Some(3));
        assert_eq!(number(text, "oom_kill"), Some(1));
        assert_eq!(number(text, "low"), None);
    }
}
