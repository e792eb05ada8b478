//! Heredocs. Delimiters and the ends of bodies are read from the bytes, because the grammar's tree lacks the rest of
//! their line and some of their content.

use tree_sitter::Node;

use super::build::Builder;
use super::grammar::{children_of, is_word, kind_of};
use super::tree::{Redir, RedirOp, Statement, Word};

/// Reads the delimiter word after `<<`. Returns its text, whether it was quoted, and its length
/// including preceding spaces.
pub(super) fn delimiter(text: &[u8]) -> (Vec<u8>, bool, usize) {
    let blanks = text.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
    let mut out = Vec::new();
    let mut quoted = false;
    let mut at = blanks;
    while let Some(&byte) = text.get(at) {
        match byte {
            b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' => break,
            b'\\' => {
                quoted = true;
                out.extend(text.get(at + 1));
                at += 1;
            }
            b'\'' | b'"' => {
                quoted = true;
                let body = text.get(at + 1..).unwrap_or_default();
                let length = body.iter().position(|b| *b == byte).unwrap_or(body.len());
                out.extend_from_slice(body.get(..length).unwrap_or_default());
                at += length + 1;
            }
            other => out.push(other),
        }
        at += 1;
    }
    (out, quoted, at.min(text.len()))
}

/// Finds the end of the body. Returns the body's length, and the length of the line that ends it.
pub(super) fn find_end(body: &[u8], delimiter: &[u8], strip_tabs: bool) -> Option<(usize, usize)> {
    let mut at = 0;
    for line in body.split(|byte| *byte == b'\n') {
        let tabs = if strip_tabs { line.iter().take_while(|b| **b == b'\t').count() } else { 0 };
        if line.get(tabs..) == Some(delimiter) {
            return Some((at, line.len()));
        }
        at += line.len() + 1;
    }
    None
}

/// Returns the lines without their leading tabs, as for `<<-`.
fn without_tabs(lines: &[u8]) -> Vec<u8> {
    let stripped: Vec<&[u8]> = lines
        .split(|byte| *byte == b'\n')
        .map(|line| {
            let tabs = line.iter().take_while(|byte| **byte == b'\t').count();
            line.get(tabs..).unwrap_or_default()
        })
        .collect();
    stripped.join(&b'\n')
}

/// The content of a heredoc node: its redirects, words of its command, and the statements that
/// follow.
#[derive(Default)]
pub(super) struct HeredocParts {
    pub(super) redirects: Vec<Redir>,
    pub(super) words: Vec<Word>,
    pub(super) piped: Vec<Statement>,
    pub(super) then: Vec<Statement>,
}

/// The offset and length of a body, the length of the line that ends it, and whether it contains no
/// expansions.
struct Lines {
    from: usize,
    length: usize,
    line: usize,
    quoted: bool,
}

impl Builder<'_> {
    /// Reads a `heredoc_redirect` node.
    pub(super) fn heredoc(&mut self, node: Node<'_>, parts: &mut HeredocParts) {
        let children = children_of(node);
        self.check_gaps(node.start_byte(), node.end_byte(), &children);
        let mut descriptor = None;
        let mut strip_tabs = false;
        let mut start = None;
        for child in children {
            match kind_of(child) {
                "<<" => check_dash(self, child),
                "<<-" => {
                    check_dash(self, child);
                    strip_tabs = true;
                }
                "file_descriptor" => {
                    descriptor = self.source.descriptor(child);
                    if descriptor.is_none() {
                        // In bash this is a word or a part of one.
                        self.incomplete(child);
                    }
                }
                "heredoc_start" => {
                    let behind = self.source.slice(child.end_byte(), child.end_byte() + 1);
                    if !behind.iter().all(|byte| b" \t\n;&|<>()".contains(byte)) {
                        self.incomplete(child);
                    }
                    start = Some(child);
                }
                "file_redirect" | "herestring_redirect" => {
                    self.redirect(child, &mut parts.redirects, &mut parts.words);
                }
                "pipeline" => piped_parts(self, child, &mut parts.piped),
                "&&" | "||" => {}
                "heredoc_body" => {
                    let word = read_body(self, start, child, strip_tabs);
                    let span = self.source.span_of(child);
                    parts.redirects.push(Redir {
                        op: RedirOp::Heredoc,
                        text: "<<",
                        descriptor,
                        target: Some(word),
                        span,
                    });
                }
                "heredoc_end" => check_end(self, start, child, strip_tabs),
                _ if is_word(child) => self.words_of(&[child], &mut parts.words),
                _ if child.is_named() => parts.then.extend(self.statement(child)),
                _ => self.incomplete(child),
            }
        }
    }
}

/// Returns the offset of a `-` that is a word directly before `<<`. The grammar omits it from
/// its tree, or includes it in the operator.
pub(super) fn dash_before_heredoc(builder: &Builder<'_>, before: usize, node: Node<'_>) -> Option<usize> {
    let gap = builder.source.slice(before, node.start_byte());
    let blanks = gap.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let behind = builder.source.text_from(before + blanks).strip_prefix(b"-")?;
    let alone = [&b" "[..], b"\t", b"<<"].iter().any(|end| behind.starts_with(end));
    (kind_of(node) == "heredoc_redirect" && blanks > 0 && alone).then_some(before + blanks)
}

/// Checks a dash in the operator node: it is a word only after a space.
fn check_dash(builder: &mut Builder<'_>, operator: Node<'_>) {
    let at = operator.start_byte();
    let is_word = matches!(builder.source.slice(at.saturating_sub(1), at), b" " | b"\t");
    if builder.source.text_of(operator).starts_with(b"-") && !is_word {
        builder.incomplete(operator);
    }
}

/// Reads a pipeline node on a heredoc's line, which contains only the part after the bar.
fn piped_parts(builder: &mut Builder<'_>, node: Node<'_>, out: &mut Vec<Statement>) {
    let children = children_of(node);
    builder.check_gaps(node.start_byte(), node.end_byte(), &children);
    for child in children {
        match kind_of(child) {
            "|" | "|&" => {}
            _ => out.extend(builder.statement(child)),
        }
    }
}

/// Checks that bash ends the body at the same line. For some delimiters the grammar finds a
/// later line, and includes all text before it in the body.
fn check_end(builder: &mut Builder<'_>, start: Option<Node<'_>>, end: Node<'_>, strip_tabs: bool) {
    let ends = body_lines(builder, start, strip_tabs).map(|lines| lines.from + lines.length + lines.line);
    if ends != Some(end.end_byte()) {
        builder.incomplete(end);
    }
}

/// Returns the body that bash finds for this delimiter.
fn body_lines(builder: &Builder<'_>, start: Option<Node<'_>>, strip_tabs: bool) -> Option<Lines> {
    let start = start?;
    let (name, quoted, _) = delimiter(builder.source.text_of(start));
    let from = builder.source.line_after(start.end_byte());
    let (length, line) = find_end(builder.source.text_from(from), &name, strip_tabs)?;
    Some(Lines { from, length, line, quoted })
}

fn read_body(builder: &mut Builder<'_>, start: Option<Node<'_>>, body: Node<'_>, strip_tabs: bool) -> Word {
    let Some(Lines { from, length, line, quoted }) = body_lines(builder, start, strip_tabs) else {
        builder.incomplete(body);
        return Word::unknown(true, builder.source.span_of(body));
    };
    let agrees = body.start_byte() >= from && body.end_byte() <= from + length + line;
    let parent_end = body.parent().map_or(0, |parent| parent.end_byte());
    if !agrees || parent_end < from + length {
        builder.incomplete(body);
    }
    if quoted {
        let lines = builder.source.text_from(from).get(..length).unwrap_or_default();
        let text = if strip_tabs { without_tabs(lines) } else { lines.to_vec() };
        return Word { literal: true, ..Word::known(&text, builder.source.span_of(body)) };
    }
    builder.quoted_region(from, from + length, body)
}
