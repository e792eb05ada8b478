//! The last lines of the text, which the cursor can still change, and the final text before them.

use std::collections::VecDeque;

use vte::{Params, Perform};

/// The number of lines that the cursor can move back to.
const LINES: usize = 64;
/// The number of columns that the cursor can move past the end of a line.
const COLUMNS: usize = 512;

/// The screen state of a [`Cleaner`](super::Cleaner).
#[derive(Default)]
pub(super) struct Screen {
    /// The final text: lines that the cursor can no longer reach.
    done: String,
    limit: usize,
    lines: VecDeque<Vec<char>>,
    row: usize,
    column: usize,
}

impl Screen {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, lines: VecDeque::from([Vec::new()]), ..Self::default() }
    }

    pub(super) fn finish(mut self) -> Option<String> {
        while self.lines.len() > 1 {
            self.scroll();
        }
        self.done.extend(self.lines.pop_front().unwrap_or_default());
        (self.done.len() <= self.limit).then_some(self.done)
    }

    /// Returns the number of characters that are held.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
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
