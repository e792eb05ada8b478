//! The uncompressed bytes of an archive. It must not hold more of them than its buffers.

use std::io::{self, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

use crate::{BLOCK_BYTES, Cancel, Cause, Format, Position};

/// The reason why reading failed.
#[derive(Debug)]
pub(crate) enum Fault {
    Cancelled,
    Read(io::Error),
    /// The data is not gzip, or its checksum is wrong.
    Gzip,
    /// The gzip stream is truncated.
    GzipShort,
}

impl Fault {
    pub(crate) fn at(self, place: Position) -> Cause {
        match self {
            Self::Cancelled => Cause::Cancelled,
            Self::Read(source) => Cause::Read { source },
            Self::Gzip => Cause::Malformed {
                place,
                what: "it is not valid gzip data; send it again, or state its compression",
            },
            Self::GzipShort => Cause::Truncated { place, what: "its gzip data is truncated" },
        }
    }
}

/// The bytes of an archive.
pub(crate) enum Decompressed<'a, R> {
    Tar(Guarded<'a, R>),
    Gzip(Box<MultiGzDecoder<BufReader<Guarded<'a, R>>>>),
}

impl<'a, R: Read> Decompressed<'a, R> {
    pub(crate) fn new(input: R, format: Format, cancel: &'a Cancel) -> Self {
        let input = Guarded { input, cancel };
        match format {
            Format::Tar => Self::Tar(input),
            Format::TarGzip => {
                Self::Gzip(Box::new(MultiGzDecoder::new(BufReader::with_capacity(BLOCK_BYTES, input))))
            }
        }
    }

    /// Reads until the buffer is full or the bytes end. Returns the number of bytes.
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, Fault> {
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            let read = match self {
                Self::Tar(input) => input.read(rest),
                Self::Gzip(input) => input.read(rest),
            };
            match read {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) => return Err(fault(error)),
            }
        }
        Ok(filled)
    }
}

/// The input. Its errors are marked, so that they are distinct from those of the decoder.
pub(crate) struct Guarded<'a, R> {
    input: R,
    cancel: &'a Cancel,
}

#[derive(Debug, thiserror::Error)]
enum Stopped {
    #[error("cancelled")]
    Cancelled,
    #[error("{0}")]
    Failed(io::Error),
}

impl<R: Read> Read for Guarded<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.cancel.is_cancelled() {
                return Err(io::Error::other(Stopped::Cancelled));
            }
            match self.input.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(io::Error::other(Stopped::Failed(error))),
                Ok(read) => return Ok(read),
            }
        }
    }
}

fn fault(error: io::Error) -> Fault {
    match error.downcast::<Stopped>() {
        Ok(Stopped::Cancelled) => Fault::Cancelled,
        Ok(Stopped::Failed(error)) => Fault::Read(error),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Fault::GzipShort,
        Err(_) => Fault::Gzip,
    }
}
