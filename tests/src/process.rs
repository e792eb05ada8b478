//! A program that a test started: killed at the test's end, whatever becomes of the test.

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

/// A running program. Its output goes to a file.
#[derive(Debug)]
pub struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts `command` with its output in `log` (appended).
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

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Where it writes to.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// What it has written so far.
    #[must_use]
    pub fn output(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// Sends a signal.
    ///
    /// # Panics
    /// If it is gone already.
    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).unwrap();
        kill(Pid::from_raw(pid), signal).unwrap();
    }

    /// Kills it (-9) and waits for its end.
    pub fn kill(mut self) {
        self.kill_now();
    }

    /// Likewise, of one that is looked at afterwards.
    pub fn kill_now(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }

    /// Its end, if it comes within `limit`.
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

    /// Ends it in order: SIGTERM, and its exit status.
    ///
    /// # Panics
    /// If it does not end within `limit`.
    pub fn terminate(mut self, limit: Duration) -> ExitStatus {
        self.signal(Signal::SIGTERM);
        self.wait(limit).unwrap_or_else(|| panic!("it does not end; it wrote:\n{}", self.output()))
    }

    /// Descriptors that it has open.
    ///
    /// # Panics
    /// If it is gone.
    #[must_use]
    pub fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.pid())).unwrap().count()
    }

    /// Sockets among them.
    ///
    /// # Panics
    /// If it is gone.
    #[must_use]
    pub fn sockets(&self) -> usize {
        let all = fs::read_dir(format!("/proc/{}/fd", self.pid())).unwrap().flatten();
        let targets = all.filter_map(|entry| fs::read_link(entry.path()).ok());
        targets.filter(|target| target.to_string_lossy().starts_with("socket:")).count()
    }

    /// Its threads.
    ///
    /// # Panics
    /// If it is gone.
    #[must_use]
    pub fn threads(&self) -> usize {
        fs::read_dir(format!("/proc/{}/task", self.pid())).unwrap().count()
    }

    /// Bytes of memory that are its own (resident and anonymous).
    ///
    /// # Panics
    /// If it is gone.
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

/// Waits until `holds` says so.
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
