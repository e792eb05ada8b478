//! Output as text: the final content of each line, as a terminal would show it.
//!
//! Terminal escapes and other control characters are removed. Carriage returns, backspaces and cursor
//! movements are applied, so that only the last state of a progress bar remains. Invalid UTF-8 becomes
//! U+FFFD. The module does not emulate a terminal: positions on a whole screen are ignored. It does no I/O,
//! and its memory is bounded by the input and the limit.

mod screen;

use screen::Screen;
use vte::Parser;

/// A converter of one range of output to clean text.
#[derive(Default)]
pub struct Cleaner {
    parser: Parser,
    screen: Screen,
}

impl Cleaner {
    /// Creates a cleaner that stops after more than `limit` bytes of text.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { parser: Parser::new(), screen: Screen::new(limit) }
    }

    /// Processes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        // Bytes after the stop have no effect.
        let _ = self.parser.advance_until_terminated(&mut self.screen, bytes);
    }

    /// Returns the text, or `None` if it is longer than the limit.
    #[must_use]
    pub fn finish(self) -> Option<String> {
        self.screen.finish()
    }
}

/// Converts all of `bytes` to text. Returns `None` if the text is longer than `limit` bytes.
#[must_use]
pub fn clean(bytes: &[u8], limit: usize) -> Option<String> {
    let mut cleaner = Cleaner::new(limit);
    cleaner.push(bytes);
    cleaner.finish()
}

#[cfg(test)]
mod tests;
