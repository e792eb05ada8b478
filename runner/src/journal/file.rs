//! The journal's file: records of `length, crc32, payload`. They are appended and never changed.
//!
//! An incomplete record at the end results from a crash during a write. It is cut off and counts as not written. Any
//! other mismatch is damage.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use super::error::JournalError;

const HEADER: usize = 8;
/// The maximum length of a record. A larger length is damage.
const MAX_PAYLOAD: usize = 1 << 20;

/// The file, open for appending.
#[derive(Debug)]
pub(super) struct JournalFile {
    file: File,
    path: PathBuf,
    len: u64,
}

/// The contents of the file when it was opened.
#[derive(Debug, Default)]
pub(super) struct ReadBack {
    pub(super) payloads: Vec<Vec<u8>>,
    /// Whether the file was damaged other than by a torn tail.
    pub(super) damaged: bool,
    good: usize,
}

impl JournalFile {
    pub(super) fn open(path: &Path) -> Result<(Self, ReadBack), JournalError> {
        let failed = |source| JournalError::Read { path: path.to_owned(), source };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .map_err(failed)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        let read = parse(&bytes);
        let len = read.good as u64;
        file.set_len(len).map_err(failed)?;
        file.seek(SeekFrom::Start(len)).map_err(failed)?;
        Ok((Self { file, path: path.to_owned(), len }, read))
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Appends one record, or leaves the file unchanged.
    pub(super) fn append(&mut self, payload: &[u8]) -> io::Result<()> {
        let frame = frame(payload)?;
        if let Err(error) = self.file.write_all(&frame) {
            self.file.set_len(self.len)?;
            self.file.seek(SeekFrom::Start(self.len))?;
            return Err(error);
        }
        self.len += frame.len() as u64;
        Ok(())
    }

    /// Replaces the whole contents atomically.
    pub(super) fn rewrite(&mut self, payloads: impl Iterator<Item = Vec<u8>>) -> io::Result<()> {
        let next = self.path.with_extension("new");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&next)?;
        let mut len = 0;
        {
            let mut out = io::BufWriter::new(&mut file);
            for payload in payloads {
                let frame = frame(&payload)?;
                out.write_all(&frame)?;
                len += frame.len() as u64;
            }
            out.flush()?;
        }
        std::fs::rename(&next, &self.path)?;
        self.file = file;
        self.len = len;
        Ok(())
    }
}

fn frame(payload: &[u8]) -> io::Result<Vec<u8>> {
    let len = u32::try_from(payload.len())
        .ok()
        .filter(|_| payload.len() <= MAX_PAYLOAD)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the entry is too long"))?;
    let mut frame = Vec::with_capacity(HEADER + payload.len());
    frame.extend_from_slice(&len.to_le_bytes());
    frame.extend_from_slice(&crc32fast::hash(payload).to_le_bytes());
    frame.extend_from_slice(payload);
    Ok(frame)
}

fn parse(bytes: &[u8]) -> ReadBack {
    let mut read = ReadBack::default();
    let mut rest = bytes;
    while let Some((len, after)) = rest.split_first_chunk::<4>() {
        let len = usize::try_from(u32::from_le_bytes(*len)).unwrap_or(usize::MAX);
        if len > MAX_PAYLOAD {
            read.damaged = true;
            break;
        }
        let Some((crc, after)) = after.split_first_chunk::<4>() else { break };
        let Some((payload, after)) = after.split_at_checked(len) else { break };
        if crc32fast::hash(payload) != u32::from_le_bytes(*crc) {
            read.damaged = true;
            break;
        }
        read.payloads.push(payload.to_vec());
        read.good += HEADER + len;
        rest = after;
    }
    read
}
