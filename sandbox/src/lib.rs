//! The Linux sandbox of Airlock as a library with a simple interface: `Profile + Session + Limits -> Launcher::start`.
//!
//! It builds bubblewrap's arguments and a command's environment, and creates the session's network namespace. It
//! controls the processes that it starts until all of them have ended. Must not decide whether a command may run, and
//! must not read output.

pub mod args;
mod cgroup;
mod confinement;
mod disk;
pub mod env;
mod error;
mod landlock;
mod launcher;
mod layout;
mod mask;
mod obeyed;
mod paths;
mod profile;
pub mod protect;
mod refusals;
mod report;
mod running;
mod runtime;
mod seccomp;
mod session;
mod shared;
mod spec;
mod status;

pub use airlock_init::wire::{
    COMMAND_DIRECTORY, COMMAND_FILE, HostIds, INSIDE_BASH_ENV, INSIDE_CERTIFICATES, INSIDE_ID, Landlock,
    MODE_CONNECT, PROXY_VARIABLE, SNAPSHOT_FILE, STAGE, Signal, TerminalSize,
};
pub use args::{Sources, bwrap_args};
pub use cgroup::{CgroupConfig, CgroupMode, NotEnforced, sweep as sweep_cgroups};
pub use disk::{DiskBackend, DiskConfig, DiskError, DiskUse, Disks, SessionDisk, disk_check, disk_use};
pub use error::{LaunchError, Started};
pub use launcher::{Config, Launcher, shell_words};
pub use layout::{HOME, TMP, USER, WORKSPACE};
pub use mask::{MAX_MASKS, Mask, MaskKind, SessionDirectory};
pub use obeyed::{SettingsFormat, git_includes, named_setting};
pub use paths::{MAX_RULE_DEPTH, MAX_RULE_ENTRIES, PathRuleError, Resolved, RuleScope};
pub use profile::{Bind, PathRules, Profile, Root, RootCover, Sockets, Symlink};
pub use refusals::{MaskOrigin, PathError, Refusals, RefusedPath};
pub use report::{
    CapabilityReport, Check, InstalledShell, LAYER_NAMES, LAYERS, Layer, State, layer, unusable,
};
pub use running::{Cause, Control, Ended, PeakMemory, PeakSource, Running, Streams, Waiter};
pub use runtime::bash_env;
pub use seccomp::{RefusedCall, filter as seccomp_filter};
pub use session::{
    DirectoryError, Session, SessionDirectories, SessionNet, SessionSockets, UidIsolation, UidRange,
    change_owner_of_tree,
};
pub use shared::{MAX_SOCKETS, can_be_shown};
pub use spec::{LaunchSpec, Limits, MAX_COMMAND, Network, Shape, Shell, Stdin};
