//! The cursor: a reader's position in the events of an execution.
//!
//! It is opaque to clients and versioned. It holds the runner's epoch, the number of the last change of state that the
//! reader has received, and the offset of the next byte of each stream. It is not trusted: a forged cursor only moves
//! its own reader.

use crate::{Epoch, OutputStream};

const VERSION: u8 = 1;
const BYTES: usize = 1 + 16 + 8 + 8 + 8;

/// A reader's position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cursor {
    /// The epoch of the runner that supplied the bytes. `None` before the start.
    pub epoch: Option<Epoch>,
    /// The version of the last change of state that the reader has received.
    pub version: u64,
    /// The offset of the next byte of stdout.
    pub stdout: u64,
    /// The offset of the next byte of stderr.
    pub stderr: u64,
}

/// An error for bytes that are not a cursor of this service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor of this service")]
pub struct CursorError;

impl Cursor {
    /// Returns the offset in `stream`.
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

    /// Encodes the cursor in the form that clients receive.
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

    /// Decodes a cursor from a client.
    ///
    /// # Errors
    /// Returns an error if [`Cursor::encode`] did not create the bytes.
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
