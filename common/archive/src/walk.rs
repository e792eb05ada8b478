//! Reads an archive entry by entry, and checks each entry against the rules before it is returned. It
//! must not access a directory, and must not skip entries that it does not understand.

use std::io::Read;

use tar::Header;

use crate::{
    ArchiveError, BLOCK_BYTES, Cancel, Cause, Counts, DIRECTORY_NAMES_BYTES, EXTENSION_BYTES, Format, Kind,
    Limits, PADDING_BYTES, Position, Rule,
    error::shown,
    header::{self, HEADER_BYTES, Pax},
    names::{self, Name},
    source::{Decompressed, Fault},
    tree::{Node, Tree},
};

/// A valid entry.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) path: Vec<u8>,
    pub(crate) kind: Kind,
    pub(crate) size: u64,
    /// The permission bits without setuid, setgid and sticky.
    pub(crate) mode: u32,
    /// The modification time in seconds since 1970.
    pub(crate) modified: u64,
    /// The target of a link.
    pub(crate) target: Vec<u8>,
}

/// An archive that is being read.
pub(crate) struct Walk<'a, R> {
    source: Decompressed<'a, R>,
    limits: &'a Limits,
    cancel: &'a Cancel,
    tree: Tree,
    counts: Counts,
    /// The number of entries so far, for messages.
    number: u64,
    /// The counts that the limits apply to.
    entries: u64,
    bytes: u64,
    directory_names: usize,
    /// The remaining bytes of the current entry's content.
    left: u64,
    /// The padding after that content, in bytes.
    padding: usize,
}

/// The fields that extension headers set for the next entry.
#[derive(Default)]
struct Extensions {
    pax: Option<Pax>,
    name: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
}

impl<'a, R: Read> Walk<'a, R> {
    pub(crate) fn new(input: R, format: Format, limits: &'a Limits, cancel: &'a Cancel) -> Self {
        Self {
            source: Decompressed::new(input, format, cancel),
            limits,
            cancel,
            tree: Tree::default(),
            counts: Counts::default(),
            number: 0,
            entries: 0,
            bytes: 0,
            directory_names: 0,
            left: 0,
            padding: 0,
        }
    }

    /// Returns the counts so far.
    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns the next entry, or `None` at the end of the archive, after the end marker and all
    /// padding. The content of the previous entry must have been read.
    pub(crate) fn next(&mut self) -> Result<Option<Item>, ArchiveError> {
        let mut extensions = Extensions::default();
        loop {
            self.cancel.look()?;
            let Some(header) = self.header()? else {
                if extensions.is_empty() {
                    return self.end().map(|()| None);
                }
                return Err(self.malformed("an extension header without its entry"));
            };
            let header = Header::from_byte_slice(&header);
            match header.as_old().linkflag {
                [b'x' | b'g' | b'L' | b'K'] => self.extension(header, &mut extensions)?,
                _ => {
                    self.number += 1;
                    self.count_entries(1)?;
                    let name = extensions.name(header);
                    let item = self.item(header, extensions, &name)?;
                    // The directory itself exists and is not changed.
                    let Some(item) = item else {
                        extensions = Extensions::default();
                        continue;
                    };
                    self.left = item.size;
                    self.padding = padding(item.size);
                    return Ok(Some(item));
                }
            }
        }
    }

    /// Reads more of the current entry's content. Returns 0 at its end.
    pub(crate) fn content(&mut self, buffer: &mut [u8]) -> Result<usize, ArchiveError> {
        self.cancel.look()?;
        let wanted = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let part = buffer.get_mut(..wanted).unwrap_or_default();
        let read = self.source.fill(part).map_err(|fault| self.fault(fault))?;
        if read < wanted {
            return Err(self.truncated("its content has no end"));
        }
        self.left -= wanted as u64;
        Ok(read)
    }

    /// Returns the next header, or `None` for the first block of an end marker.
    fn header(&mut self) -> Result<Option<[u8; HEADER_BYTES]>, ArchiveError> {
        let mut block = [0; HEADER_BYTES];
        let padding = block.get_mut(..self.padding).unwrap_or_default();
        if self.source.fill(padding).map_err(|fault| self.fault(fault))? < self.padding {
            return Err(self.truncated("its last block is short"));
        }
        self.padding = 0;
        match self.source.fill(&mut block).map_err(|fault| self.fault(fault))? {
            HEADER_BYTES => {}
            0 => return Err(self.truncated("the end marker is missing")),
            _ => return Err(self.truncated("its header is short")),
        }
        if block == [0; HEADER_BYTES] {
            return Ok(None);
        }
        if header::checksum_holds(Header::from_byte_slice(&block)) {
            return Ok(Some(block));
        }
        Err(self.malformed(if self.number == 0 {
            unlike_tar(&block)
        } else {
            "its checksum is wrong; send it again"
        }))
    }

    /// Checks the bytes after the first block of zeros: another such block, and padding.
    fn end(&mut self) -> Result<(), ArchiveError> {
        let place = || Position::End;
        let mut block = [0; HEADER_BYTES];
        let read = self.source.fill(&mut block).map_err(|fault| fault.at(place()))?;
        if block != [0; HEADER_BYTES] {
            let what = "data follows a block of zeros; send one archive only";
            return Err(Cause::Malformed { place: place(), what }.into());
        }
        if read < HEADER_BYTES {
            return Err(Cause::Truncated { place: place(), what: "the end marker is short" }.into());
        }
        let mut buffer = vec![0; BLOCK_BYTES];
        let mut zeros = 0;
        loop {
            self.cancel.look()?;
            let read = self.source.fill(&mut buffer).map_err(|fault| fault.at(place()))?;
            zeros += read as u64;
            let what = if buffer.iter().take(read).any(|byte| *byte != 0) {
                "data follows its end marker; send one archive only"
            } else if zeros > PADDING_BYTES {
                "more than 16 MiB of zeros follow its end marker; remove them"
            } else if read == 0 {
                return Ok(());
            } else {
                continue;
            };
            return Err(Cause::Malformed { place: place(), what }.into());
        }
    }

    /// Reads an extension header for the next entry, or for all entries.
    fn extension(&mut self, header: &Header, extensions: &mut Extensions) -> Result<(), ArchiveError> {
        let name = header.path_bytes();
        let size = header::size(header).ok_or_else(|| self.malformed("its size is not a number"))?;
        if size > EXTENSION_BYTES {
            return Err(self.refused_next(&name, Rule::LongExtension));
        }
        let place = Position::Header(self.number + 1);
        self.count_bytes(size, &place)?;
        let mut bytes = vec![0; usize::try_from(size).unwrap_or_default()];
        let read = self.source.fill(&mut bytes).map_err(|fault| self.fault(fault))?;
        if read < bytes.len() {
            return Err(self.truncated("its extension header is short"));
        }
        self.padding = padding(size);
        let kind = header.as_old().linkflag;
        if kind == [b'g'] {
            self.count_entries(1)?;
            let pax = Pax::read(&bytes).map_err(|what| self.malformed(what))?;
            if !extensions.is_empty() {
                return Err(self.malformed("an extension header without its entry"));
            }
            return match pax.rule() {
                Some(rule) => Err(self.refused_next(&name, rule)),
                None if pax != Pax::default() => Err(self.refused_next(&name, Rule::GlobalOverride)),
                None => Ok(()),
            };
        }
        let twice = match kind {
            [b'x'] => {
                let pax = Pax::read(&bytes).map_err(|what| self.malformed(what))?;
                extensions.pax.replace(pax).is_some()
            }
            [b'L'] => extensions.name.replace(until_nuls(bytes)).is_some(),
            _ => extensions.target.replace(until_nuls(bytes)).is_some(),
        };
        if twice { Err(self.refused_next(&name, Rule::ContradictingExtensions)) } else { Ok(()) }
    }

    /// Checks an entry against the rules. Returns `None` for the directory itself.
    fn item(
        &mut self,
        header: &Header,
        extensions: Extensions,
        name: &[u8],
    ) -> Result<Option<Item>, ArchiveError> {
        let kind = kind(header).map_err(|rule| self.refused(name, rule))?;
        if extensions.twice() {
            return Err(self.refused(name, Rule::ContradictingExtensions));
        }
        let pax = extensions.pax.unwrap_or_default();
        if let Some(rule) = pax.rule() {
            return Err(self.refused(name, rule));
        }
        let named = names::name(name, self.limits).map_err(|rule| self.refused(name, rule))?;
        let size =
            header::size(header).ok_or_else(|| self.malformed_entry(name, "its size is not a number"))?;
        let size = match pax.size {
            None => size,
            Some(pax) => {
                header::agreed_size(size, pax).ok_or_else(|| self.refused(name, Rule::ContradictingSize))?
            }
        };
        let mode =
            header::mode(header).ok_or_else(|| self.malformed_entry(name, "its mode is not a number"))?;
        let modified =
            header::modified(header).ok_or_else(|| self.malformed_entry(name, "its time is not a number"))?;
        let (path, kind) = match (named, kind) {
            (Name::Root, Kind::Directory) if size == 0 => return Ok(None),
            (Name::Root, Kind::File) if size == 0 && name.ends_with(b"/") => return Ok(None),
            (Name::Root, _) => return Err(self.refused(name, Rule::DirectoryAndOther)),
            (Name::Below { path, slash: true }, Kind::File | Kind::Directory) => (path, Kind::Directory),
            (Name::Below { slash: true, .. }, _) => return Err(self.refused(name, Rule::NotNormalName)),
            (Name::Below { path, slash: false }, kind) => (path, kind),
        };
        let target = pax.target.or(extensions.target).unwrap_or_else(|| header::link(header));
        let mut item = Item { path: path.to_vec(), kind, size, mode: mode & 0o777, modified, target };
        self.hold(&mut item, mode).map_err(|rule| self.refused(name, rule))?;
        self.count(&item)?;
        Ok(Some(item))
    }

    /// Applies the rules for each type of entry, and adds it to the tree.
    fn hold(&mut self, item: &mut Item, mode: u32) -> Result<(), Rule> {
        if item.kind != Kind::File && item.size != 0 {
            return Err(Rule::ContentOfNone);
        }
        let node = match item.kind {
            Kind::File if mode & 0o6000 != 0 => return Err(Rule::SetId),
            Kind::File => Node::File,
            Kind::Directory => Node::Directory,
            Kind::Symlink => {
                names::target(&item.path, &item.target)?;
                item.mode = 0o777;
                Node::Symlink
            }
            Kind::HardLink => {
                let Ok(Name::Below { path, slash: false }) = names::name(&item.target, self.limits) else {
                    return Err(Rule::HardLinkTarget);
                };
                if !self.tree.is_file(path) {
                    return Err(Rule::HardLinkToNone);
                }
                item.target = path.to_vec();
                item.mode = 0;
                Node::File
            }
        };
        let new = self.tree.add(&item.path, node)?;
        // A directory that is only part of a path counts like any other entry.
        let own = u64::from(item.kind == Kind::Directory && new > 0);
        self.entries += new - own;
        self.counts.directories += new;
        Ok(())
    }

    fn count(&mut self, item: &Item) -> Result<(), ArchiveError> {
        let place = Position::Entry { number: self.number, entry: shown(&item.path) };
        self.count_entries(0)?;
        self.count_bytes(item.size, &place)?;
        match item.kind {
            Kind::File => self.counts.files += 1,
            Kind::Directory => self.directory_names += item.path.len(),
            Kind::Symlink | Kind::HardLink => self.counts.links += 1,
        }
        self.counts.bytes += item.size;
        if self.directory_names > DIRECTORY_NAMES_BYTES {
            let limit = "bytes of directory names";
            return Err(Cause::Limit { place, limit, value: DIRECTORY_NAMES_BYTES as u64 }.into());
        }
        Ok(())
    }

    fn count_entries(&mut self, more: u64) -> Result<(), ArchiveError> {
        self.entries += more;
        if self.entries <= self.limits.entries {
            return Ok(());
        }
        let place = Position::Header(self.number);
        Err(Cause::Limit { place, limit: "entries", value: self.limits.entries }.into())
    }

    fn count_bytes(&mut self, more: u64, place: &Position) -> Result<(), ArchiveError> {
        match self.bytes.checked_add(more).filter(|bytes| *bytes <= self.limits.bytes) {
            Some(bytes) => self.bytes = bytes,
            None => {
                let place = place.clone();
                return Err(Cause::Limit { place, limit: "bytes", value: self.limits.bytes }.into());
            }
        }
        Ok(())
    }

    fn refused(&self, name: &[u8], rule: Rule) -> ArchiveError {
        Cause::Refused { number: self.number, entry: shown(name), rule }.into()
    }

    fn refused_next(&self, name: &[u8], rule: Rule) -> ArchiveError {
        Cause::Refused { number: self.number + 1, entry: shown(name), rule }.into()
    }

    fn malformed_entry(&self, name: &[u8], what: &'static str) -> ArchiveError {
        Cause::Malformed { place: Position::Entry { number: self.number, entry: shown(name) }, what }.into()
    }

    fn malformed(&self, what: &'static str) -> ArchiveError {
        Cause::Malformed { place: Position::Header(self.number + 1), what }.into()
    }

    fn truncated(&self, what: &'static str) -> ArchiveError {
        Cause::Truncated { place: self.here(), what }.into()
    }

    fn fault(&self, fault: Fault) -> ArchiveError {
        fault.at(self.here()).into()
    }

    /// Returns the position at which the bytes ended: in an entry, or at the start of the next one.
    fn here(&self) -> Position {
        Position::Header(if self.left > 0 || self.padding > 0 { self.number } else { self.number + 1 })
    }
}

impl Extensions {
    fn is_empty(&self) -> bool {
        self.pax.is_none() && self.name.is_none() && self.target.is_none()
    }

    /// Reports whether PAX and GNU headers set the same field. Readers differ on which one counts.
    fn twice(&self) -> bool {
        self.pax.as_ref().is_some_and(|pax| {
            (pax.path.is_some() && self.name.is_some()) || (pax.target.is_some() && self.target.is_some())
        })
    }

    fn name(&self, header: &Header) -> Vec<u8> {
        let pax = self.pax.as_ref().and_then(|pax| pax.path.as_ref());
        pax.or(self.name.as_ref()).cloned().unwrap_or_else(|| header.path_bytes().into_owned())
    }
}

impl Pax {
    /// Returns the rule that the extension violates, for any type of entry.
    fn rule(&self) -> Option<Rule> {
        self.sparse.then_some(Rule::Sparse).or(self.volume.then_some(Rule::Volume))
    }
}

fn kind(header: &Header) -> Result<Kind, Rule> {
    match header.as_old().linkflag {
        [b'0' | 0] => Ok(Kind::File),
        [b'1'] => Ok(Kind::HardLink),
        [b'2'] => Ok(Kind::Symlink),
        [b'5'] => Ok(Kind::Directory),
        [b'3' | b'4' | b'6'] => Err(Rule::Device),
        [b'S'] => Err(Rule::Sparse),
        [b'M' | b'V'] => Err(Rule::Volume),
        _ => Err(Rule::UnknownType),
    }
}

/// Returns a long name without its terminating NULs.
fn until_nuls(mut bytes: Vec<u8>) -> Vec<u8> {
    while bytes.pop_if(|byte| *byte == 0).is_some() {}
    bytes
}

/// Returns the number of bytes between a content's end and the next header.
fn padding(size: u64) -> usize {
    let over = size % HEADER_BYTES as u64;
    if over == 0 { 0 } else { HEADER_BYTES - usize::try_from(over).unwrap_or_default() }
}

/// Describes a first block that is not a header.
fn unlike_tar(block: &[u8]) -> &'static str {
    match block {
        [0x1f, 0x8b, ..] => "it is compressed with gzip; state this in its format, or uncompress it",
        [b'B', b'Z', b'h', ..] => "it is compressed with bzip2; uncompress it, or use gzip",
        [0xfd, b'7', b'z', b'X', b'Z', ..] => "it is compressed with xz; uncompress it, or use gzip",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "it is compressed with zstd; uncompress it, or use gzip",
        [b'P', b'K', ..] => "it is a zip file; make a tar archive instead",
        _ => "it is not a tar archive: its first checksum is wrong",
    }
}
