//! The manifest of a stored output: its streams, their gaps and their data objects. An output is stored if
//! and only if its manifest exists.

use std::ops::Range;

use airlock_domain::{ExecutionId, OutputStream};
use object_store::{ObjectStore, ObjectStoreExt as _, PutMode, PutPayload, path::Path};
use serde::{Deserialize, Serialize};

use super::error::{OutputError, unavailable};

const VERSION: u32 = 1;
const BYTES: u64 = 64 * 1024;

/// The manifest of a stored output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stored {
    version: u32,
    /// Standard output.
    pub stdout: StoredStream,
    /// Standard error. Empty if it was not captured separately.
    pub stderr: StoredStream,
}

/// The stored part of one stream.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredStream {
    /// The length of the stream in bytes, gaps included.
    pub length: u64,
    /// The ranges that are not kept, in ascending order.
    pub gaps: Vec<Range<u64>>,
    /// The object in the execution's directory that holds the kept ranges, concatenated. `None` if no byte
    /// is kept.
    pub(super) data: Option<String>,
}

/// The kept range or the gap at an offset of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// Kept bytes from `offset` of the stream. `at` is their range in the data object.
    Kept {
        offset: u64,
        at: Range<u64>,
    },
    Gap(Range<u64>),
}

impl Stored {
    pub(super) fn new(stdout: StoredStream, stderr: StoredStream) -> Self {
        Self { version: VERSION, stdout, stderr }
    }

    /// Returns the stored part of `stream`.
    #[must_use]
    pub fn stream(&self, stream: OutputStream) -> &StoredStream {
        match stream {
            OutputStream::Stdout => &self.stdout,
            OutputStream::Stderr => &self.stderr,
        }
    }

    pub(super) fn into_stream(self, stream: OutputStream) -> StoredStream {
        match stream {
            OutputStream::Stdout => self.stdout,
            OutputStream::Stderr => self.stderr,
        }
    }

    fn is_sound(&self) -> bool {
        self.version == VERSION
            && self.stdout.is_sound(stream_name(OutputStream::Stdout))
            && self.stderr.is_sound(stream_name(OutputStream::Stderr))
    }
}

impl StoredStream {
    /// Returns the number of bytes in gaps.
    #[must_use]
    pub fn cut(&self) -> u64 {
        self.gaps.iter().map(|gap| gap.end - gap.start).sum()
    }

    /// Returns the number of kept bytes.
    #[must_use]
    pub fn kept(&self) -> u64 {
        self.length - self.cut()
    }

    fn is_sound(&self, name: &str) -> bool {
        let mut end = 0;
        let ordered = self.gaps.iter().all(|gap| {
            let follows = gap.start >= end && gap.start < gap.end && gap.end <= self.length;
            end = gap.end;
            follows
        });
        let named = match &self.data {
            Some(data) => data.starts_with(name) && !data.contains('/'),
            None => true,
        };
        ordered && named && self.data.is_some() == (self.kept() > 0)
    }

    /// Returns the part that begins at `offset`, or `None` at or past the end.
    pub(super) fn part_at(&self, offset: u64) -> Option<Part> {
        // The start of the kept range before the next gap, in the stream and in the data object.
        let (mut start, mut at) = (0, 0);
        for gap in self.gaps.iter().cloned().chain(std::iter::once(self.length..self.length)) {
            if offset < gap.start {
                return Some(Part::Kept { offset, at: at + (offset - start)..at + (gap.start - start) });
            }
            if offset < gap.end {
                return Some(Part::Gap(offset..gap.end));
            }
            at += gap.start - start;
            start = gap.end;
        }
        None
    }
}

/// Returns the directory of the objects of an output.
pub(super) fn directory(id: ExecutionId) -> Path {
    Path::from(id.to_string())
}

/// Returns the stable name of a stream, which is the prefix of its data objects.
pub(super) fn stream_name(stream: OutputStream) -> &'static str {
    match stream {
        OutputStream::Stdout => "stdout",
        OutputStream::Stderr => "stderr",
    }
}

pub(super) fn path(id: ExecutionId) -> Path {
    directory(id).join("manifest.json")
}

/// Reads the manifest of `id`. Returns `None` if there is no manifest.
pub(super) async fn get(objects: &dyn ObjectStore, id: ExecutionId) -> Result<Option<Stored>, OutputError> {
    let damaged = |problem| OutputError::Corrupt { id, problem };
    let found = match objects.get(&path(id)).await {
        Ok(found) => found,
        Err(object_store::Error::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(unavailable("read a manifest", &error)),
    };
    if found.meta.size > BYTES {
        return Err(damaged("its manifest is too large"));
    }
    let json = found.bytes().await.map_err(|error| unavailable("read a manifest", &error))?;
    let stored: Stored =
        serde_json::from_slice(&json).map_err(|_| damaged("its manifest cannot be decoded"))?;
    if stored.is_sound() { Ok(Some(stored)) } else { Err(damaged("its manifest is inconsistent")) }
}

/// Writes the manifest of `id`. Returns false if another writer was first.
pub(super) async fn put(
    objects: &dyn ObjectStore,
    id: ExecutionId,
    stored: &Stored,
) -> Result<bool, OutputError> {
    let json = serde_json::to_vec(stored).map_err(|error| unavailable("write a manifest", &error))?;
    match objects.put_opts(&path(id), PutPayload::from(json), PutMode::Create.into()).await {
        Ok(_) => Ok(true),
        Err(object_store::Error::AlreadyExists { .. }) => Ok(false),
        Err(error) => Err(unavailable("write a manifest", &error)),
    }
}
