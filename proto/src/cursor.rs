//! The cursor: where a reader of an execution's events is.
//!
//! It is opaque to clients, versioned, and holds the runner's epoch, the number of the last change of
//! state seen, and the offset of the next byte of each stream. Nothing in it is trusted: a forged
//! cursor only moves its own reader.

use crate::domain::{Epoch, OutputStream};

const VERSION: u8 = 1;
const BYTES: usize = 1 + 16 + 8 + 8 + 8;

/// Where a reader is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cursor {
    /// The epoch of the runner whose bytes were read; none before the start.
    pub epoch: Option<Epoch>,
    /// The version of the last change of state that was seen.
    pub version: u64,
    /// The offset of the next byte of stdout.
    pub stdout: u64,
    /// The offset of the next byte of stderr.
    pub stderr: u64,
}

/// A cursor that was not made by this service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor of this service")]
pub struct CursorError;

impl Cursor {
    /// The offset in `stream`.
    #[must_use]
    pub fn offset(&self, stream: OutputStream) -> u64 {
        match stream {
            OutputStream::Stdout => self.stdout,
            OutputStream::Stderr => self.stderr,
        }
    }

    /// Sets the offset in `stream`.
    pub fn set_offset(&mut self, stream: OutputStream, offset: u64) {
        match stream {
            OutputStream::Stdout => self.stdout = offset,
            OutputStream::Stderr => self.stderr = offset,
        }
    }

    /// The cursor as clients get it.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(BYTES);
        out.push(VERSION);
        out.extend_from_slice(self.epoch.as_ref().map_or(&[0; 16][..], |epoch| &epoch.as_bytes()[..]));
        for number in [self.version, self.stdout, self.stderr] {
            out.extend_from_slice(&number.to_be_bytes());
        }
        out
    }

    /// Reads a cursor that a client gave back.
    ///
    /// # Errors
    /// If it was not made by [`Cursor::encode`].
    pub fn decode(bytes: &[u8]) -> Result<Self, CursorError> {
        let (&version, rest) = bytes.split_first().ok_or(CursorError)?;
        let (epoch, rest) = rest.split_first_chunk::<16>().ok_or(CursorError)?;
        let (state, rest) = rest.split_first_chunk::<8>().ok_or(CursorError)?;
        let (stdout, rest) = rest.split_first_chunk::<8>().ok_or(CursorError)?;
        let (stderr, rest) = rest.split_first_chunk::<8>().ok_or(CursorError)?;
        if version != VERSION || !rest.is_empty() {
            return Err(CursorError);
        }
        Ok(Self {
            epoch: (epoch != &[0; 16]).then(|| Epoch::from_bytes(*epoch)),
            version: u64::from_be_bytes(*state),
            stdout: u64::from_be_bytes(*stdout),
            stderr: u64::from_be_bytes(*stderr),
        })
    }
}
