//! What a profile lets a sandbox hold: the root, the search path, variables.
//!
//! Must not widen anything by itself: an empty profile gives an empty root.

use std::fs;
use std::path::{Path, PathBuf};

use crate::paths::RootCover;

/// A host path that is mounted read-only inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bind {
    /// Absolute path on the host, not below `/sys`. A runner that is root reaches it
    /// below folders that only root enters, if no part of the path is a link there;
    /// another must be able to reach it itself.
    pub source: PathBuf,
    /// Absolute path inside.
    pub target: PathBuf,
}

/// A symbolic link that is made inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symlink {
    /// What it points to.
    pub target: PathBuf,
    /// Absolute path inside at which it is.
    pub link: PathBuf,
}

/// What the root is made of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Root {
    /// The profile's binds and links on an empty tmpfs.
    #[default]
    Binds,
    /// A root file system in a folder of the host, read-only, with the binds on
    /// top of it. Not the host's own root. What is mounted in the folder is not
    /// shown; no part of its path may be a symbolic link, and none of the folders
    /// in which Airlock mounts something one of its own.
    Folder(PathBuf),
}

/// Globs of what may be read and written, as in a `.gitignore`: relative to the
/// workspace (a name without a slash at any depth), `~/` for HOME, `//` absolute as
/// seen inside. After a single slash a path is absolute, and in the lists that deny
/// one of the workspace as well. What a glob names, it names with all below it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PathRules {
    /// Cannot be read.
    pub deny_read: Vec<String>,
    /// Can be read, inside what `deny_read` names.
    pub allow_read: Vec<String>,
    /// All that can be written of the workspace, HOME and `/tmp`; `None`: all of
    /// them.
    pub allow_write: Option<Vec<String>>,
    /// Cannot be written, inside what can be.
    pub deny_write: Vec<String>,
}

/// Which sockets can be made and reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sockets {
    /// Whether sockets of the family UNIX can be made.
    pub unix: bool,
    /// Whether the routing tables and interfaces can be asked for by NETLINK.
    pub netlink_route: bool,
    /// Sockets of the host that are shown inside, at the same path, each by itself;
    /// where one is not there or not for the session's uid, nothing starts. At most
    /// [`crate::MAX_SOCKETS`], and of those that [`crate::can_be_shown`].
    pub allowed_unix: Vec<PathBuf>,
}

impl Default for Sockets {
    fn default() -> Self {
        Self { unix: true, netlink_route: false, allowed_unix: Vec::new() }
    }
}

/// What the sandbox gives at most.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Profile {
    /// What the root is made of.
    pub root: Root,
    /// Read-only binds, in order.
    pub binds: Vec<Bind>,
    /// Symbolic links of the root.
    pub symlinks: Vec<Symlink>,
    /// The value of PATH.
    pub path: String,
    /// Variables every command gets, over Airlock's base and under the
    /// session's.
    pub env: Vec<(String, String)>,
    /// Execution-changing names (`LD_PRELOAD`, `GIT_DIR`, ...) that session and
    /// request may set nevertheless.
    pub allow_env: Vec<String>,
    /// What may be read and written.
    pub paths: PathRules,
    /// Sockets.
    pub sockets: Sockets,
    /// What [`crate::RuleScope::resolve`] makes of `paths` for the root; outer
    /// before inner.
    pub covers: Vec<RootCover>,
}

/// Folders of the host's root that make up a system, where they exist.
const SYSTEM: [&str; 8] = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32", "/nix/store"];
/// Files and folders of the host's `/etc` that hold no secret and that programs
/// need to start.
const ETC: [&str; 15] = [
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/debian_version",
    "/etc/fonts",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/os-release",
    "/etc/perl",
    "/etc/protocols",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/terminfo",
];
/// The settings of each Java, without which none starts: `/etc/java-17-openjdk`.
const ETC_JAVA: (&str, &str) = ("java-", "-openjdk");
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

impl Profile {
    /// The smallest root on which the host's programs run: its `/usr`, what
    /// stands beside it (as links where the host has links), and the harmless
    /// part of `/etc`. Looks at the host; what is absent there is left out.
    #[must_use]
    pub fn minimal() -> Self {
        let mut profile = Self { path: PATH.to_owned(), ..Self::default() };
        let java = java_settings();
        for name in SYSTEM.iter().chain(&ETC).map(Path::new).chain(java.iter().map(PathBuf::as_path)) {
            match fs::symlink_metadata(name) {
                Ok(found) if found.is_symlink() => {
                    if let Ok(target) = fs::read_link(name) {
                        profile.symlinks.push(Symlink { target, link: name.to_owned() });
                    }
                }
                Ok(_) => profile.binds.push(Bind { source: name.to_owned(), target: name.to_owned() }),
                Err(_) => {}
            }
        }
        profile
    }

    /// This profile and one more read-only bind.
    #[must_use]
    pub fn with_bind(mut self, source: impl Into<PathBuf>, target: impl Into<PathBuf>) -> Self {
        self.binds.push(Bind { source: source.into(), target: target.into() });
        self
    }
}

fn java_settings() -> Vec<PathBuf> {
    let (start, end) = ETC_JAVA;
    let is_java = |name: &str| name.starts_with(start) && name.ends_with(end);
    let entries = fs::read_dir("/etc").into_iter().flatten().flatten();
    let found = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_java));
    let mut found: Vec<PathBuf> = found.map(|entry| entry.path()).collect();
    found.sort();
    found
}
