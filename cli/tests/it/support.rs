//! Starts the `airlock` command and devs of its own for tests. Not a test itself.

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

/// How long a test waits for what must happen. All of it passes only where the test fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A state folder, and the dev in it while one is started.
pub(crate) struct Site {
    folder: TempDir,
    dev: Option<Child>,
}

impl Site {
    /// A state folder without a dev.
    pub(crate) fn empty() -> Self {
        Self { folder: tempfile::Builder::new().prefix("airlock-cli-test-").tempdir().unwrap(), dev: None }
    }

    /// A state folder with a dev that takes commands.
    pub(crate) fn with_dev(arguments: &[&str]) -> Self {
        let mut site = Self::empty();
        site.start(arguments);
        site
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// The command with the state folder in its environment.
    pub(crate) fn airlock(&self, arguments: &[&str]) -> Command {
        let mut command = airlock(arguments);
        command.env("AIRLOCK_STATE", self.state()).env("TMPDIR", self.folder.path());
        command
    }

    pub(crate) fn output(&self, arguments: &[&str]) -> Output {
        self.airlock(arguments).output().unwrap()
    }

    /// What it writes to standard output; it must succeed.
    pub(crate) fn text(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The exit code and standard error.
    pub(crate) fn fails(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.output(arguments);
        (output.status.code().unwrap(), stderr(&output))
    }

    pub(crate) fn start(&mut self, arguments: &[&str]) {
        let mut command = self.airlock(&["dev"]);
        let log = std::fs::File::create(self.folder.path().join("dev.log")).unwrap();
        let errors = log.try_clone().unwrap();
        self.dev = Some(command.args(arguments).stdout(log).stderr(errors).spawn().unwrap());
        eventually("the dev takes commands", || {
            let ended = self.dev.as_mut().and_then(|dev| dev.try_wait().unwrap());
            assert!(ended.is_none(), "the dev ended: {}", self.log());
            self.output(&["runners"]).status.success()
        });
    }

    /// Sends the dev a signal and gives its exit code, if it has one.
    pub(crate) fn stop(&mut self, signal: Signal) -> Option<i32> {
        let mut dev = self.dev.take().unwrap();
        send(&dev, signal);
        end(&mut dev)
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("dev.log")).unwrap_or_default()
    }

    /// Everything in the folder that tests live in, besides the state folder and the log.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap().flatten();
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
        // One that was killed has left its cgroup, which stands outside of the folder.
        if let Err(error) = airlock_sandbox::sweep_cgroups(&self.state().join("runner/launcher")) {
            eprintln!("a cgroup is left behind: {error}");
        }
    }
}

/// The command, without anything of the test's own environment that it would look at.
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

/// Waits for the end, and gives the exit code.
pub(crate) fn end(child: &mut Child) -> Option<i32> {
    let mut status = None;
    eventually("the process ends", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    status.unwrap().code()
}

/// Waits until something holds.
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

/// The mode of a file.
pub(crate) fn mode(path: &Path) -> u32 {
    std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(path).unwrap()) & 0o777
}
