//! The output of a short command that the runner itself starts, read within limits.

use std::{
    fs::File,
    io::{self, Read as _},
    os::fd::OwnedFd,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use airlock_sandbox::Control;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

/// The interval at which a cancellation is checked.
const LOOK: Duration = Duration::from_millis(20);

/// The reason why an output was not read to its end.
#[derive(Debug)]
pub(super) enum Interrupted {
    /// The output cannot be read.
    Read(io::Error),
    /// The work was cancelled.
    Cancelled,
    /// The time is over.
    Slow,
}

/// Reads an output to its end, at most `most` bytes. Blocks until `deadline` at the latest. Ends nothing: after an error,
/// the caller must kill the command, which also ends the thread that reads.
pub(super) fn output(
    stdout: OwnedFd,
    most: u64,
    deadline: Instant,
    is_over: &dyn Fn() -> bool,
) -> Result<Vec<u8>, Interrupted> {
    let (done, text) = mpsc::sync_channel(1);
    thread::spawn(move || {
        let mut text = Vec::new();
        let read = File::from(stdout).take(most).read_to_end(&mut text);
        // After an interruption the receiver no longer exists.
        let _ = done.send(read.map(|_| text));
    });
    loop {
        match text.recv_timeout(LOOK) {
            Ok(text) => return text.map_err(Interrupted::Read),
            Err(RecvTimeoutError::Timeout) if is_over() => return Err(Interrupted::Cancelled),
            Err(RecvTimeoutError::Timeout) if Instant::now() < deadline => {}
            Err(_) => return Err(Interrupted::Slow),
        }
    }
}

/// Waits for the end of a sandbox, until `deadline` at the latest. Returns whether it has ended.
pub(super) fn ends(control: &Control, deadline: Instant) -> bool {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let Ok(limit) = Timespec::try_from(left) else { return false };
        match poll(&mut [PollFd::from_borrowed_fd(control.ended(), PollFlags::IN)], Some(&limit)) {
            Err(Errno::INTR) => {}
            ready => return ready.is_ok_and(|ready| ready > 0),
        }
    }
}
