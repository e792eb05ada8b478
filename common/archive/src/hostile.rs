//! Archives that attack programs that unpack them. They are test data for this crate and for all crates
//! that accept archives, behind the feature `hostile`. Do not use this module to write archives for other
//! purposes: `pack` does that.
//!
//! Each case has a name and a part of the expected error message. A case that is refused for its size
//! exceeds any limits below 1,000,000 entries and 4 GiB. No case sends more than 32 MiB.

mod bombs;
mod format;
mod kinds;
mod links;
mod naming;
mod raw;

use std::io::{Cursor, Read};

pub use raw::{Block, Tar, gzip, longer, pax, pax_record};

use crate::Format;

/// Produces the bytes of an archive on each call.
pub type Bytes = Box<dyn Fn() -> Box<dyn Read + Send> + Send + Sync>;

/// An archive that a regular tar program would not create.
pub struct Hostile {
    /// The name of the case; unique.
    pub name: &'static str,
    /// The declared format.
    pub format: Format,
    /// The archive.
    pub bytes: Bytes,
    /// A part of the error message. `None` means that the archive looks suspicious, but is harmless and
    /// accepted.
    pub refusal: Option<&'static str>,
}

/// Returns all cases.
#[must_use]
pub fn cases() -> Vec<Hostile> {
    [naming::cases(), links::cases(), kinds::cases(), format::cases(), bombs::cases()]
        .into_iter()
        .flatten()
        .collect()
}

/// Creates a case that is refused.
fn refused(name: &'static str, refusal: &'static str, archive: impl Into<Vec<u8>>) -> Hostile {
    Hostile { name, format: Format::Tar, bytes: bytes(archive.into()), refusal: Some(refusal) }
}

/// Creates a case that is accepted.
fn taken(name: &'static str, archive: impl Into<Vec<u8>>) -> Hostile {
    Hostile { name, format: Format::Tar, bytes: bytes(archive.into()), refusal: None }
}

/// Returns the case as gzip.
fn as_gzip(case: Hostile) -> Hostile {
    Hostile { format: Format::TarGzip, ..case }
}

fn bytes(archive: Vec<u8>) -> Bytes {
    Box::new(move || Box::new(Cursor::new(archive.clone())))
}
