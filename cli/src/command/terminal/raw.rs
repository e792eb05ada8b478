//! The modes of this terminal while it belongs to a command: every key is a byte for the command.

use std::{
    io,
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

static IS_RAW: AtomicBool = AtomicBool::new(false);

/// Reports whether the terminal is raw: a line feed does not return the cursor to the first column.
pub(in crate::command) fn is_raw() -> bool {
    IS_RAW.load(Ordering::Relaxed)
}

/// A guard that keeps the terminal raw. Dropping it, even during a panic, restores the previous modes.
#[derive(Debug)]
pub(super) struct Raw {
    before: Termios,
}

impl Raw {
    /// Sets the terminal to raw mode.
    ///
    /// # Errors
    /// Returns the system's error, for example if standard input is not a terminal.
    pub(super) fn enter() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        // The guard exists from here on, so modes that are set only in part are restored, too.
        let guard = Self { before };
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        IS_RAW.store(true, Ordering::Relaxed);
        Ok(guard)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // A closed terminal cannot be restored.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
        IS_RAW.store(false, Ordering::Relaxed);
    }
}
