//! A pass over the bytes before parsing, in linear time. It finds sizes and nesting that the grammar cannot handle,
//! open quotes, and line continuations. It does not search for commands.

use super::grammar::LineEnd;
use crate::limits;

/// The findings of the pass.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Set if the text must not be parsed.
    pub(super) refusal: Option<&'static str>,
    /// The offsets of the backslashes of line continuations.
    pub(super) continuations: Vec<usize>,
    /// The line ends that end a command, in ascending order.
    pub(super) line_ends: Vec<LineEnd>,
    /// The problems and their offsets.
    pub(super) problems: Vec<(&'static str, usize)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Context {
    /// If it is `in_word`, such as `$(...)`, the word continues after it.
    Parenthesis {
        in_word: bool,
    },
    Arithmetic {
        in_word: bool,
    },
    Brace {
        in_quotes: bool,
    },
    Quotes,
    Backtick,
}

#[derive(Default)]
struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    stack: Vec<Context>,
    deepest: usize,
    /// The depth of `{` and `[` outside quotes, which the grammar nests, too.
    brackets: usize,
    old_arithmetic: usize,
    heredocs: usize,
    costly: usize,
    pending: Vec<Heredoc>,
    /// The offset at which the comment of this line begins.
    comment: Option<usize>,
    /// The offset at which the last heredoc ends.
    heredoc_end: usize,
    word_start: bool,
    /// Whether the state of the quotes is unknown.
    loses_quotes: bool,
    scan: Scan,
}

struct Heredoc {
    delimiter: Vec<u8>,
    strip_tabs: bool,
    /// Whether the body contains no expansions, so that a backslash does not join lines.
    quoted: bool,
}

pub(super) fn scan(text: &[u8]) -> Scan {
    if text.len() > limits::MAX_PARSED_BYTES {
        return Scan { refusal: Some("too_long_to_parse"), ..Scan::default() };
    }
    let mut scanner = Scanner { text, word_start: true, ..Scanner::default() };
    scanner.first_byte();
    scanner.control_characters();
    while scanner.at < text.len() && scanner.scan.refusal.is_none() {
        scanner.step();
    }
    scanner.finish()
}

impl Scanner<'_> {
    /// Detects a text that looks like the rest of another text.
    fn first_byte(&mut self) {
        let first = self.text.iter().find(|byte| !matches!(byte, b' ' | b'\n'));
        if matches!(first, Some(b'\t' | b'-' | b';' | b'|' | b'&' | b')')) {
            self.scan.problems.push(("incomplete_command", 0));
        }
    }

    fn control_characters(&mut self) {
        let harmless = |byte: u8| matches!(byte, b'\t' | b'\n' | b'\r') || !byte.is_ascii_control();
        // The second block of control characters (C1), in UTF-8.
        let second = self.text.windows(2).position(|pair| matches!(pair, [0xc2, 0x80..=0x9f]));
        if let Some(at) = self.text.iter().position(|byte| !harmless(*byte)).or(second) {
            self.scan.problems.push(("control_characters", at));
        }
        if self.text.ends_with(b"\\") {
            let slashes = self.text.iter().rev().take_while(|byte| **byte == b'\\').count();
            if slashes % 2 == 1 {
                self.scan.problems.push(("incomplete_command", self.text.len() - 1));
            }
        }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn push(&mut self, context: Context, length: usize) {
        self.stack.push(context);
        self.at += length;
        self.deepest = self.deepest.max(self.stack.len() + self.brackets);
        if self.deepest > limits::MAX_NESTING {
            self.scan.refusal = Some("too_deep");
        }
    }

    fn pop(&mut self) {
        self.stack.pop();
        self.at += 1;
    }

    fn step(&mut self) {
        let byte = self.peek(0);
        let starts_word = std::mem::replace(
            &mut self.word_start,
            matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'|' | b'&' | b'(' | b')' | b'<' | b'>'),
        );
        let quoted = self.stack.last() == Some(&Context::Quotes);
        match byte {
            b'\\' => self.backslash(),
            b'$' => self.dollar(quoted),
            b'`' if self.stack.last() == Some(&Context::Backtick) => self.pop(),
            b'`' => {
                self.word_start = true;
                self.push(Context::Backtick, 1);
            }
            b'"' if quoted => self.pop(),
            b'"' => self.push(Context::Quotes, 1),
            _ if quoted => self.at += 1,
            b'\'' if self.quotes_are_literal() => self.at += 1,
            b'\'' => self.single_quotes(),
            b'#' if starts_word && self.comments_allowed() => self.comment(),
            b'c' if starts_word => self.case_in_substitution(),
            b'<' if self.peek(1) == b'<' => self.double_less(),
            b'\n' => self.line_end(),
            b'|' | 0..=8 | 11..=31 | 127 => {
                self.costly();
                self.at += 1;
            }
            b'=' if self.peek(1) == b'~' => {
                self.costly();
                self.at += 2;
            }
            _ => self.bracket(byte),
        }
    }

    /// Counts a character for which the grammar's time is not linear.
    fn costly(&mut self) {
        self.costly += 1;
        if self.costly > limits::MAX_COSTLY_CHARACTERS {
            self.scan.refusal = Some("too_costly_to_parse");
        }
    }

    /// Recognizes `?(`, `*(`, `+(`, `@(`, `!(`, and the `=(` of an array.
    fn opens_pattern_or_array(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.text.get(at));
        matches!(before, Some(b'?' | b'*' | b'+' | b'@' | b'!' | b'='))
    }

    /// Recognizes `(a) (`, which bash reads in few places.
    fn follows_parenthesis(&self) -> bool {
        let before = self.text.get(..self.at).unwrap_or_default();
        before.trim_ascii_end().last() == Some(&b')')
    }

    fn bracket(&mut self, byte: u8) {
        let top = self.stack.last().copied();
        match byte {
            b'(' if self.peek(1) == b'(' => self.push(Context::Arithmetic { in_word: false }, 2),
            b'(' => self.parenthesis(),
            b')' if matches!(top, Some(Context::Arithmetic { .. } | Context::Parenthesis { .. })) => {
                self.close_parenthesis();
            }
            b'}' if matches!(top, Some(Context::Brace { .. })) => self.pop(),
            b')' => {
                self.costly();
                self.at += 1;
            }
            b'{' | b'[' => {
                if byte == b'[' && self.peek(1) == b'[' {
                    self.costly();
                }
                self.brackets += 1;
                self.at += 1;
                if self.stack.len() + self.brackets > limits::MAX_NESTING {
                    self.scan.refusal = Some("too_deep");
                }
            }
            b'}' | b']' => {
                self.brackets = self.brackets.saturating_sub(1);
                self.at += 1;
            }
            _ => self.at += 1,
        }
    }

    fn parenthesis(&mut self) {
        if self.opens_pattern_or_array() || self.follows_parenthesis() {
            self.costly();
        }
        let before = self.at.checked_sub(1).and_then(|at| self.text.get(at));
        let in_word = matches!(before, Some(b'<' | b'>' | b'='));
        self.push(Context::Parenthesis { in_word }, 1);
    }

    fn close_parenthesis(&mut self) {
        let closed = self.stack.pop();
        let double = matches!(closed, Some(Context::Arithmetic { .. })) && self.peek(1) == b')';
        self.at += if double { 2 } else { 1 };
        self.word_start = matches!(
            closed,
            Some(Context::Arithmetic { in_word: false } | Context::Parenthesis { in_word: false })
        );
    }

    /// Notes a `case` in a substitution. The `)` after its pattern looks like the end of the substitution. This pass
    /// therefore cannot determine which of the following text is quoted.
    fn case_in_substitution(&mut self) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let within = self.stack.contains(&Context::Parenthesis { in_word: true });
        let keyword = matches!(rest, [b'c', b'a', b's', b'e', b' ' | b'\t' | b'\n' | b'\\', ..]);
        self.loses_quotes |= within && keyword;
        self.at += 1;
    }

    fn backslash(&mut self) {
        if self.peek(1) == b'\n' {
            if self.loses_quotes {
                self.scan.problems.push(("parse_incomplete", self.at));
            }
            self.scan.continuations.push(self.at);
            self.word_start = true;
        }
        self.at += 2;
    }

    fn dollar(&mut self, quoted: bool) {
        match (self.peek(1), self.peek(2)) {
            (b'(', b'(') => self.push(Context::Arithmetic { in_word: true }, 3),
            (b'(', _) => {
                self.word_start = true;
                self.push(Context::Parenthesis { in_word: true }, 2);
            }
            (b'{', _) => self.push(Context::Brace { in_quotes: quoted }, 2),
            (b'[', _) => {
                self.old_arithmetic += 1;
                if self.old_arithmetic > limits::MAX_OLD_ARITHMETIC {
                    self.scan.refusal = Some("too_much_arithmetic");
                }
                self.at += 2;
            }
            (b'\'', _) if !quoted && !self.quotes_are_literal() => {
                let body = self.text.get(self.at + 2..).unwrap_or_default();
                let (_, used) = super::quoting::ansi_c(body);
                if body.get(used.wrapping_sub(1)) != Some(&b'\'') {
                    self.scan.problems.push(("incomplete_command", self.at));
                }
                self.at += 2 + used;
            }
            _ => self.at += 1,
        }
    }

    /// Reports whether a single quote is an ordinary character, as inside `"${x:-'...'}"`.
    fn quotes_are_literal(&self) -> bool {
        self.stack.last() == Some(&Context::Brace { in_quotes: true })
    }

    fn comments_allowed(&self) -> bool {
        matches!(self.stack.last(), None | Some(Context::Parenthesis { .. } | Context::Backtick))
    }

    fn single_quotes(&mut self) {
        let body = self.text.get(self.at + 1..).unwrap_or_default();
        match body.iter().position(|byte| *byte == b'\'') {
            Some(length) => self.at += length + 2,
            None => {
                self.scan.problems.push(("incomplete_command", self.at));
                self.at = self.text.len();
            }
        }
    }

    fn comment(&mut self) {
        self.comment = Some(self.at);
        while self.at < self.text.len() && self.peek(0) != b'\n' {
            self.at += 1;
        }
    }

    fn double_less(&mut self) {
        if self.peek(2) == b'<' {
            self.at += 3;
            return;
        }
        self.at += 2;
        if self.stack.iter().any(|context| matches!(context, Context::Arithmetic { .. })) {
            return;
        }
        self.heredocs += 1;
        if self.heredocs > limits::MAX_HEREDOCS {
            self.scan.refusal = Some("too_many_heredocs");
        }
        let strip_tabs = self.peek(0) == b'-';
        let from = self.at + usize::from(strip_tabs);
        let (delimiter, quoted, used) = super::heredoc::delimiter(self.text.get(from..).unwrap_or_default());
        if delimiter.len() > limits::MAX_DELIMITER_BYTES {
            self.scan.refusal = Some("delimiter_too_long");
        }
        self.pending.push(Heredoc { delimiter, strip_tabs, quoted });
        self.at = from + used;
    }

    fn line_end(&mut self) {
        self.note_line_end();
        self.at += 1;
        for heredoc in std::mem::take(&mut self.pending) {
            let body = self.text.get(self.at..).unwrap_or_default();
            match super::heredoc::find_end(body, &heredoc.delimiter, heredoc.strip_tabs) {
                Some((length, line)) => {
                    let joins = |lines: &[u8]| lines.windows(2).any(|pair| pair == b"\\\n");
                    if !heredoc.quoted && joins(body.get(..length).unwrap_or_default()) {
                        self.scan.problems.push(("parse_incomplete", self.at));
                    }
                    self.at += length + line;
                    self.heredoc_end = self.at;
                }
                None => {
                    // The grammar continues as if the heredoc had not started, and so does this
                    // pass.
                    self.scan.problems.push(("incomplete_command", self.at.saturating_sub(1)));
                    return;
                }
            }
        }
    }

    fn note_line_end(&mut self) {
        let line_end = LineEnd { at: self.at, comment: self.comment.take() };
        let in_heredoc = !self.pending.is_empty() || self.at == self.heredoc_end;
        if !in_heredoc && self.comments_allowed() && !self.loses_quotes {
            self.scan.line_ends.push(line_end);
        }
    }

    fn finish(mut self) -> Scan {
        if !self.pending.is_empty() || self.stack.contains(&Context::Quotes) {
            let end = self.text.len().saturating_sub(1);
            self.scan.problems.push(("incomplete_command", end));
        }
        self.scan
    }
}
