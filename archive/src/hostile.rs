//! Archives that attack whoever unpacks them, for tests, of this crate and of all that take archives from
//! others. Behind the feature `hostile`. It must not be used to write an archive for anyone: `pack` does
//! that.
//!
//! Each is known by name, with a part of the message that refuses it. Where a case is refused for being too
//! large, it is so for any limits below 1,000,000 entries and 4 GiB; none has more than 32 MiB to send.

mod bombs;
mod format;
mod kinds;
mod links;
mod naming;
mod raw;

use std::io::{Cursor, Read};

pub use raw::{Block, Tar, gzip, longer, pax, pax_record};

use crate::Format;

/// Makes the bytes of an archive anew.
pub type Bytes = Box<dyn Fn() -> Box<dyn Read + Send> + Send + Sync>;

/// An archive that no tar would make.
pub struct Hostile {
    /// Of the case; unique.
    pub name: &'static str,
    /// What it says it is.
    pub format: Format,
    /// The archive.
    pub bytes: Bytes,
    /// A part of the message that refuses it. `None`: it looks bad and is harmless, and is taken.
    pub refusal: Option<&'static str>,
}

/// All of them.
#[must_use]
pub fn cases() -> Vec<Hostile> {
    [naming::cases(), links::cases(), kinds::cases(), format::cases(), bombs::cases()]
        .into_iter()
        .flatten()
        .collect()
}

/// A case that is refused.
fn refused(name: &'static str, refusal: &'static str, archive: impl Into<Vec<u8>>) -> Hostile {
    Hostile { name, format: Format::Tar, bytes: bytes(archive.into()), refusal: Some(refusal) }
}

/// A case that is taken.
fn taken(name: &'static str, archive: impl Into<Vec<u8>>) -> Hostile {
    Hostile { name, format: Format::Tar, bytes: bytes(archive.into()), refusal: None }
}

/// The same as gzip.
fn as_gzip(case: Hostile) -> Hostile {
    Hostile { format: Format::TarGzip, ..case }
}

fn bytes(archive: Vec<u8>) -> Bytes {
    Box::new(move || Box::new(Cursor::new(archive.clone())))
}
