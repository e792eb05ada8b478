//! Shows a text page by page on a terminal, so that a person has seen all of it before the question.

use std::io::{self, BufRead as _, IsTerminal as _};

use rustix::termios::{QueueSelector, tcflush, tcgetwinsize};
use unicode_width::UnicodeWidthChar as _;

use super::{Failure, output};

/// The size that is assumed if the terminal does not report one.
const SIZE: Size = Size { rows: 24, columns: 80 };
/// The largest answer, in bytes. An endless line must not fill the memory.
const ANSWER_BYTES: u64 = 4096;

/// The size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Size {
    rows: usize,
    columns: usize,
}

impl Size {
    fn now() -> Self {
        let told = tcgetwinsize(io::stdout()).ok().filter(|size| size.ws_row > 2 && size.ws_col > 10);
        told.map_or(SIZE, |size| Self { rows: size.ws_row.into(), columns: size.ws_col.into() })
    }

    /// Returns the number of text rows that fit above a prompt, which may itself need several rows.
    fn rows_above(self, prompt: &str) -> usize {
        let prompt = prompt.len() / self.columns + 1;
        self.rows.saturating_sub(prompt).max(1)
    }
}

/// Reports whether a person can read and answer: standard input and standard output are terminals.
pub(super) fn somebody_is_there() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Shows all of `text`, then asks `question`. Returns true only for `y` or `yes`. If the terminal changed its size
/// before the answer, the page is shown again. Blocks until the person answers.
pub(super) fn ask(text: &str, question: &str) -> Result<bool, Failure> {
    let mut from = 0;
    loop {
        let size = Size::now();
        let rest = text.get(from..).unwrap_or_default();
        let longest = more(text.len(), text.len());
        let rows = size.rows_above(if longest.len() > question.len() { &longest } else { question });
        let (page, length) = page(rest, rows, size.columns);
        output::print(&page)?;
        let is_last = length == rest.len();
        let prompt = if is_last { question.to_owned() } else { more(from + length, text.len()) };
        let Some(answer) = prompt_line(&prompt)? else { return Ok(false) };
        if size != Size::now() {
            continue;
        }
        if is_last {
            return Ok(matches!(answer.to_lowercase().as_str(), "y" | "yes"));
        }
        if answer.starts_with('q') {
            return Ok(false);
        }
        from += length;
    }
}

fn more(shown: usize, all: usize) -> String {
    format!("-- {shown} of {all} bytes, Enter for the next page, q to leave --")
}

/// Returns the answer, or `None` at the end of the input. Input that was typed before the question is discarded.
fn prompt_line(prompt: &str) -> Result<Option<String>, Failure> {
    // If the flush fails, standard input is not a terminal, and no key was typed.
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    output::print(&format!("{prompt} "))?;
    let mut line = String::new();
    let read = io::Read::take(io::stdin().lock(), ANSWER_BYTES)
        .read_line(&mut line)
        .map_err(|error| Failure::new(format!("cannot read the answer: {error}")))?;
    Ok((read > 0).then(|| line.trim().to_owned()))
}

/// Returns the first lines of a text that fit in `rows` rows of a terminal, and their length in bytes. Long lines are
/// broken where the terminal breaks them, so that each row is counted.
fn page(text: &str, rows: usize, columns: usize) -> (String, usize) {
    let (mut page, mut used, mut at) = (String::new(), 0, 0);
    for line in text.split_inclusive('\n') {
        let mut rest = line.strip_suffix('\n').unwrap_or(line);
        loop {
            if used == rows {
                return (page, at);
            }
            let (row, after) = rest.split_at(row_length(rest, columns));
            page.push_str(row);
            page.push('\n');
            used += 1;
            at += row.len();
            if after.is_empty() {
                break;
            }
            rest = after;
        }
        at += usize::from(line.ends_with('\n'));
    }
    (page, at)
}

/// Returns the number of bytes that fit in a row, at least one character.
fn row_length(text: &str, columns: usize) -> usize {
    let mut width = 0;
    let end = text.char_indices().find(|(at, c)| {
        width += c.width().unwrap_or(1);
        width > columns && *at > 0
    });
    end.map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(text: &str, rows: usize, columns: usize) -> Vec<String> {
        let (mut pages, mut from) = (Vec::new(), 0);
        while from < text.len() {
            let (page, length) = page(&text[from..], rows, columns);
            assert!(length > 0, "the pager continues");
            pages.push(page);
            from += length;
        }
        pages
    }

    #[test]
    fn no_page_is_longer_than_the_terminal_and_nothing_is_lost() {
        let text = format!("a\n\n{}\nb\n", "x".repeat(25));
        let shown = pages(&text, 3, 10);
        assert_eq!(shown, ["a\n\nxxxxxxxxxx\n", "xxxxxxxxxx\nxxxxx\nb\n"]);
        assert_eq!(shown.concat().replace('\n', ""), text.replace('\n', ""));
    }

    #[test]
    fn wide_letters_count_as_what_they_take() {
        assert_eq!(pages("\u{6587}\u{6587}\u{6587}x", 2, 5), ["\u{6587}\u{6587}\n\u{6587}x\n"]);
        assert_eq!(pages("\u{6587}\u{6587}", 1, 1), ["\u{6587}\n", "\u{6587}\n"]);
        assert_eq!(pages("0123456789\n\nx", 1, 10), ["0123456789\n", "\n", "x\n"]);
    }
}
