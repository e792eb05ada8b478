//! The parts of a profile that a sandbox uses: root, search path, variables, path rules, sockets.
//!
//! Must not widen access by default: an empty profile results in an empty root.

use std::fs;
use std::path::{Path, PathBuf};

/// A host path that is mounted read-only in the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bind {
    /// The absolute path on the host, not below `/sys`. A runner with root can bind a path below directories that
    /// only root enters, unless a component is a link. Another runner must be able to reach the path itself.
    pub source: PathBuf,
    /// The absolute path inside the sandbox.
    pub target: PathBuf,
}

/// A symbolic link that is created in the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symlink {
    /// Its target.
    pub target: PathBuf,
    /// Its absolute path inside the sandbox.
    pub link: PathBuf,
}

/// The source of the root.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Root {
    /// The profile's binds and links on an empty tmpfs.
    #[default]
    Binds,
    /// A root file system in a host directory, read-only, with the binds over it. It must not be the host's own root.
    /// Mounts inside the directory are not shown. No component of its path may be a symbolic link. Directories inside
    /// it that Airlock mounts over must not be symbolic links either.
    Directory(PathBuf),
}

/// Globs of readable and writable paths, in the style of `.gitignore`. They are relative to the workspace; a name
/// without a slash matches at any depth. `~/` begins a path in HOME, `//` an absolute path inside the sandbox. With a
/// single leading slash a path is absolute, and in the deny lists also relative to the workspace. A glob includes
/// everything below each match.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PathRules {
    /// Paths that cannot be read.
    pub deny_read: Vec<String>,
    /// Paths within `deny_read` that can be read.
    pub allow_read: Vec<String>,
    /// The only writable paths of the workspace, HOME and `/tmp`. `None` means all of them.
    pub allow_write: Option<Vec<String>>,
    /// Paths that cannot be written, within the writable ones.
    pub deny_write: Vec<String>,
}

/// The sockets that can be created and reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sockets {
    /// Whether sockets of the family UNIX can be created.
    pub unix: bool,
    /// Whether routing tables and interfaces can be read through NETLINK.
    pub netlink_route: bool,
    /// Host sockets that are shown inside at the same path. If a socket is missing or inaccessible for the session's
    /// uid, the start fails. At most [`crate::MAX_SOCKETS`], and each must pass [`crate::can_be_shown`].
    pub allowed_unix: Vec<PathBuf>,
}

impl Default for Sockets {
    fn default() -> Self {
        Self { unix: true, netlink_route: false, allowed_unix: Vec::new() }
    }
}

/// The maximum access of a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Profile {
    /// The source of the root.
    pub root: Root,
    /// Read-only binds, in order.
    pub binds: Vec<Bind>,
    /// Symbolic links of the root.
    pub symlinks: Vec<Symlink>,
    /// The value of PATH.
    pub path: String,
    /// Variables of every command. They override Airlock's base, and the session's variables override them.
    pub env: Vec<(String, String)>,
    /// Names that change execution (`LD_PRELOAD`, `GIT_DIR`, ...) and that session and request may set nevertheless.
    pub allow_env: Vec<String>,
    /// The path rules.
    pub paths: PathRules,
    /// The sockets.
    pub sockets: Sockets,
    /// The covers of the root that [`crate::RuleScope::resolve`] computed from `paths`; outer before inner.
    pub covers: Vec<RootCover>,
}

/// A cover over a part of the root, which is the host's and read-only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RootCover {
    /// An empty directory without permissions.
    Directory {
        /// The absolute path inside the sandbox.
        path: PathBuf,
        /// Whether a path in it is shown again.
        around: bool,
    },
    /// An empty file without permissions.
    File {
        /// The absolute path inside the sandbox.
        path: PathBuf,
    },
    /// A path of the host that is shown again.
    Again(Bind),
}

impl RootCover {
    /// Returns the path inside the sandbox.
    #[must_use]
    pub fn path(&self) -> &PathBuf {
        match self {
            Self::Directory { path, .. } | Self::File { path } => path,
            Self::Again(bind) => &bind.target,
        }
    }
}

/// Joins two paths without a trailing slash, which a file must not have.
pub(crate) fn joined(base: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() { base.to_owned() } else { base.join(below) }
}

/// Directories of the host's root that form a system, if they exist.
const SYSTEM: [&str; 8] = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32", "/nix/store"];
/// Files and directories of the host's `/etc` that contain no secret and that programs need to start.
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
/// The name pattern of Java's settings, such as `/etc/java-17-openjdk`. Java does not start without them.
const ETC_JAVA: (&str, &str) = ("java-", "-openjdk");
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

impl Profile {
    /// Returns the smallest root on which the host's programs run. It has `/usr` and related directories (as links if
    /// the host has links), and the harmless part of `/etc`. Reads the host's file system. Missing paths are skipped.
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

    /// Adds a read-only bind.
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
