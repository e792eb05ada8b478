//! Writes tar archives: GNU headers without owners, with long names in GNU's form. It must not write
//! an end marker to an incomplete archive.

use std::io::{BufWriter, Write};

use flate2::{Compression, write::GzEncoder};
use tar::{EntryType, Header};

use crate::{ArchiveError, BLOCK_BYTES, Cancel, Cause, Format, Kind, header::HEADER_BYTES};

/// The fields of a header.
pub(crate) struct Head<'h> {
    pub(crate) path: &'h [u8],
    pub(crate) kind: Kind,
    pub(crate) size: u64,
    pub(crate) mode: u32,
    pub(crate) modified: u64,
    pub(crate) target: &'h [u8],
}

/// An archive that is being written.
pub(crate) struct TarWriter<'a, W: Write> {
    out: Out<W>,
    cancel: &'a Cancel,
}

enum Out<W: Write> {
    Tar(BufWriter<W>),
    Gzip(GzEncoder<BufWriter<W>>),
}

impl<'a, W: Write> TarWriter<'a, W> {
    pub(crate) fn new(out: W, format: Format, cancel: &'a Cancel) -> Self {
        let out = BufWriter::with_capacity(BLOCK_BYTES, out);
        let out = match format {
            Format::Tar => Out::Tar(out),
            Format::TarGzip => Out::Gzip(GzEncoder::new(out, Compression::default())),
        };
        Self { out, cancel }
    }

    /// Starts an entry. Its content must follow.
    pub(crate) fn header(&mut self, head: &Head<'_>) -> Result<(), ArchiveError> {
        let mut name = head.path.to_vec();
        if head.kind == Kind::Directory {
            name.push(b'/');
        }
        let mut header = Header::new_gnu();
        if !fits(&mut header.as_old_mut().name, &name) {
            self.long(EntryType::GNULongName, &name)?;
        }
        if !fits(&mut header.as_old_mut().linkname, head.target) {
            self.long(EntryType::GNULongLink, head.target)?;
        }
        header.set_entry_type(match head.kind {
            Kind::File => EntryType::Regular,
            Kind::Directory => EntryType::Directory,
            Kind::Symlink => EntryType::Symlink,
            Kind::HardLink => EntryType::Link,
        });
        header.set_size(head.size);
        header.set_mode(head.mode);
        header.set_mtime(head.modified);
        self.finished_header(header)
    }

    /// Writes a part of the entry's content.
    pub(crate) fn content(&mut self, bytes: &[u8]) -> Result<(), ArchiveError> {
        self.cancel.look()?;
        let written = match &mut self.out {
            Out::Tar(out) => out.write_all(bytes),
            Out::Gzip(out) => out.write_all(bytes),
        };
        written.map_err(|source| Cause::Write { source }.into())
    }

    /// Pads the entry's content of this size.
    pub(crate) fn pad(&mut self, size: u64) -> Result<(), ArchiveError> {
        let over = usize::try_from(size % HEADER_BYTES as u64).unwrap_or_default();
        let zeros = [0; HEADER_BYTES];
        self.content(zeros.get(over..).filter(|_| over > 0).unwrap_or_default())
    }

    /// Writes the end marker and flushes all buffers.
    pub(crate) fn finish(&mut self) -> Result<(), ArchiveError> {
        self.content(&[0; 2 * HEADER_BYTES])?;
        let written = match &mut self.out {
            Out::Tar(out) => out.flush(),
            Out::Gzip(out) => out.try_finish().and_then(|()| out.get_mut().flush()),
        };
        written.map_err(|source| Cause::Write { source }.into())
    }

    fn long(&mut self, kind: EntryType, name: &[u8]) -> Result<(), ArchiveError> {
        let mut header = Header::new_gnu();
        fits(&mut header.as_old_mut().name, b"././@LongLink");
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_mtime(0);
        let size = name.len() as u64 + 1;
        header.set_size(size);
        self.finished_header(header)?;
        self.content(name)?;
        self.content(&[0])?;
        self.pad(size)
    }

    fn finished_header(&mut self, mut header: Header) -> Result<(), ArchiveError> {
        header.set_uid(0);
        header.set_gid(0);
        header.set_cksum();
        self.content(header.as_bytes())
    }
}

/// Copies the part of a name that fits, and returns whether the whole name fits.
fn fits(field: &mut [u8; 100], name: &[u8]) -> bool {
    for (to, from) in field.iter_mut().zip(name) {
        *to = *from;
    }
    name.len() <= field.len()
}
