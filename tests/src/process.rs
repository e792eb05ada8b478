//! A process that a test started. It is killed at the end of the test, even if the test fails.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

const POLL: Duration = Duration::from_millis(10);

/// A running process. Its output goes to a file.
#[derive(Debug)]
pub struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts `command`, and appends its output to `log`.
    ///
    /// # Panics
    /// If it cannot be started.
    #[must_use]
    pub fn start(command: &mut Command, log: &Path) -> Self {
        let file = File::options().create(true).append(true).open(log).unwrap();
        let child = command
            .stdin(Stdio::null())
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .spawn()
            .unwrap_or_else(|error| panic!("{} does not start: {error}", command.get_program().display()));
        Self { child, log: log.to_owned() }
    }

    /// Returns the process ID.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the log file.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Returns the output so far.
    #[must_use]
    pub fn output(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// Sends a signal.
    ///
    /// # Panics
    /// If the process has ended.
    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).unwrap();
        kill(Pid::from_raw(pid), signal).unwrap();
    }

    /// Kills the process (SIGKILL) and waits for its end.
    pub fn kill(mut self) {
        self.kill_now();
    }

    /// Like [`Self::kill`], but keeps the value for later checks.
    pub fn kill_now(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }

    /// Returns the exit status if the process ends within `limit`.
    pub fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + limit;
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            if Instant::now() > deadline {
                return None;
            }
            thread::sleep(POLL);
        }
    }

    /// Stops the process with SIGTERM, and returns its exit status.
    ///
    /// # Panics
    /// If it does not end within `limit`.
    pub fn terminate(mut self, limit: Duration) -> ExitStatus {
        self.signal(Signal::SIGTERM);
        self.wait(limit).unwrap_or_else(|| panic!("it does not end; it wrote:\n{}", self.output()))
    }

    /// Returns the number of open descriptors.
    ///
    /// # Panics
    /// If the process has ended.
    #[must_use]
    pub fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.pid())).unwrap().count()
    }

    /// Returns the number of open sockets.
    ///
    /// # Panics
    /// If the process has ended.
    #[must_use]
    pub fn sockets(&self) -> usize {
        let all = fs::read_dir(format!("/proc/{}/fd", self.pid())).unwrap().flatten();
        let targets = all.filter_map(|entry| fs::read_link(entry.path()).ok());
        targets.filter(|target| target.to_string_lossy().starts_with("socket:")).count()
    }

    /// Returns the number of threads.
    ///
    /// # Panics
    /// If the process has ended.
    #[must_use]
    pub fn threads(&self) -> usize {
        fs::read_dir(format!("/proc/{}/task", self.pid())).unwrap().count()
    }

    /// Returns the private resident memory (anonymous) in bytes.
    ///
    /// # Panics
    /// If the process has ended.
    #[must_use]
    pub fn memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill_now();
    }
}

/// Waits until `holds` returns true.
///
/// # Panics
/// If that takes longer than `limit`.
pub fn until(what: &str, limit: Duration, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + limit;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}: not within {limit:?}");
        thread::sleep(POLL);
    }
}
