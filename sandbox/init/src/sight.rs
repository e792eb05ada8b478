//! What the probe's part inside is told to look for, and what it says it saw.
//!
//! Must not try anything itself: this is what both sides agree on.

use std::fs;

use serde::{Deserialize, Serialize};

/// The argument that makes `airlock-init` the probe's part inside; the next
/// one is a [`LookFor`] in JSON.
pub const MODE_LOOK: &str = "look";

/// The attempt that nothing but a filter of system calls refuses: to share
/// nothing less than before.
pub const FILTERED: &str = "unshare nothing";

/// The folders and files that are tried for writing, besides those of the
/// session.
pub const SYSTEM_PLACES: [&str; 5] = ["/", "/usr", "/etc", "/dev", "/run/airlock"];
/// The folders of a session, as they are inside.
pub const SESSION_PLACES: [&str; 4] = ["/workspace", "/home/agent", "/tmp", "/var/tmp"];

const NAMESPACES: [&str; 7] = ["user", "pid", "ipc", "uts", "mnt", "cgroup", "net"];

/// The namespaces of this process, kind and identity; those that cannot be seen
/// are left out.
#[must_use]
pub fn namespaces() -> Vec<(String, String)> {
    let one = |kind: &str| {
        let link = fs::read_link(format!("/proc/self/ns/{kind}")).ok()?;
        Some((kind.to_owned(), link.to_str()?.to_owned()))
    };
    NAMESPACES.into_iter().filter_map(one).collect()
}

/// What is on the host, for the probe to try to reach.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LookFor {
    /// Files of the host that must be out of reach, by their paths there.
    pub files: Vec<String>,
    /// The port of a listener on the host's loopback.
    pub port: Option<u16>,
    /// The name of a listener in the host's abstract namespace.
    pub abstract_name: Option<String>,
}

/// What the probe saw from inside.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Sight {
    /// `/proc/self/status`: capability sets, `NoNewPrivs`, `Seccomp` and their
    /// kin, name and value.
    pub status: Vec<(String, String)>,
    /// The namespaces it is in, kind and identity.
    pub namespaces: Vec<(String, String)>,
    /// Its own number, as the kernel says it.
    pub pid: u32,
    /// Its own number, as /proc says it: another one is another namespace's.
    pub proc_pid: Option<u32>,
    /// How many processes /proc shows.
    pub processes: usize,
    /// Network interfaces.
    pub interfaces: Vec<String>,
    /// Places of [`SYSTEM_PLACES`] and [`SESSION_PLACES`] that could be written.
    pub writable: Vec<String>,
    /// Whether a file could be made beside the command's own, which Landlock alone
    /// forbids.
    pub command_folder_writable: bool,
    /// What was tried, in order.
    pub attempts: Vec<Attempt>,
}

/// One escape that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// What, in a few words.
    pub name: String,
    /// The error's number; `None` if it worked.
    pub errno: Option<i32>,
}

impl Attempt {
    /// Whether it got through.
    #[must_use]
    pub fn worked(&self) -> bool {
        self.errno.is_none()
    }
}

impl Sight {
    /// A line of `/proc/self/status`, by its name without the colon.
    #[must_use]
    pub fn status(&self, name: &str) -> Option<&str> {
        self.status.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// The attempt of a name.
    #[must_use]
    pub fn attempt(&self, name: &str) -> Option<&Attempt> {
        self.attempts.iter().find(|attempt| attempt.name == name)
    }
}
