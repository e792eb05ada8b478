//! The names of the sandbox's layers, whether every command needs them, the consequence of each missing one, and the
//! result of a check.
//!
//! Plain data. The configuration's floor, the report and the documentation use these names.

use serde::Serialize;

/// One layer of the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layer {
    /// Its name in reports, in the configuration's floor and in JSON.
    pub name: &'static str,
    /// Whether no command runs without it, whatever the configuration.
    pub floor: bool,
    /// The consequence if it is missing.
    pub lost: &'static str,
}

const fn floor(name: &'static str, lost: &'static str) -> Layer {
    Layer { name, floor: true, lost }
}

const fn extra(name: &'static str, lost: &'static str) -> Layer {
    Layer { name, floor: false, lost }
}

/// All layers, in the order of the report.
pub const LAYERS: [Layer; 22] = [
    floor("sandbox", "commands cannot be isolated, and no command runs"),
    floor("namespaces", "commands would share processes, mounts and users with the host"),
    floor("nested_userns", "a command could gain capabilities in its own user namespace"),
    floor("host_uid", "a command would own the files of the host's root"),
    floor("capabilities", "a command could set the clock, mount, or trace other processes"),
    floor("no_new_privs", "a command could gain rights by setuid programs"),
    floor("fresh_proc", "a command would see the host's processes and their environments"),
    floor("read_only", "a command that was allowed as read-only could write"),
    floor("session_net", "the commands of a session could not reach each other's servers"),
    floor("empty_net", "a command that was allowed as read-only could reach a network"),
    floor("seccomp", "a command could use every system call, and exploit flaws in each of them"),
    floor("escapes", "an escape that was tried from inside succeeded"),
    extra("landlock", "the mounts would be the only layer, and one flaw in them would permit an escape"),
    extra(
        "uid_isolation",
        "sessions share one host uid, and a flaw in another layer could give one session access to another",
    ),
    extra("cgroup", "the processes of a command are killed one by one, and their total usage is not known"),
    extra("memory", "one command could use all of the host's memory"),
    extra("swap", "one command could use all of the host's swap"),
    extra("pids", "processes are limited per user only, and all commands of a user share the limit"),
    extra("cpu", "one command could use all of the host's processors"),
    extra("io", "one command could use all of the disk's bandwidth"),
    extra("disk_quota", "one session could fill the disk that other sessions use"),
    extra("git", "a directory that looks like a bare repository could make git run its hooks"),
];

/// The names of all layers, in the same order.
pub const LAYER_NAMES: [&str; LAYERS.len()] = {
    let mut names = [""; LAYERS.len()];
    let mut rest = LAYERS.as_slice();
    let mut free = names.as_mut_slice();
    while let ([layer, layers @ ..], [name, names @ ..]) = (rest, free) {
        *name = layer.name;
        (rest, free) = (layers, names);
    }
    names
};

/// Returns the layer with this name.
#[must_use]
pub fn layer(name: &str) -> Option<&'static Layer> {
    LAYERS.iter().find(|layer| layer.name == name)
}

/// Returns the consequence if a layer is missing.
pub(super) fn lost(name: &str) -> &'static str {
    layer(name).map_or("", |layer| layer.lost)
}

/// The state of a checked item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It was observed to work completely.
    Ok,
    /// It works in part, or a weaker alternative works.
    Degraded,
    /// It does not work, or it could not be observed.
    Missing,
}

impl State {
    /// Returns the name for display and JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Degraded => "degraded",
            Self::Missing => "missing",
        }
    }
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The stable lower-case name.
    pub name: &'static str,
    /// The state.
    pub state: State,
    /// The observation, in one line.
    pub seen: String,
    /// The consequence if it is missing, in one line. Empty if it works completely.
    pub lost: String,
    /// The remedy (a command or a Kubernetes field), in one line. Empty if it works completely or no remedy is known.
    pub remedy: String,
}

impl Check {
    /// Returns the check of an item that works.
    pub(crate) fn ok(name: &'static str, seen: impl Into<String>) -> Self {
        Self { name, state: State::Ok, seen: seen.into(), lost: String::new(), remedy: String::new() }
    }

    /// Returns the check of an item that works in part.
    pub(crate) fn degraded(
        name: &'static str,
        seen: impl Into<String>,
        lost: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { name, state: State::Degraded, seen: seen.into(), lost: lost.into(), remedy: remedy.into() }
    }

    /// Returns the check of an item that does not work.
    pub(crate) fn missing(
        name: &'static str,
        seen: impl Into<String>,
        lost: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { state: State::Missing, ..Self::degraded(name, seen, lost, remedy) }
    }

    /// Reports whether the item was observed to work completely.
    #[must_use]
    pub fn is_enforced(&self) -> bool {
        self.state == State::Ok
    }
}
