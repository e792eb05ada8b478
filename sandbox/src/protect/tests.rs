//! Tests of protected names on real directories: plain file operations on a workspace that a guard watches.

mod home;
mod hostile;
mod judged;
mod planted;
mod planting;
mod removed;
mod repositories;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;

/// A workspace with a guard next to it.
struct World {
    root: tempfile::TempDir,
    guard: Guard,
}

fn handle(path: &Path) -> OwnedFd {
    fs::File::open(path).unwrap().into()
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for name in ["workspace", "home", "tmp", DIRECTORY] {
            fs::create_dir(root.path().join(name)).unwrap();
        }
        let guard = Guard::open(handle(&root.path().join(DIRECTORY))).unwrap();
        Self { root, guard }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.path().join("workspace").join(path)
    }

    /// Writes a file, and creates its parent directories.
    fn put(&self, path: &str, content: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o640).open(path).unwrap();
        file.write_all(content.as_bytes()).unwrap();
    }

    fn get(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    fn has(&self, path: &str) -> bool {
        fs::symlink_metadata(self.at(path)).is_ok()
    }

    fn begin(&mut self, writer: Writer) -> u64 {
        let workspace = handle(&self.at(""));
        self.guard.begin(workspace.as_fd(), writer).unwrap().id
    }

    fn end(&mut self, id: u64) -> Vec<Found> {
        self.end_in(id, "")
    }

    fn end_in(&mut self, id: u64, directory: &str) -> Vec<Found> {
        let workspace = handle(&self.at(""));
        self.guard.end(workspace.as_fd(), id, &[directory.as_bytes()])
    }

    /// Runs a command from its beginning to its end.
    fn run(&mut self, writer: Writer, work: impl FnOnce(&Self)) -> Vec<Found> {
        let id = self.begin(writer);
        work(self);
        self.end(id)
    }

    fn restore(&mut self, id: &str) -> Result<(Vec<u8>, Option<String>), ProtectError> {
        let workspace = handle(&self.at(""));
        self.guard.restore(workspace.as_fd(), id)
    }

    /// Waits until new files get a later time than existing ones.
    fn tick(&self) {
        let time = || fs::metadata(self.root.path().join("tick")).unwrap().modified().unwrap();
        fs::write(self.root.path().join("tick"), "").unwrap();
        let begun = time();
        while time() == begun {
            std::thread::sleep(std::time::Duration::from_millis(1));
            fs::write(self.root.path().join("tick"), "x").unwrap();
        }
    }

    /// Returns the same session in the runner's next process.
    fn again(self) -> Self {
        let guard = Guard::open(handle(&self.root.path().join(DIRECTORY))).unwrap();
        Self { guard, ..self }
    }

    /// Returns the same workspace in a session that begins now.
    fn anew(mut self) -> Self {
        self.guard = Guard::open(handle(&self.root.path().join(DIRECTORY))).unwrap();
        for name in ["record", "began"] {
            fs::remove_file(self.root.path().join(DIRECTORY).join(name)).unwrap();
        }
        let mut world = self.again();
        assert_eq!(world.run(writer(), |_| {}), []);
        world
    }

    fn git(&self, directory: &str, args: &[&str]) -> String {
        let output = Command::new("git")
            .current_dir(self.at(directory))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"])
            .args(["-c", "init.defaultBranch=main"])
            .args(args)
            .output()
            .unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

fn writer() -> Writer {
    Writer { execution: "e1".to_owned(), writes: true, ..Writer::default() }
}

fn with_git(subcommands: &[&str]) -> Writer {
    Writer { git: GitUses::read(subcommands), ..writer() }
}

fn with_paths(paths: &[&str]) -> Writer {
    Writer { paths: paths.iter().map(|path| path.as_bytes().to_vec()).collect(), ..writer() }
}

/// Returns path, kind and outcome of each change.
fn told(found: &[Found]) -> Vec<(String, &'static str, Outcome)> {
    let path = |found: &Found| String::from_utf8(found.path.clone().unwrap_or_default()).unwrap();
    found.iter().map(|found| (path(found), found.kind, found.outcome)).collect()
}

fn quarantined(path: &str, kind: &'static str) -> (String, &'static str, Outcome) {
    (path.to_owned(), kind, Outcome::Quarantined)
}
