//! Where a command's input goes: the writing end of its pipe, or the controlling end of its terminal.
//!
//! Must not block: a command that does not read makes only who writes to it wait.

use std::{io, os::fd::OwnedFd};

use rustix::{
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    termios::{LocalModes, SpecialCodeIndex, isatty, tcgetattr},
};
use tokio::{io::Interest, net::unix::pipe::Sender};

/// See the module.
#[derive(Debug)]
pub(super) struct Sink {
    /// Waits for room and writes, whichever of the two it is.
    end: Sender,
    /// None for a pipe.
    line: Option<Line>,
}

/// What a terminal's reader has of the line that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Empty,
    Begun,
}

impl Sink {
    /// Needs a runtime with I/O.
    pub(super) fn new(end: OwnedFd) -> io::Result<Self> {
        fcntl_setfl(&end, fcntl_getfl(&end)? | OFlags::NONBLOCK)?;
        let line = isatty(&end).then_some(Line::Empty);
        Ok(Self { end: Sender::from_owned_fd_unchecked(end)?, line })
    }

    /// Writes some of `data`, as soon as there is room. Cancel-safe: what was written is returned.
    pub(super) async fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let written = loop {
            let ready = self.end.ready(Interest::WRITABLE).await?;
            match self.end.try_write(data) {
                // A terminal that nobody has any more has no room, and says for ever that it may have some.
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

    /// Says that this was all. A pipe says so when it is closed; at a terminal it takes the character that
    /// means it there, where there is one, and twice in the middle of a line: the first ends the line.
    pub(super) async fn say_end(&mut self) {
        let Some(line) = self.line else { return };
        let Ok(modes) = tcgetattr(&self.end) else { return };
        let end = modes.special_codes[SpecialCodeIndex::VEOF];
        if end == 0 {
            return;
        }
        let in_line = line == Line::Begun && modes.local_modes.contains(LocalModes::ICANON);
        for _ in 0..=usize::from(in_line) {
            if let Err(error) = self.write(&[end]).await {
                tracing::debug!(%error, "the end of a terminal's input cannot be written");
                return;
            }
        }
    }
}
