//! Writes tar blocks field by field, valid or not. It does not check anything.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};

/// A header; by default of a regular file with mode 0644.
#[derive(Debug, Clone)]
pub struct Block([u8; 512]);

impl Block {
    /// Creates a ustar header with the first 100 bytes of this name.
    #[must_use]
    pub fn new(name: &[u8]) -> Self {
        Self([0; 512])
            .set(0, name, 100)
            .set(100, b"0000644\0", 8)
            .set(108, b"0000000\0", 8)
            .set(116, b"0000000\0", 8)
            .size(0)
            .set(136, b"14000000000\0", 12)
            .kind(b'0')
            .set(257, b"ustar\x0000", 8)
    }

    /// Creates the header of a symbolic link.
    #[must_use]
    pub fn symlink(name: &[u8], target: &[u8]) -> Self {
        Self::new(name).kind(b'2').target(target)
    }

    /// Creates the header of a hard link.
    #[must_use]
    pub fn hard_link(name: &[u8], target: &[u8]) -> Self {
        Self::new(name).kind(b'1').target(target)
    }

    /// Creates the header of a directory with mode 0755.
    #[must_use]
    pub fn directory(name: &[u8]) -> Self {
        Self::new(name).kind(b'5').mode(0o755)
    }

    /// Sets the type flag.
    #[must_use]
    pub fn kind(self, flag: u8) -> Self {
        self.set(156, &[flag], 1)
    }

    /// Sets the mode, in octal.
    #[must_use]
    pub fn mode(self, mode: u32) -> Self {
        self.mode_field(format!("{mode:07o}\0").as_bytes())
    }

    /// Sets the user and the group, in octal.
    #[must_use]
    pub fn owner(self, id: u32) -> Self {
        let field = format!("{id:07o}\0");
        self.set(108, field.as_bytes(), 8).set(116, field.as_bytes(), 8)
    }

    /// Sets the raw mode field.
    #[must_use]
    pub fn mode_field(self, field: &[u8]) -> Self {
        self.set(100, field, 8)
    }

    /// Sets the size, in octal.
    #[must_use]
    pub fn size(self, size: u64) -> Self {
        self.size_field(format!("{size:011o}\0").as_bytes())
    }

    /// Sets the raw size field.
    #[must_use]
    pub fn size_field(self, field: &[u8]) -> Self {
        self.set(124, field, 12)
    }

    /// Sets the raw time field.
    #[must_use]
    pub fn time_field(self, field: &[u8]) -> Self {
        self.set(136, field, 12)
    }

    /// Sets the link's target.
    #[must_use]
    pub fn target(self, target: &[u8]) -> Self {
        self.set(157, target, 100)
    }

    /// Sets the prefix of a ustar name.
    #[must_use]
    pub fn prefix(self, prefix: &[u8]) -> Self {
        self.set(345, prefix, 155)
    }

    /// Converts the header to the format before ustar: no magic, and nothing after the target.
    #[must_use]
    pub fn v7(self) -> Self {
        self.set(257, &[], 255)
    }

    fn set(mut self, start: usize, bytes: &[u8], length: usize) -> Self {
        for (at, to) in self.0.iter_mut().skip(start).take(length).enumerate() {
            *to = bytes.get(at).copied().unwrap_or(0);
        }
        self
    }

    /// Returns the bytes with their checksum.
    #[must_use]
    pub fn bytes(self) -> [u8; 512] {
        let blank = self.set(148, b"        ", 8);
        let sum: u32 = blank.0.iter().map(|byte| u32::from(*byte)).sum();
        blank.set(148, format!("{sum:06o}\0 ").as_bytes(), 8).0
    }
}

/// An archive.
#[derive(Debug, Clone, Default)]
pub struct Tar(Vec<u8>);

impl Tar {
    /// Creates an archive that starts with a harmless file, which shows whether unpacking has
    /// started.
    #[must_use]
    pub fn new() -> Self {
        Self::default().file(b"first", b"first")
    }

    /// Adds a header without content.
    #[must_use]
    pub fn header(self, block: Block) -> Self {
        self.raw(&block.bytes())
    }

    /// Adds an entry with content: its size is that of the content, and it is padded.
    #[must_use]
    pub fn with(self, block: Block, content: &[u8]) -> Self {
        let fill = content.len().next_multiple_of(512) - content.len();
        self.header(block.size(content.len() as u64)).raw(content).raw(&vec![0; fill])
    }

    /// Adds a file.
    #[must_use]
    pub fn file(self, name: &[u8], content: &[u8]) -> Self {
        self.with(Block::new(name), content)
    }

    /// Adds a PAX header for the next entry.
    #[must_use]
    pub fn pax(self, records: &[(&str, &[u8])]) -> Self {
        self.with(Block::new(b"PaxHeaders/x").kind(b'x'), &pax(records))
    }

    /// Adds a GNU header for the next entry: `L` for its name, `K` for its target.
    #[must_use]
    pub fn gnu(self, kind: u8, name: &[u8]) -> Self {
        self.with(Block::new(b"././@LongLink").kind(kind), &[name, b"\0"].concat())
    }

    /// Adds raw bytes.
    #[must_use]
    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Returns the archive with its end marker.
    #[must_use]
    pub fn end(self) -> Vec<u8> {
        self.raw(&[0; 1024]).0
    }

    /// Returns the archive without an end marker.
    #[must_use]
    pub fn open_end(self) -> Vec<u8> {
        self.0
    }
}

/// Returns the content of a PAX header.
#[must_use]
pub fn pax(records: &[(&str, &[u8])]) -> Vec<u8> {
    records.iter().flat_map(|(key, value)| pax_record(key, value)).collect()
}

/// Returns one record of a PAX header.
#[must_use]
pub fn pax_record(key: &str, value: &[u8]) -> Vec<u8> {
    let text = [b" ", key.as_bytes(), b"=", value, b"\n"].concat();
    let mut length = text.len() + 1;
    while length != text.len() + length.to_string().len() {
        length = text.len() + length.to_string().len();
    }
    [length.to_string().as_bytes(), &text].concat()
}

/// Returns the bytes as one gzip member.
#[must_use]
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to a vector does not fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

/// Returns a name of this length, with components of up to 200 bytes.
#[must_use]
pub fn longer(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| if at % 200 == 199 && at + 1 < bytes { b'/' } else { b'n' }).collect()
}
