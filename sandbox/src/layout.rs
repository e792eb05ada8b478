//! The fixed paths and names inside every sandbox.
//!
//! Plain data. Must not depend on a profile or a session.

/// The path of the session's workspace.
pub const WORKSPACE: &str = "/workspace";
/// The path of HOME.
pub const HOME: &str = "/home/agent";
/// The path of the session's directory for temporary files.
pub const TMP: &str = "/tmp";
/// The name of uid [`airlock_init::wire::INSIDE_ID`].
pub const USER: &str = "agent";

/// An empty file without permissions, in the launcher's directory.
pub(crate) const HIDDEN_FILE: &str = "hidden";

/// Directories that Airlock mounts, or places files in, in every sandbox.
pub(crate) const OWN_DIRECTORIES: [&str; 10] = [
    "/proc",
    "/dev",
    "/etc",
    "/etc/ssh",
    "/run/airlock",
    "/run/airlock/run",
    "/var",
    "/workspace",
    "/home/agent",
    "/tmp",
];
/// Files that Airlock provides in every sandbox.
pub(crate) const OWN_FILES: [&str; 8] = [
    "/etc/passwd",
    "/etc/group",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/gitconfig",
    "/etc/ssh/ssh_config",
    "/run/airlock/init",
    "/run/airlock/bash_env",
];

/// Returns the name under [`airlock_init::wire::STAGE`] of a profile's socket, from its index.
pub(crate) fn staged_socket(number: usize) -> String {
    format!("socket-{number}")
}
