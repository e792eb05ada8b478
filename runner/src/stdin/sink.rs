//! The destination of a command's input: the writing end of its pipe, or the controlling end of its terminal.
//!
//! Must not block: if a command does not read, only its writer waits.

use std::{io, os::fd::OwnedFd};

use rustix::{
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    termios::{LocalModes, SpecialCodeIndex, isatty, tcgetattr},
};
use tokio::{io::Interest, net::unix::pipe::Sender};

/// The sink of one command's input.
#[derive(Debug)]
pub(super) struct Sink {
    /// Waits for room and writes, for a pipe and for a terminal.
    end: Sender,
    /// `None` for a pipe.
    line: Option<Line>,
}

/// The state of a terminal's current input line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Empty,
    Begun,
}

impl Sink {
    /// Creates the sink. Needs a runtime with I/O.
    pub(super) fn new(end: OwnedFd) -> io::Result<Self> {
        fcntl_setfl(&end, fcntl_getfl(&end)? | OFlags::NONBLOCK)?;
        let line = isatty(&end).then_some(Line::Empty);
        Ok(Self { end: Sender::from_owned_fd_unchecked(end)?, line })
    }

    /// Writes a part of `data` as soon as there is room. Returns the number of bytes written. Cancel-safe.
    pub(super) async fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let written = loop {
            let ready = self.end.ready(Interest::WRITABLE).await?;
            match self.end.try_write(data) {
                // A terminal without a reader has no room, but always reports that it is writable.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && ready.is_write_closed() => {
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => break other?,
            }
        };
        if let Some(line) = &mut self.line {
            let last = data.get(..written).and_then(<[u8]>::last);
            *line = if matches!(last, Some(b'\n' | b'\r')) { Line::Empty } else { Line::Begun };
        }
        Ok(written)
    }

    /// Signals the end of the input. For a pipe, closing it suffices. For a terminal, writes its end-of-file character,
    /// if it has one. In the middle of a line, writes it twice, because the first one only ends the line.
    pub(super) async fn send_end(&mut self) {
        let Some(line) = self.line else { return };
        let Ok(modes) = tcgetattr(&self.end) else { return };
        let end = modes.special_codes[SpecialCodeIndex::VEOF];
        if end == 0 {
            return;
        }
        let in_line = line == Line::Begun && modes.local_modes.contains(LocalModes::ICANON);
        for _ in 0..=usize::from(in_line) {
            if let Err(error) = self.write(&[end]).await {
                tracing::debug!(%error, "cannot write the end of a terminal's input");
                return;
            }
        }
    }
}
