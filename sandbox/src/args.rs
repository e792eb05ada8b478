//! Builds bubblewrap's arguments. They determine the whole protection that bubblewrap provides.
//!
//! Pure: accesses no file and no variable, so that a snapshot of the result describes a profile completely. Must never
//! use `--unshare-all` or the `-try` options, because these fail silently.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use airlock_init::wire::{COMMAND_DIRECTORY, COMMAND_DIRECTORY_SIZE, INSIDE, INSIDE_ID, STAGE, STAGED_ROOT};

use crate::layout::{HIDDEN_FILE, HOME, WORKSPACE, staged_socket};
use crate::profile::{Profile, Root, RootCover};
use crate::runtime::Runtime;
use crate::session::Session;
use crate::spec::{Limits, Network, Shape};

/// The host paths of the session's directories and of Airlock's own files, for bubblewrap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sources {
    /// The session's workspace.
    pub workspace: PathBuf,
    /// The session's HOME.
    pub home: PathBuf,
    /// The session's `/tmp`.
    pub tmp: PathBuf,
    /// The launcher's files: `init`, `bash_env`, `etc/`.
    pub runtime: PathBuf,
}

impl Sources {
    /// Returns the original paths, for a runner with the session's uid.
    pub(crate) fn direct(session: &Session, runtime: &Runtime) -> Self {
        Self {
            workspace: session.directories.workspace.clone(),
            home: session.directories.home.clone(),
            tmp: session.directories.tmp.clone(),
            runtime: runtime.directory().to_owned(),
        }
    }

    /// Returns the paths at which the launch step mounts the directories for the session's uid, which may not be able
    /// to reach the originals.
    #[must_use]
    pub fn staged() -> Self {
        let at = |name| Path::new(STAGE).join(name);
        Self { workspace: at("workspace"), home: at("home"), tmp: at("tmp"), runtime: at("runtime") }
    }
}

/// Returns all options of bubblewrap except the two descriptors, which have no fixed numbers, and the program, which is
/// always `airlock-init`.
#[must_use]
pub fn bwrap_args(profile: &Profile, sources: &Sources, limits: &Limits, shape: Shape) -> Vec<OsString> {
    let mut args = Args::default();
    namespaces(&mut args, shape.network);
    root(&mut args, profile);
    own_files(&mut args, &sources.runtime, shape.read_only);
    sockets(&mut args, profile);
    covers(&mut args, &profile.covers, &sources.runtime);
    kernel_files(&mut args, limits);
    session_directories(&mut args, sources, shape.read_only);
    var_tmp(&mut args, profile, limits, shape.read_only);
    args.add(&["--remount-ro", "/"]);
    args.0
}

fn namespaces(args: &mut Args, network: Network) {
    args.add(&["--unshare-user", "--unshare-pid", "--unshare-ipc"]);
    args.add(&["--unshare-uts", "--unshare-cgroup"]);
    match network {
        // The launch step has joined the session's namespace before bubblewrap runs.
        Network::SessionLoopback => {}
        Network::Empty => args.add(&["--unshare-net"]),
    }
    args.add(&["--disable-userns"]);
    let id = INSIDE_ID.to_string();
    args.add(&["--uid", &id, "--gid", &id, "--hostname", "airlock"]);
    args.add(&["--cap-drop", "ALL", "--new-session", "--die-with-parent", "--as-pid-1"]);
}

fn root(args: &mut Args, profile: &Profile) {
    match &profile.root {
        Root::Binds => {
            args.add(&["--perms", "0755", "--dir", "/etc", "--perms", "0755", "--dir", "/run"]);
            args.add(&["--perms", "0755", "--dir", "/var"]);
        }
        // The launch step has assembled it, including every mount point that follows.
        Root::Directory(_) => args.bind("--ro-bind", &Path::new(STAGE).join(STAGED_ROOT), Path::new("/")),
    }
    for bind in &profile.binds {
        args.bind("--ro-bind", &bind.source, &bind.target);
    }
    if profile.root == Root::Binds {
        for link in &profile.symlinks {
            args.bind("--symlink", &link.target, &link.link);
        }
    }
}

fn own_files(args: &mut Args, runtime: &Path, read_only: bool) {
    let etc = runtime.join("etc");
    for name in ["passwd", "group", "hosts", "nsswitch.conf"] {
        args.bind("--ro-bind", &etc.join(name), &Path::new("/etc").join(name));
    }
    let gitconfig = if read_only { "gitconfig-read-only" } else { "gitconfig" };
    args.bind("--ro-bind", &etc.join(gitconfig), Path::new("/etc/gitconfig"));
    args.bind("--ro-bind", &etc.join("ssh_config"), Path::new("/etc/ssh/ssh_config"));
    args.add(&["--perms", "0755", "--dir", INSIDE]);
    for name in ["init", "bash_env"] {
        args.bind("--ro-bind", &runtime.join(name), &Path::new(INSIDE).join(name));
    }
    let size = COMMAND_DIRECTORY_SIZE.to_string();
    args.add(&["--size", &size, "--perms", "0700", "--tmpfs", COMMAND_DIRECTORY]);
}

/// Binds each socket. bubblewrap creates empty parent directories.
fn sockets(args: &mut Args, profile: &Profile) {
    for (number, socket) in profile.sockets.allowed_unix.iter().enumerate() {
        args.bind("--ro-bind", &Path::new(STAGE).join(staged_socket(number)), socket);
    }
}

/// Covers parts of the root. Must come after the root's binds and before the kernel's file systems.
fn covers(args: &mut Args, covers: &[RootCover], runtime: &Path) {
    for cover in covers {
        match cover {
            RootCover::Directory { path, around } => {
                let perms = if *around { "0111" } else { "0000" };
                args.add(&["--perms", perms]);
                args.path("--tmpfs", path);
            }
            RootCover::File { path } => args.bind("--ro-bind", &runtime.join(HIDDEN_FILE), path),
            RootCover::Again(bind) => args.bind("--ro-bind", &bind.source, &bind.target),
        }
    }
    // The owner could open a writable directory again.
    for cover in covers {
        if let RootCover::Directory { path, .. } = cover {
            args.path("--remount-ro", path);
        }
    }
}

fn kernel_files(args: &mut Args, limits: &Limits) {
    let size = limits.dev_shm.to_string();
    args.add(&["--proc", "/proc", "--dev", "/dev"]);
    args.add(&["--size", &size, "--perms", "1777", "--tmpfs", "/dev/shm"]);
    // bubblewrap's `/dev` is a tmpfs without a size limit.
    args.add(&["--remount-ro", "/dev"]);
}

fn session_directories(args: &mut Args, sources: &Sources, read_only: bool) {
    let option = if read_only { "--ro-bind" } else { "--bind" };
    args.add(&["--perms", "0755", "--dir", "/home"]);
    args.bind(option, &sources.workspace, Path::new(WORKSPACE));
    args.bind(option, &sources.home, Path::new(HOME));
    args.bind(option, &sources.tmp, Path::new("/tmp"));
}

fn var_tmp(args: &mut Args, profile: &Profile, limits: &Limits, read_only: bool) {
    if read_only {
        let size = limits.var_tmp.to_string();
        args.add(&["--size", &size, "--perms", "1777", "--tmpfs", "/var/tmp"]);
    } else if profile.root == Root::Binds {
        args.add(&["--symlink", "../tmp", "/var/tmp"]);
    }
}

#[derive(Default)]
struct Args(Vec<OsString>);

impl Args {
    fn add(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(OsString::from));
    }

    fn path(&mut self, option: &str, path: &Path) {
        self.0.push(option.into());
        self.0.push(path.into());
    }

    fn bind(&mut self, option: &str, source: &Path, target: &Path) {
        self.0.push(option.into());
        self.0.extend([source, target].map(|path: &Path| AsRef::<OsStr>::as_ref(path).to_owned()));
    }
}

#[cfg(test)]
mod tests;
