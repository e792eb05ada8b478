//! This terminal's modes while it is a command's: every key is a byte for the command.

use std::{
    io,
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

static IS_RAW: AtomicBool = AtomicBool::new(false);

/// Whether a line's end does not bring the cursor to the beginning of the next one.
pub(in crate::command) fn is_raw() -> bool {
    IS_RAW.load(Ordering::Relaxed)
}

/// While it lives, keys are bytes. Dropped, also by a panic, the terminal is as it was.
#[derive(Debug)]
pub(super) struct Raw {
    before: Termios,
}

impl Raw {
    /// # Errors
    /// The system's; standard input is no terminal, say.
    pub(super) fn enter() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        // From here on it is put back, even if only a part of it is set.
        let guard = Self { before };
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        IS_RAW.store(true, Ordering::Relaxed);
        Ok(guard)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // Nothing can be done for a terminal that is gone.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
        IS_RAW.store(false, Ordering::Relaxed);
    }
}
