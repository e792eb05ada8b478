//! The format of a layer: a header, then records sorted by path, each in a frame with its stored content. Also reads
//! several layers as one.

use std::{
    fs::File,
    io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use super::record::{Content, Record, RecordKind};

const MAGIC: [u8; 8] = *b"airlock1";
const BUFFER: usize = 64 << 10;
/// The maximum size of a record without its content: two paths and some numbers.
const RECORD_BYTES: u32 = 64 << 10;
/// The maximum size of one stored content.
const CONTENT_BYTES: u32 = 16 << 20;

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("a layer of a baseline is damaged: {what}"))
}

/// Writes a layer, one record at a time.
#[derive(Debug)]
pub(super) struct LayerWriter {
    file: BufWriter<File>,
    kept: u64,
}

impl LayerWriter {
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let file = File::options().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        let mut file = BufWriter::with_capacity(BUFFER, file);
        file.write_all(&MAGIC)?;
        file.write_all(&0u64.to_le_bytes())?;
        Ok(Self { file, kept: 0 })
    }

    /// Writes a record. Records must be sorted by path.
    pub(super) fn put(&mut self, record: &Record, content: &[u8]) -> io::Result<()> {
        let meta = postcard::to_allocvec(record).map_err(io::Error::other)?;
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).map_err(|_| damaged("a record is too long"));
        self.file.write_all(&length(&meta)?.to_le_bytes())?;
        self.file.write_all(&length(content)?.to_le_bytes())?;
        self.file.write_all(&meta)?;
        self.kept += content.len() as u64;
        self.file.write_all(content)
    }

    /// Completes the header and returns the file.
    pub(super) fn finish(mut self) -> io::Result<File> {
        self.file.seek(SeekFrom::Start(MAGIC.len() as u64))?;
        self.file.write_all(&self.kept.to_le_bytes())?;
        self.file.into_inner().map_err(io::IntoInnerError::into_error)
    }
}

/// Reads a layer.
#[derive(Debug)]
struct LayerReader {
    file: BufReader<File>,
    head: Option<Record>,
    /// The number of unread bytes of the current record's content.
    content: u32,
}

impl LayerReader {
    fn open(path: &Path) -> io::Result<Self> {
        let mut file = BufReader::with_capacity(BUFFER, File::open(path)?);
        kept_of(&mut file)?;
        let mut reader = Self { file, head: None, content: 0 };
        reader.advance()?;
        Ok(reader)
    }

    fn advance(&mut self) -> io::Result<()> {
        self.file.seek_relative(i64::from(self.content))?;
        (self.head, self.content) = (None, 0);
        let mut lengths = [0; 8];
        let got = self.file.read(&mut lengths)?;
        if got == 0 {
            return Ok(());
        }
        self.file.read_exact(lengths.get_mut(got..).unwrap_or_default())?;
        let [a, b, c, d, e, f, g, h] = lengths;
        let (meta, content) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        if meta > RECORD_BYTES || content > CONTENT_BYTES {
            return Err(damaged("a length is out of range"));
        }
        let mut bytes = vec![0; meta as usize];
        self.file.read_exact(&mut bytes)?;
        self.head = Some(postcard::from_bytes(&bytes).map_err(|_| damaged("a record cannot be read"))?);
        self.content = content;
        Ok(())
    }

    fn take_content(&mut self) -> io::Result<Vec<u8>> {
        let mut content = vec![0; self.content as usize];
        self.file.read_exact(&mut content)?;
        self.content = 0;
        Ok(content)
    }
}

fn kept_of(file: &mut impl Read) -> io::Result<u64> {
    let (mut magic, mut kept) = ([0; 8], [0; 8]);
    file.read_exact(&mut magic)?;
    file.read_exact(&mut kept)?;
    if magic == MAGIC { Ok(u64::from_le_bytes(kept)) } else { Err(damaged("it is none")) }
}

/// Returns the bytes of stored contents in a layer.
pub(super) fn kept(path: &Path) -> io::Result<u64> {
    kept_of(&mut File::open(path)?)
}

/// Several layers as one, ordered by path. If several layers have a record for a path, the newest counts.
#[derive(Debug)]
pub(crate) struct Merged {
    layers: Vec<LayerReader>,
    /// The layer of the last record.
    at: Option<usize>,
}

impl Merged {
    /// Opens the layers, the newest first.
    pub(super) fn open(layers: &[PathBuf]) -> io::Result<Self> {
        let layers = layers.iter().map(|path| LayerReader::open(path)).collect::<io::Result<_>>()?;
        Ok(Self { layers, at: None })
    }

    /// Returns the next record.
    ///
    /// # Errors
    /// If a layer is damaged or cannot be read.
    pub(crate) fn next(&mut self) -> io::Result<Option<Record>> {
        if let Some(layer) = self.at.take().and_then(|index| self.layers.get_mut(index)) {
            layer.advance()?;
        }
        let heads = self.layers.iter().filter_map(|layer| layer.head.as_ref());
        let Some(path) = heads.map(|head| head.path.as_slice()).min().map(<[u8]>::to_vec) else {
            return Ok(None);
        };
        let mut found = None;
        for (index, layer) in self.layers.iter_mut().enumerate() {
            if layer.head.as_ref().is_none_or(|head| head.path != path) {
                continue;
            }
            if found.is_none() {
                // Do not advance: the content stays readable until the next call.
                found = layer.head.clone().map(|record| (index, record));
                continue;
            }
            layer.advance()?;
        }
        let Some((index, record)) = found else { return Ok(None) };
        self.at = Some(index);
        Ok(Some(record))
    }

    /// Returns the stored content of the last record, once, and the index of its layer. The newest layer has index 0.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn content(&mut self) -> io::Result<(Vec<u8>, usize)> {
        let Some(index) = self.at else { return Ok((Vec::new(), 0)) };
        let Some(layer) = self.layers.get_mut(index) else { return Ok((Vec::new(), 0)) };
        Ok((layer.take_content()?, index))
    }
}

/// Writes the records of `merged` as one layer. Keeps contents as long as `room` suffices. Always keeps those of the
/// first `new` layers.
pub(super) fn rewrite(
    mut merged: Merged,
    target: &Path,
    new: usize,
    mut room: u64,
    closed: (i64, u64),
) -> io::Result<File> {
    let mut writer = LayerWriter::create(target)?;
    while let Some(mut record) = merged.next()? {
        let mut kept = Vec::new();
        if let RecordKind::File { content, stamp, .. } = &mut record.kind {
            *stamp = stamp.filter(|stamp| stamp.is_older_than(closed));
            if *content == Content::Kept {
                let (bytes, layer) = merged.content()?;
                let length = bytes.len() as u64;
                if layer < new || length <= room {
                    room = room.saturating_sub(if layer < new { 0 } else { length });
                    kept = bytes;
                } else {
                    *content = Content::NotKept;
                }
            }
        }
        writer.put(&record, &kept)?;
    }
    writer.finish()
}
