//! The interface with the part of the probe that runs inside the sandbox: its targets and its observations.
//!
//! Must not attempt anything itself.

use std::fs;

use serde::{Deserialize, Serialize};

/// The argument that selects the probe's mode of `airlock-init`. The next argument is a [`LookFor`] in JSON.
pub const MODE_LOOK: &str = "look";

/// The attempt that only a system call filter refuses: `unshare` with no flags.
pub const FILTERED: &str = "unshare nothing";

/// The directories and files of the system that are tried for writing.
pub const SYSTEM_PLACES: [&str; 5] = ["/", "/usr", "/etc", "/dev", "/run/airlock"];
/// The directories of a session, as paths inside the sandbox.
pub const SESSION_PLACES: [&str; 4] = ["/workspace", "/home/agent", "/tmp", "/var/tmp"];

const NAMESPACES: [&str; 7] = ["user", "pid", "ipc", "uts", "mnt", "cgroup", "net"];

/// Returns kind and identity of each namespace of this process. Unreadable ones are skipped.
#[must_use]
pub fn namespaces() -> Vec<(String, String)> {
    let one = |kind: &str| {
        let link = fs::read_link(format!("/proc/self/ns/{kind}")).ok()?;
        Some((kind.to_owned(), link.to_str()?.to_owned()))
    };
    NAMESPACES.into_iter().filter_map(one).collect()
}

/// Targets on the host that the probe tries to reach.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LookFor {
    /// Files of the host that must be out of reach, by their paths on the host.
    pub files: Vec<String>,
    /// The port of a listener on the host's loopback.
    pub port: Option<u16>,
    /// The name of a listener in the host's abstract namespace.
    pub abstract_name: Option<String>,
}

/// The observations of the probe inside the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Sight {
    /// Names and values of `/proc/self/status`: capability sets, `NoNewPrivs`, `Seccomp` and others.
    pub status: Vec<(String, String)>,
    /// Kind and identity of its namespaces.
    pub namespaces: Vec<(String, String)>,
    /// Its pid according to the kernel.
    pub pid: u32,
    /// Its pid according to `/proc`. Another value means that `/proc` belongs to another namespace.
    pub proc_pid: Option<u32>,
    /// The number of processes that `/proc` shows.
    pub processes: usize,
    /// The network interfaces.
    pub interfaces: Vec<String>,
    /// The writable paths of [`SYSTEM_PLACES`] and [`SESSION_PLACES`].
    pub writable: Vec<String>,
    /// Whether a file could be created next to the command's file, which only Landlock forbids.
    pub command_directory_writable: bool,
    /// The attempts, in order.
    pub attempts: Vec<Attempt>,
}

/// One escape attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// A short description.
    pub name: String,
    /// The error number. `None` if the attempt succeeded.
    pub errno: Option<i32>,
}

impl Attempt {
    /// Reports whether the attempt succeeded.
    #[must_use]
    pub fn worked(&self) -> bool {
        self.errno.is_none()
    }
}

impl Sight {
    /// Returns a value of `/proc/self/status` by its name without the colon.
    #[must_use]
    pub fn status(&self, name: &str) -> Option<&str> {
        self.status.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// Returns the attempt with this name.
    #[must_use]
    pub fn attempt(&self, name: &str) -> Option<&Attempt> {
        self.attempts.iter().find(|attempt| attempt.name == name)
    }
}
