//! Fixtures that start the `airlock` command and devs. This file contains no tests.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tempfile::TempDir;

/// The time that a test waits for an expected event. Only a failing test waits that long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A state directory, and its dev while one is started.
pub(crate) struct Site {
    directory: TempDir,
    dev: Option<Child>,
}

impl Site {
    /// Creates a state directory without a dev.
    pub(crate) fn empty() -> Self {
        Self { directory: tempfile::Builder::new().prefix("airlock-cli-test-").tempdir().unwrap(), dev: None }
    }

    /// Creates a state directory with a dev that accepts commands.
    pub(crate) fn with_dev(arguments: &[&str]) -> Self {
        let mut site = Self::empty();
        site.start(arguments);
        site
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.directory.path().join("state")
    }

    /// Returns the command with the state directory in its environment.
    pub(crate) fn airlock(&self, arguments: &[&str]) -> Command {
        let mut command = airlock(arguments);
        command.env("AIRLOCK_STATE", self.state()).env("TMPDIR", self.directory.path());
        command
    }

    pub(crate) fn output(&self, arguments: &[&str]) -> Output {
        self.airlock(arguments).output().unwrap()
    }

    /// Runs the command, asserts success, and returns its standard output.
    pub(crate) fn text(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs the command and returns its exit code and standard error.
    pub(crate) fn fails(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.output(arguments);
        (output.status.code().unwrap(), stderr(&output))
    }

    pub(crate) fn start(&mut self, arguments: &[&str]) {
        let mut command = self.airlock(&["dev"]);
        let log = std::fs::File::create(self.directory.path().join("dev.log")).unwrap();
        let errors = log.try_clone().unwrap();
        self.dev = Some(command.args(arguments).stdout(log).stderr(errors).spawn().unwrap());
        eventually("the dev takes commands", || {
            let ended = self.dev.as_mut().and_then(|dev| dev.try_wait().unwrap());
            assert!(ended.is_none(), "the dev ended: {}", self.log());
            self.output(&["runners"]).status.success()
        });
    }

    /// Sends the dev a signal and returns its exit code, if it has one.
    pub(crate) fn stop(&mut self, signal: Signal) -> Option<i32> {
        let mut dev = self.dev.take().unwrap();
        send(&dev, signal);
        end(&mut dev)
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("dev.log")).unwrap_or_default()
    }

    /// Returns all entries of the test's directory except the state directory and the log.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.directory.path()).unwrap().flatten();
        let names = entries.map(|entry| entry.file_name().into_string().unwrap());
        names.filter(|name| name != "state" && name != "dev.log").collect()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if let Some(mut dev) = self.dev.take() {
            send(&dev, Signal::SIGTERM);
            end(&mut dev);
        }
        // A killed dev leaves its cgroup, which is outside the directory.
        if let Err(error) = airlock_sandbox::sweep_cgroups(&self.state().join("runner/launcher")) {
            eprintln!("a cgroup is left behind: {error}");
        }
    }
}

/// Returns the command without environment variables that could change its behaviour.
pub(crate) fn airlock(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_airlock"));
    for name in ["AIRLOCK_STATE", "AIRLOCK_ADDRESS", "AIRLOCK_CA", "AIRLOCK_TOKEN_FILE", "TRACEPARENT"] {
        command.env_remove(name);
    }
    command.args(arguments).stdin(Stdio::null());
    command
}

pub(crate) fn send(child: &Child, signal: Signal) {
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
}

/// Waits for the process to end and returns its exit code.
pub(crate) fn end(child: &mut Child) -> Option<i32> {
    let mut status = None;
    eventually("the process ends", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    status.unwrap().code()
}

/// Waits until a condition holds.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < until, "in {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the mode of a file.
pub(crate) fn mode(path: &Path) -> u32 {
    std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(path).unwrap()) & 0o777
}
