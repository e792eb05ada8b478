//! The exchange of messages with `airlock-init` before a command starts.

use std::os::unix::net::UnixStream;
use std::time::Duration;

use airlock_init::frame::FrameError;

use crate::error::LaunchError;

/// Sets the timeout of each read and each write.
pub(super) fn set_timeouts(socket: &UnixStream, limit: Duration) -> Result<(), LaunchError> {
    socket
        .set_read_timeout(Some(limit))
        .and_then(|()| socket.set_write_timeout(Some(limit)))
        .map_err(|source| LaunchError::Descriptor { what: "socket time-out", source })
}

/// Maps a failed exchange before the order to start: the command has not run.
pub(super) fn before_start(error: FrameError) -> LaunchError {
    match error {
        FrameError::TimedOut => LaunchError::TimedOut,
        source => LaunchError::Conversation { source },
    }
}

/// Returns the error for an answer that does not fit.
pub(super) fn unexpected() -> LaunchError {
    LaunchError::Conversation { source: FrameError::Unexpected }
}
