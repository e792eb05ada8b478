//! The lines of a command that a span touches, with marks under it: as wide as what they
//! mark, whatever the characters; cut where a line is long.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthChar as _;

use super::{Look, shown};
use crate::decision::Span;

/// Lines of one span that are shown.
const LINES: usize = 4;
const INDENT: &str = "      ";
/// Columns before the marks that stay when a line is cut.
const LEAD: usize = 20;
const TAB: usize = 4;
const CUT: char = '…';

/// One character as it is shown.
#[derive(Clone, Copy)]
struct Cell {
    shown: char,
    width: usize,
    marked: bool,
}

pub(super) fn excerpt(command: &[u8], span: Span, look: Look, colour: &str) -> String {
    let mut out = String::new();
    let lines: Vec<(usize, &[u8])> = touched(command, span).collect();
    for (number, (start, line)) in lines.iter().enumerate() {
        if number == LINES && lines.len() > LINES {
            let _ = writeln!(out, "{INDENT}and {} more lines", lines.len() - LINES);
            break;
        }
        let cells = cut(cells(line, *start, span), look.columns.saturating_sub(INDENT.len()));
        let text: String = cells.iter().map(|cell| cell.shown).collect();
        let marks: String =
            cells.iter().map(|cell| if cell.marked { "^" } else { " " }.repeat(cell.width)).collect();
        let _ = writeln!(out, "{INDENT}{text}");
        let _ = writeln!(out, "{INDENT}{}", painted(marks.trim_end(), look, colour));
    }
    out
}

fn painted(marks: &str, look: Look, colour: &str) -> String {
    let (lead, marks) = marks.split_at(marks.find('^').unwrap_or(marks.len()));
    format!("{lead}{}", look.paint(if marks.is_empty() { "^" } else { marks }, colour))
}

/// The lines in which the span has a byte, each with the offset of its start; an empty
/// span has the line it stands in.
fn touched(command: &[u8], span: Span) -> impl Iterator<Item = (usize, &[u8])> {
    let mut start = 0;
    let lines = command.split(|byte| *byte == b'\n').map(move |line| {
        let at = start;
        start += line.len() + 1;
        (at, line)
    });
    lines.filter(move |(at, line)| {
        let end = at + line.len();
        let holds = span.start <= end && (span.end > *at || span.start == span.end && span.start >= *at);
        let blank = span.start < *at && line.is_empty();
        holds && !blank
    })
}

fn cells(line: &[u8], start: usize, span: Span) -> Vec<Cell> {
    let mut cells = Vec::new();
    let mut at = start;
    for chunk in line.utf8_chunks() {
        for c in chunk.valid().chars() {
            let marked = span.start <= at && at < span.end;
            match c {
                '\t' => cells.extend([Cell { shown: ' ', width: 1, marked }; TAB]),
                c => {
                    let shown = shown(c);
                    cells.push(Cell { shown, width: shown.width().unwrap_or(1), marked });
                }
            }
            at += c.len_utf8();
        }
        for _ in chunk.invalid() {
            cells.push(Cell { shown: '\u{fffd}', width: 1, marked: span.start <= at && at < span.end });
            at += 1;
        }
    }
    cells
}

/// At most so many columns, with the beginning of what is marked.
fn cut(cells: Vec<Cell>, columns: usize) -> Vec<Cell> {
    let width = |cells: &[Cell]| cells.iter().map(|cell| cell.width).sum::<usize>();
    if width(&cells) <= columns {
        return cells;
    }
    let first = cells.iter().position(|cell| cell.marked).unwrap_or_default();
    let from =
        if width(cells.get(..first).unwrap_or_default()) <= LEAD { 0 } else { first - LEAD.min(first) };
    let ends = |marked| Cell { shown: CUT, width: 1, marked };
    let mut kept: Vec<Cell> = if from > 0 { vec![ends(false)] } else { Vec::new() };
    for cell in cells.iter().skip(from) {
        if width(&kept) + cell.width >= columns {
            kept.push(ends(cell.marked));
            break;
        }
        kept.push(*cell);
    }
    kept
}
