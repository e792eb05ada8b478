//! Removes directory trees without crossing a mount point, and provides private mounts for tests.
//!
//! A bind mount within one file system has the same device number as the directory below it, so device numbers are
//! not compared. A removal first reads the process's mount table, and then takes each step with `openat2` and
//! `RESOLVE_NO_XDEV`. This crate must not remove anything beyond a mount point, and must not mount anything in the
//! host's mount namespace.

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
