//! Removes directory trees without crossing a mount point, and gives a test mounts of its own.
//!
//! A bind mount of the same file system has the same device number as the directory below it, so devices are never
//! compared. A removal first reads the process's table of mounts, and then takes every step with `openat2` and
//! `RESOLVE_NO_XDEV`. This crate must not remove anything beyond a mount point, and must not mount anything in the
//! mount namespace of the host.

#![forbid(unsafe_code)]

#[cfg(feature = "tests")]
mod private;
mod remove;
#[cfg(feature = "tests")]
mod scratch;
mod table;
mod temporary;

#[cfg(feature = "tests")]
pub use private::{Mounted, PRIVATE, PrivateMounts, inside_command, is_private, private_command};
pub use remove::{RemoveError, remove_tree};
#[cfg(feature = "tests")]
pub use scratch::ScratchDir;
pub use table::mounts_below;
pub use temporary::TemporaryDir;
