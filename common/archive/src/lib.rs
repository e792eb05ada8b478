//! Packs directories into tar archives and unpacks archives into directories, without trusting either.
//!
//! An archive can come from anyone, and a hostile command can change the directory at the same time.
//! Nothing outside the directory is read, created or changed. The crate must not follow a link, use the
//! network, or hold an archive, a file or an unbounded list in memory. All calls block.

#![forbid(unsafe_code)]

mod entry;
mod error;
mod globs;
mod header;
mod limits;
mod names;
mod pack;
mod put;
mod source;
mod tree;
mod unpack;
mod walk;
mod write;

pub use entry::{Counts, Entry, Format, Kind};
pub use error::{ArchiveError, Cause, Obstacle, Position, Rule};
pub use globs::{GlobError, globs};
pub use limits::{
    BLOCK_BYTES, Cancel, DIRECTORY_NAMES_BYTES, EXTENSION_BYTES, GLOB_BYTES, GLOBS, Limits, PADDING_BYTES,
    SKIPPED_FILES,
};
pub use names::join;
pub use pack::{Pack, Packed, Skipped, pack};
pub use put::{TEMPORARY_PREFIX, write_file};
pub use unpack::{Unpack, check, conflicts, unpack};

#[cfg(feature = "hostile")]
pub mod hostile;
