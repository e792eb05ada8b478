//! The storage of finished output: one directory per execution in an object store.
//!
//! A directory holds the kept bytes of each stream and a manifest. The manifest is written last. An output without a
//! manifest does not exist, so a partial output of a dead process is never read as a complete one. Offsets are those of
//! the original stream and never change. A range that was cut is a gap. This module must not depend on runners, readers
//! or execution states.

mod error;
mod manifest;
mod outputs;
mod reader;
mod retention;
mod s3;
mod shelf;
mod writer;

pub use error::OutputError;
pub use manifest::{Stored, StoredStream};
pub use outputs::Outputs;
pub use reader::OutputReader;
pub use retention::Retention;
pub use s3::{S3Credentials, S3Options};
pub use writer::OutputWriter;

#[cfg(test)]
mod contract;
#[cfg(test)]
mod tests;
