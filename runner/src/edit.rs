//! File edits: a `sed -i` that runs on private copies of its files, and the writing of its approved results.
//!
//! A preview and the run of an approved edit make the same copies and run the same words. The program never sees the
//! session's own files. This module reads and writes those files itself, through directory handles, with no more rights
//! than the session's user. No link leads out of the workspace, and no open waits for a pipe.

mod commit;
mod copies;
mod error;
mod input;
mod masked;
mod place;

pub(crate) use commit::commit;
pub(crate) use copies::{Copies, Output, text};
pub(crate) use error::EditError;
pub(crate) use input::{Input, read};
pub(crate) use masked::check as check_masks;

#[cfg(test)]
mod tests;
