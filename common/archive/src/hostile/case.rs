//! One case: an archive and the expected answer.

use std::io::{Cursor, Read};

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

/// Creates a case that is refused.
pub(super) fn refused(name: &'static str, refusal: &'static str, archive: impl Into<Vec<u8>>) -> Hostile {
    Hostile { name, format: Format::Tar, bytes: bytes(archive.into()), refusal: Some(refusal) }
}

/// Creates a case that is accepted.
pub(super) fn taken(name: &'static str, archive: impl Into<Vec<u8>>) -> Hostile {
    Hostile { name, format: Format::Tar, bytes: bytes(archive.into()), refusal: None }
}

/// Returns the case as gzip.
pub(super) fn as_gzip(case: Hostile) -> Hostile {
    Hostile { format: Format::TarGzip, ..case }
}

fn bytes(archive: Vec<u8>) -> Bytes {
    Box::new(move || Box::new(Cursor::new(archive.clone())))
}
