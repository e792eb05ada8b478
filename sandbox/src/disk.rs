//! The disk limits of a session, and the mechanisms that enforce them. These are quotas of the file system, a private
//! file system in an image or in memory, and a periodic count.
//!
//! The limit applies to one directory of a session, which holds its workspace, HOME, `/tmp` and quarantine. No file
//! contents of a command are read.

mod backend;
mod check;
mod count;
mod disks;
mod error;
mod image;
mod mounts;
mod quota;
mod session;

pub use backend::{DiskBackend, DiskConfig};
pub use check::disk_check;
pub use count::{DiskUse, disk_use};
pub use disks::Disks;
pub use error::DiskError;
pub use session::SessionDisk;

#[cfg(test)]
mod tests;
