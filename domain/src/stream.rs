//! A command's terminal and output streams.

use serde::{Deserialize, Serialize};

/// The size of a terminal in characters. Each side is 1 to [`TERMINAL_CELLS`](crate::limits::TERMINAL_CELLS).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TerminalSize {
    /// The number of lines.
    pub rows: u16,
    /// The number of characters in a line.
    pub cols: u16,
}

impl TerminalSize {
    /// The default size of a terminal.
    pub const DEFAULT: Self = Self { rows: 24, cols: 80 };
}

/// A terminal for a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pty {
    /// The initial size.
    pub size: TerminalSize,
    /// The value of TERM.
    pub term: String,
}

/// One of a command's output streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OutputStream {
    /// Standard output. Includes standard error unless the request set `separate_stderr`.
    Stdout,
    /// Standard error, if the request set `separate_stderr`.
    Stderr,
}
