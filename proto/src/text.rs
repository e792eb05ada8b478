//! Output as text: what a person would last have seen of it, line by line, had a terminal shown it.
//!
//! Terminal escapes and other controls are gone; carriage returns, backspaces and movements of the cursor are
//! carried out, so that of a progress bar its last state is left. Bytes that are not UTF-8 become U+FFFD. It is
//! no terminal: what positions text on a whole screen is ignored. Pure, and bounded by what it is given and its
//! limit.

mod screen;

use screen::Screen;
use vte::Parser;

/// Cleans one stretch of output.
#[derive(Default)]
pub struct Cleaner {
    parser: Parser,
    screen: Screen,
}

impl Cleaner {
    /// One that stops when it has more than `limit` bytes of text.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { parser: Parser::new(), screen: Screen::new(limit) }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        // What comes once it has stopped makes no difference.
        let _ = self.parser.advance_until_terminated(&mut self.screen, bytes);
    }

    /// The text; none if it is longer than the limit.
    #[must_use]
    pub fn finish(self) -> Option<String> {
        self.screen.finish()
    }
}

/// All of `bytes` as text; none if it is longer than `limit` bytes.
#[must_use]
pub fn clean(bytes: &[u8], limit: usize) -> Option<String> {
    let mut cleaner = Cleaner::new(limit);
    cleaner.push(bytes);
    cleaner.finish()
}

#[cfg(test)]
mod tests;
