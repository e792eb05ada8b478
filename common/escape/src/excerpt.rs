//! The lines of a text that a span touches, with marks below it. The lines are escaped to ASCII, so a column is a
//! byte. Long lines are cut.

use std::ops::Range;

use crate::shown::{CUT, Letters, each};

/// The largest number of lines that are shown for one span.
const LINES: usize = 4;
/// The number of columns before the marks that remain when a line is cut.
const LEAD: usize = 20;

/// A line and its marks: spaces, and a `^` below each column of the span, at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marked {
    /// The line in printable ASCII.
    pub line: String,
    /// The marks.
    pub marks: String,
}

/// The excerpt for a span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The first lines that the span touches.
    pub lines: Vec<Marked>,
    /// The number of further lines.
    pub more: usize,
}

/// Returns the lines of `bytes` that `span` touches, each with at most `columns` columns. An empty span touches the
/// line that contains it.
#[must_use]
pub fn excerpt(bytes: &[u8], span: Range<usize>, columns: usize) -> Excerpt {
    let mut touched = touched(bytes, &span);
    let lines: Vec<Marked> =
        touched.by_ref().take(LINES).map(|(start, line)| marked(line, start, &span, columns)).collect();
    Excerpt { lines, more: touched.count() }
}

fn touched<'a>(bytes: &'a [u8], span: &Range<usize>) -> impl Iterator<Item = (usize, &'a [u8])> {
    let (begin, end) = (span.start.min(bytes.len()), span.end.min(bytes.len()));
    let mut start = 0;
    let lines = bytes.split(|byte| *byte == b'\n').map(move |line| {
        let at = start;
        start += line.len() + 1;
        (at, line)
    });
    lines.filter(move |(at, line)| {
        let holds = begin <= at + line.len() && (end > *at || begin >= *at && end <= begin);
        let blank = begin < *at && line.is_empty();
        holds && !blank
    })
}

fn marked(line: &[u8], start: usize, span: &Range<usize>, columns: usize) -> Marked {
    let mut shown = String::new();
    let mut covered: Option<Range<usize>> = None;
    each(line, Letters::Ascii, |at, piece| {
        if span.contains(&(start + at)) {
            let from = covered.as_ref().map_or(shown.len(), |covered| covered.start);
            covered = Some(from..shown.len() + piece.len());
        }
        shown.push_str(piece);
    });
    let covered = covered.unwrap_or_else(|| {
        let at = if span.start <= start { 0 } else { shown.len() };
        at..at + 1
    });
    window(&shown, covered, columns)
}

/// Returns the part of a line that contains the first marks.
fn window(shown: &str, covered: Range<usize>, columns: usize) -> Marked {
    let room = columns.max(LEAD + 4 * CUT.len());
    if shown.len() <= room {
        let marks = format!("{}{}", " ".repeat(covered.start), "^".repeat(covered.len()));
        return Marked { line: shown.to_owned(), marks };
    }
    let from = if covered.start <= room / 2 { 0 } else { covered.start.saturating_sub(LEAD) };
    let lead = if from > 0 { CUT } else { "" };
    let mut to = from + room - lead.len();
    let mut tail = "";
    if to < shown.len() {
        (to, tail) = (to - CUT.len(), CUT);
    }
    let part = shown.get(from..to.min(shown.len())).unwrap_or_default();
    let indent = covered.start - from + lead.len();
    let marks = covered.end.min(to.max(covered.start + 1)) - covered.start;
    Marked {
        line: format!("{lead}{part}{tail}"),
        marks: format!("{}{}", " ".repeat(indent), "^".repeat(marks)),
    }
}
