//! Output as text: the final content of each line, as a terminal would show it.
//!
//! Terminal escapes and other control characters are removed. Carriage returns, backspaces and cursor
//! movements are applied, so that only the last state of a progress bar remains. Invalid UTF-8 becomes
//! U+FFFD. The module does not emulate a terminal: positions on a whole screen are ignored. It does no I/O,
//! and its memory is bounded by the input and the limit.

use std::collections::VecDeque;

use vte::{Params, Parser, Perform};

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

/// The number of lines that the cursor can move back to.
const LINES: usize = 64;
/// The number of columns that the cursor can move past the end of a line.
const COLUMNS: usize = 512;

/// The screen state of a [`Cleaner`].
#[derive(Default)]
struct Screen {
    /// The final text: lines that the cursor can no longer reach.
    done: String,
    limit: usize,
    lines: VecDeque<Vec<char>>,
    row: usize,
    column: usize,
}

impl Screen {
    fn new(limit: usize) -> Self {
        Self { limit, lines: VecDeque::from([Vec::new()]), ..Self::default() }
    }

    fn finish(mut self) -> Option<String> {
        while self.lines.len() > 1 {
            self.scroll();
        }
        self.done.extend(self.lines.pop_front().unwrap_or_default());
        (self.done.len() <= self.limit).then_some(self.done)
    }

    /// Returns the number of characters that are held.
    #[cfg(test)]
    fn held(&self) -> usize {
        self.done.len() + self.lines.iter().map(Vec::len).sum::<usize>()
    }

    /// Moves the first line to the final text.
    fn scroll(&mut self) {
        if let Some(line) = self.lines.pop_front() {
            self.done.extend(line);
            self.done.push('\n');
        }
    }

    fn line(&mut self) -> Option<&mut Vec<char>> {
        self.lines.get_mut(self.row)
    }

    fn new_line(&mut self) {
        self.column = 0;
        self.row += 1;
        if self.row == self.lines.len() {
            self.lines.push_back(Vec::new());
        }
        if self.lines.len() > LINES {
            self.scroll();
            self.row -= 1;
        }
    }

    fn put(&mut self, what: char) {
        let column = self.column;
        self.column += 1;
        let Some(line) = self.line() else { return };
        if line.len() < column {
            line.resize(column, ' ');
        }
        match line.get_mut(column) {
            Some(cell) => *cell = what,
            None => line.push(what),
        }
    }

    fn go_to(&mut self, column: usize) {
        let written = self.line().map_or(0, |line| line.len());
        self.column = column.min(written.max(COLUMNS));
    }

    fn go_down(&mut self, rows: usize) {
        self.row = self.row.saturating_add(rows).min(self.lines.len().saturating_sub(1));
    }

    fn erase_in_line(&mut self, which: usize) {
        let column = self.column;
        let Some(line) = self.line() else { return };
        match which {
            0 => line.truncate(column),
            1 => line.iter_mut().take(column + 1).for_each(|cell| *cell = ' '),
            2 => line.clear(),
            _ => {}
        }
    }

    fn delete(&mut self, count: usize) {
        let column = self.column;
        let Some(line) = self.line() else { return };
        let end = column.saturating_add(count).min(line.len());
        line.drain(column.min(end)..end);
    }

    fn erase(&mut self, count: usize) {
        let column = self.column;
        let Some(line) = self.line() else { return };
        line.iter_mut().skip(column).take(count).for_each(|cell| *cell = ' ');
    }
}

impl Perform for Screen {
    fn print(&mut self, what: char) {
        // DEL prints nothing. C1 controls are ignored, except those that begin an escape.
        if !what.is_control() {
            self.put(what);
        }
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\n' => self.new_line(),
            b'\r' => self.column = 0,
            0x08 => self.column = self.column.saturating_sub(1),
            b'\t' => self.put('\t'),
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], ignore: bool, action: char) {
        if ignore || !intermediates.is_empty() {
            return;
        }
        let first = params.iter().next().and_then(|param| param.first()).copied().map_or(0, usize::from);
        let count = first.max(1);
        match action {
            'A' => self.row = self.row.saturating_sub(count),
            'B' => self.go_down(count),
            'C' => self.go_to(self.column.saturating_add(count)),
            'D' => self.column = self.column.saturating_sub(count),
            'E' => {
                self.go_down(count);
                self.column = 0;
            }
            'F' => {
                self.row = self.row.saturating_sub(count);
                self.column = 0;
            }
            'G' | '`' => self.go_to(count - 1),
            'J' if first == 0 => {
                self.erase_in_line(0);
                self.lines.truncate(self.row + 1);
            }
            'K' => self.erase_in_line(first),
            'P' => self.delete(count),
            'X' => self.erase(count),
            _ => {}
        }
    }

    fn terminated(&self) -> bool {
        self.done.len() > self.limit
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn assert_clean(raw: &[u8], expected: &str) {
        assert_eq!(clean(raw, 1 << 20).as_deref(), Some(expected), "{}", raw.escape_ascii());
    }

    #[test]
    fn escapes_and_controls_are_gone() {
        assert_clean(b"plain\ntext\n", "plain\ntext\n");
        assert_clean(b"no end", "no end");
        assert_clean(b"\x1b[1;31mred\x1b[0m and \x1b[38;5;9mmore\x1b[m\n", "red and more\n");
        assert_clean(b"\x1b]0;a title\x07text \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n", "text link\n");
        assert_clean(b"\x1bPq#0\x1b\\sixel \x1b[?25lhidden\x1b[?25h\x1b(B\x1b=\n", "sixel hidden\n");
        assert_clean(b"bell\x07 nul\0 vt\x0b ff\x0c del\x7f tab\t.\n", "bell nul vt ff del tab\t.\n");
        assert_clean("caf\u{e9} \u{4e16}\u{754c}\n".as_bytes(), "caf\u{e9} \u{4e16}\u{754c}\n");
        assert_clean(b"bad \xff\xfe, cut \xe4\xb8", "bad \u{fffd}\u{fffd}, cut ");
    }

    #[test]
    fn of_a_progress_bar_its_last_state_is_left() {
        assert_clean(b"  1%\r 50%\r100%\ndone\n", "100%\ndone\n");
        assert_clean(b"longer line\rshort\n", "shortr line\n");
        assert_clean(b"longer line\r\x1b[Kshort\n", "short\n");
        assert_clean(b"longer line\x1b[2K\rshort\n", "short\n");
        assert_clean(b"dos\r\nlines\r\n", "dos\nlines\n");
        assert_clean(b"pasx\x08sword\n", "password\n");
        assert_clean(b"\x08\x08start\n", "start\n");
        assert_clean(b"man: b\x08bo\x08ol\x08ld\n", "man: bold\n");
        assert_clean(b"abcdef\x1b[3D\x1b[P\n", "abcef\n");
        assert_clean(b"a\x1b[5Gb\x1b[2Cc\n", "a   b  c\n");
    }

    #[test]
    fn bars_of_several_lines_are_drawn_over() {
        assert_clean(b"one: 10%\ntwo: 10%\n\x1b[2Aone: 99%\ntwo: 99%\nend\n", "one: 99%\ntwo: 99%\nend\n");
        assert_clean(b"a\nb\nc\n\x1b[3A\x1b[Jall gone\n", "all gone\n");
        assert_clean(b"\x1b[9999Atop\x1b[9999Bdown\n", "topdown\n");
    }

    #[test]
    fn more_than_the_limit_is_no_text_and_stops_early() {
        assert_eq!(clean(b"12345", 5).as_deref(), Some("12345"));
        assert_eq!(clean(b"123456", 5), None);
        let mut cleaner = Cleaner::new(10);
        for _ in 0..100_000 {
            // Each line has hundreds of columns.
            cleaner.push(b"\x1b[65535Gx\n");
        }
        assert!(cleaner.screen.held() < 256 * 1024, "{}", cleaner.screen.held());
        assert_eq!(cleaner.finish(), None);
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_give_the_same_text_without_controls(
            bytes in proptest::collection::vec(
                prop_oneof![any::<u8>(), Just(0x1b), Just(b'['), Just(b'\r'), Just(b'\n'), Just(b'A'), Just(b'9')],
                0..300,
            ),
            cut in 0_usize..300,
        ) {
            let whole = clean(&bytes, 1 << 20).unwrap();
            prop_assert!(whole.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\t')), "{:?}", whole);
            let (first, second) = bytes.split_at(cut.min(bytes.len()));
            let mut cleaner = Cleaner::new(1 << 20);
            cleaner.push(first);
            cleaner.push(second);
            prop_assert_eq!(cleaner.finish().unwrap(), whole);
        }

        #[test]
        fn text_without_controls_stays_as_it_is(text in "[ -~\u{a1}-\u{2ff}\n]{0,300}") {
            prop_assert_eq!(clean(text.as_bytes(), 1 << 20).unwrap(), text);
        }
    }
}
