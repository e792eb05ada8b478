//! A command's terminal: a pair of devices in pid 1's own devpts, so that the command's end has a name inside.
//!
//! Must not become the controlling terminal of pid 1, because pid 1 would receive its signals.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use airlock_init::wire::{Step, TerminalSize};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::failure::{AtStep, Failure};

/// Both ends of a terminal.
pub(super) struct Terminal {
    /// The runner's end.
    controlling: OwnedFd,
    /// The command's end. Pid 1 keeps it open: a command that closes all its copies may open its terminal again by
    /// name.
    command: OwnedFd,
}

impl Terminal {
    pub(super) fn make(size: TerminalSize) -> Result<Self, Failure> {
        let controlling = openpt(flags()).map_err(no_devices).at(Step::Terminal)?;
        unlockpt(&controlling).at(Step::Terminal)?;
        let command = ioctl_tiocgptpeer(&controlling, flags()).at(Step::Terminal)?;
        let size = Winsize { ws_row: size.rows, ws_col: size.cols, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&controlling, size).at(Step::Terminal)?;
        Ok(Self { controlling, command })
    }

    /// Returns the command's input, output and errors.
    pub(super) fn ends(&self) -> Result<[OwnedFd; 3], Failure> {
        let end = || self.command.try_clone().at(Step::Terminal);
        Ok([end()?, end()?, end()?])
    }

    pub(super) fn controlling(&self) -> BorrowedFd<'_> {
        self.controlling.as_fd()
    }

    /// Drops the runner's end, and returns the command's.
    pub(super) fn into_command_end(self) -> OwnedFd {
        self.command
    }
}

fn flags() -> OpenptFlags {
    OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC
}

fn no_devices(error: rustix::io::Errno) -> String {
    format!("no terminal can be opened at `/dev/ptmx`: {error}")
}
