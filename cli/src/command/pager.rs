//! Shows a text page by page on a terminal, so that nobody is asked about what has scrolled away.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use rustix::termios::tcgetwinsize;

use super::Failure;

/// Where the terminal does not say.
const SIZE: (usize, usize) = (24, 80);

/// Whether a person is there who reads and answers.
pub(super) fn somebody_is_there() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Shows all of `text`, and asks `question` after its last page. True only for `y` or `yes`.
/// Blocks until the person answers.
pub(super) fn ask(text: &str, question: &str) -> Result<bool, Failure> {
    let (rows, columns) = tcgetwinsize(io::stdout())
        .ok()
        .filter(|size| size.ws_row > 2 && size.ws_col > 10)
        .map_or(SIZE, |size| (usize::from(size.ws_row), usize::from(size.ws_col)));
    let pages = pages(text, rows - 1, columns);
    for (number, page) in (1..).zip(&pages) {
        super::output::print(page)?;
        if number < pages.len() {
            let prompt = format!("-- page {number} of {}, Enter for the next, q to leave --", pages.len());
            if prompt_line(&prompt)?.is_none_or(|answer| answer.starts_with('q')) {
                return Ok(false);
            }
        }
    }
    let answer = prompt_line(question)?;
    Ok(answer.is_some_and(|answer| matches!(answer.to_lowercase().as_str(), "y" | "yes")))
}

/// What was answered, or none at the end of the input.
fn prompt_line(prompt: &str) -> Result<Option<String>, Failure> {
    super::output::print(&format!("{prompt} "))?;
    let mut line = String::new();
    // A line that never ends must not fill the memory.
    let read = io::Read::take(io::stdin().lock(), 4096)
        .read_line(&mut line)
        .and_then(|read| io::stdout().flush().map(|()| read))
        .map_err(|error| Failure::new(format!("the answer cannot be read: {error}")))?;
    Ok((read > 0).then(|| line.trim().to_owned()))
}

/// The text in pieces of at most `rows` rows of a terminal; long lines are broken where the terminal
/// would break them, so that they count as what they take.
fn pages(text: &str, rows: usize, columns: usize) -> Vec<String> {
    let mut pages = vec![String::new()];
    let mut used = 0;
    for line in text.lines() {
        let mut rest = line;
        loop {
            let cut = rest.char_indices().nth(columns).map_or(rest.len(), |(at, _)| at);
            let (row, after) = rest.split_at(cut);
            if used == rows {
                pages.push(String::new());
                used = 0;
            }
            if let Some(page) = pages.last_mut() {
                page.push_str(row);
                page.push('\n');
                used += 1;
            }
            if after.is_empty() {
                break;
            }
            rest = after;
        }
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_page_is_longer_than_the_terminal_and_nothing_is_lost() {
        let text = format!("a\n\n{}\nb", "x".repeat(25));
        let pages = pages(&text, 3, 10);
        assert_eq!(pages, ["a\n\nxxxxxxxxxx\n", "xxxxxxxxxx\nxxxxx\nb\n"]);
        let shown: String = pages.concat().replace('\n', "");
        assert_eq!(shown, text.replace('\n', ""));
    }
}
