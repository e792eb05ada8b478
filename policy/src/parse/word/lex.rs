//! The lexer of one word: converts bytes to pieces and removes quotes.

use std::collections::HashMap;
use std::rc::Rc;

use tree_sitter::Node;

use crate::parse::build::Builder;
use crate::parse::grammar::kind_of;
use crate::parse::names::{assignment_name, is_name, is_name_byte};
use crate::parse::piece::{Mode, Piece};
use crate::parse::tree::{Hazard, Substitution, Word};

/// The content of a word.
#[derive(Default)]
pub(in crate::parse) struct LexedWord {
    pub(in crate::parse) pieces: Vec<Piece>,
    pub(in crate::parse) variables: Vec<Vec<u8>>,
    /// The last variable that was expanded, if it was a plain expansion.
    pub(in crate::parse) plain_variable: Option<Vec<u8>>,
    pub(in crate::parse) hazards: Vec<Hazard>,
    pub(in crate::parse) substitutions: Vec<Rc<Substitution>>,
    pub(in crate::parse) bare: bool,
    pub(in crate::parse) foreign_home: bool,
    pub(in crate::parse) heredoc_text: bool,
    /// Whether a home directory was read after the `=` of text that looks like an assignment.
    pub(in crate::parse) assigned_home: bool,
}

pub(super) struct WordLexer<'n, 't> {
    at: usize,
    end: usize,
    start: usize,
    mode: Mode,
    quoted: bool,
    /// The end of the last `$NAME`.
    name_end: Option<usize>,
    expansions: &'n HashMap<usize, Node<'t>>,
    lexed: LexedWord,
}

impl<'n, 't> WordLexer<'n, 't> {
    pub(super) fn new(
        start: usize,
        end: usize,
        mode: Mode,
        expansions: &'n HashMap<usize, Node<'t>>,
    ) -> Self {
        Self {
            at: start,
            end,
            start,
            mode,
            quoted: mode == Mode::Quoted,
            name_end: None,
            expansions,
            lexed: LexedWord {
                bare: true,
                pieces: Vec::with_capacity(end.saturating_sub(start)),
                ..LexedWord::default()
            },
        }
    }

    pub(super) fn into_parts(self) -> LexedWord {
        self.lexed
    }

    pub(super) fn run(&mut self, builder: &mut Builder<'_>) {
        if matches!(self.mode, Mode::Argument | Mode::Value) {
            self.tilde(builder);
        }
        while self.at < self.end {
            self.step(builder);
        }
        if self.quoted && self.mode != Mode::Quoted {
            builder.problem("incomplete_command", builder.source.span(self.start, self.end));
        }
    }

    fn peek(&self, builder: &Builder<'_>, ahead: usize) -> u8 {
        let at = self.at + ahead;
        if at >= self.end {
            return 0;
        }
        builder.source.slice(at, at + 1).first().copied().unwrap_or(0)
    }

    fn byte(&mut self, byte: u8, quoted: bool) {
        self.lexed.pieces.push(Piece::Byte { byte, quoted });
    }

    fn problem(&self, builder: &mut Builder<'_>, code: &'static str) {
        builder.problem(code, builder.source.span(self.at, (self.at + 1).min(self.end)));
    }

    fn step(&mut self, builder: &mut Builder<'_>) {
        let byte = self.peek(builder, 0);
        match byte {
            b'$' => self.dollar(builder),
            b'`' => self.at_node(builder, "command_substitution"),
            b'\\' => self.backslash(builder),
            b'"' if self.mode == Mode::Quoted => self.literal(byte),
            b'"' => {
                self.lexed.bare = false;
                self.quoted = !self.quoted;
                self.lexed.pieces.push(Piece::Empty);
                self.at += 1;
            }
            b'\n' if self.quoted => {
                self.quoted_newline(builder);
                self.literal(byte);
            }
            _ if self.quoted => self.literal(byte),
            b'\'' => self.single_quotes(builder),
            b'<' | b'>' if self.peek(builder, 1) == b'(' && self.mode != Mode::Loose => {
                self.at_node(builder, "process_substitution");
            }
            _ => self.unquoted(builder, byte),
        }
    }

    fn literal(&mut self, byte: u8) {
        self.byte(byte, self.quoted);
        self.at += 1;
    }

    /// Reads a byte outside quotes that starts no quote or expansion.
    fn unquoted(&mut self, builder: &mut Builder<'_>, byte: u8) {
        let separator = matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')');
        if separator && self.mode != Mode::Loose {
            self.problem(builder, "parse_incomplete");
        }
        match byte {
            b'\r' => self.problem(builder, "carriage_return"),
            // bash does not read `${` as a brace, even after `$$`.
            b'{' if self.at > self.start && builder.source.slice(self.at - 1, self.at) == b"$" => {
                self.problem(builder, "brace_expansion");
            }
            // Brace expansion comes first: it turns `$HOM{E,}` into `$HOME`.
            b'{' if self.name_end == Some(self.at) && self.mode == Mode::Argument => {
                self.problem(builder, "brace_expansion");
            }
            b'=' | b':' if self.next_may_be_home(builder) => {
                self.literal(byte);
                self.lexed.assigned_home = true;
                self.tilde(builder);
                return;
            }
            b'#' if self.at == self.start && self.mode == Mode::Argument => {
                self.problem(builder, "parse_incomplete");
            }
            b'#' if self.at > self.start && self.mode == Mode::Argument => {
                let before = builder.source.slice(self.at - 1, self.at);
                if matches!(before, b"'" | b"\"") {
                    self.problem(builder, "mid_word_hash");
                }
            }
            _ => {}
        }
        self.literal(byte);
    }

    fn backslash(&mut self, builder: &mut Builder<'_>) {
        let next = self.peek(builder, 1);
        if self.at + 1 >= self.end {
            self.problem(builder, "incomplete_command");
            self.at += 1;
            return;
        }
        let special =
            matches!(next, b'$' | b'`' | b'\\' | b'\n') || (next == b'"' && self.mode != Mode::Quoted);
        if self.quoted && !special {
            self.byte(b'\\', true);
            self.at += 1;
            return;
        }
        self.lexed.bare = false;
        self.byte(next, true);
        self.at += 2;
        if !self.quoted && self.mode == Mode::Argument {
            self.touching_escape(builder, next);
        }
        if next == b'"' && self.mode == Mode::Argument && self.separator_follows(builder) {
            // To a reader who mistakes the quote for a real one, a command seems to start here.
            self.problem(builder, "malformed_token_injection");
        }
    }

    /// Detects an escaped space or operator directly before an operator, which looks like two
    /// commands.
    fn touching_escape(&self, builder: &mut Builder<'_>, escaped: u8) {
        let at_end = self.at == self.end;
        let after = builder.source.slice(self.end, self.end + 1);
        if !at_end || !matches!(after, b";" | b"|" | b"&" | b"<" | b">") {
            return;
        }
        match escaped {
            b' ' | b'\t' => self.problem_behind(builder, "backslash_escaped_whitespace"),
            // A single `\;` ends `find -exec`.
            b';' | b'|' | b'&' | b'<' | b'>' if self.at > self.start + 2 => {
                self.problem_behind(builder, "backslash_escaped_operators");
            }
            _ => {}
        }
    }

    fn problem_behind(&self, builder: &mut Builder<'_>, code: &'static str) {
        builder.problem(code, builder.source.span(self.at.saturating_sub(2), self.at));
    }

    fn separator_follows(&self, builder: &Builder<'_>) -> bool {
        let rest = builder.source.slice(self.at, self.end);
        let next = rest.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
        matches!(next, Some(b';' | b'|' | b'&'))
    }

    /// Detects a line feed inside quotes followed by `#`, which misleads a reader who splits at
    /// lines.
    fn quoted_newline(&self, builder: &mut Builder<'_>) {
        let rest = builder.source.slice(self.at + 1, self.end);
        let next = rest.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
        if next == Some(&b'#') && self.mode != Mode::Quoted {
            self.problem(builder, "quoted_newline");
        }
    }

    fn single_quotes(&mut self, builder: &mut Builder<'_>) {
        self.lexed.bare = false;
        self.lexed.pieces.push(Piece::Empty);
        self.at += 1;
        loop {
            if self.at >= self.end {
                self.at = self.end;
                self.problem(builder, "incomplete_command");
                return;
            }
            let byte = self.peek(builder, 0);
            if byte == b'\n' {
                self.quoted_newline(builder);
            }
            if byte == b'\'' {
                self.at += 1;
                return;
            }
            self.byte(byte, true);
            self.at += 1;
        }
    }

    fn dollar(&mut self, builder: &mut Builder<'_>) {
        let next = self.peek(builder, 1);
        match next {
            b'\'' if !self.quoted => {
                let body = builder.source.slice(self.at + 2, self.end);
                let (decoded, used) = crate::parse::quoting::ansi_c(body);
                self.lexed.bare = false;
                if self.lexed.pieces.is_empty() && decoded.starts_with(b"-") && decoded.len() > 1 {
                    self.problem(builder, "obfuscated_flags");
                }
                self.ansi_newlines(builder, used);
                self.lexed.pieces.push(Piece::Empty);
                for byte in decoded {
                    self.byte(byte, true);
                }
                self.at += 2 + used;
            }
            b'"' if !self.quoted => {
                self.lexed.bare = false;
                self.at += 1;
            }
            b'(' if self.peek(builder, 2) == b'(' && !self.has("command_substitution") => {
                self.at_node(builder, "arithmetic_expansion");
            }
            b'(' => self.at_node(builder, "command_substitution"),
            b'[' => self.at_node(builder, "arithmetic_expansion"),
            b'{' => self.at_node(builder, "expansion"),
            b'_' | b'a'..=b'z' | b'A'..=b'Z' => self.variable(builder),
            b'@' => {
                self.parameter(next, false);
                // Inside quotes, too, it is any number of words.
                self.lexed.pieces.push(Piece::Unknown { one: false });
            }
            b'#' | b'?' | b'$' => self.parameter(next, builder.surroundings.splits_as_usual),
            b'*' | b'!' | b'-' | b'0'..=b'9' => self.parameter(next, false),
            _ => self.literal(b'$'),
        }
    }

    /// Checks literal line feeds inside `$'...'`.
    fn ansi_newlines(&mut self, builder: &mut Builder<'_>, length: usize) {
        let start = self.at;
        let body = builder.source.slice(start + 2, start + 2 + length);
        for (at, _) in body.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
            self.at = start + 2 + at;
            self.quoted_newline(builder);
        }
        self.at = start;
    }

    fn parameter(&mut self, name: u8, one: bool) {
        self.lexed.bare = false;
        self.lexed.variables.push(vec![name]);
        self.unknown(one);
        self.at += 2;
    }

    fn variable(&mut self, builder: &mut Builder<'_>) {
        let rest = builder.source.slice(self.at + 1, self.end);
        let length = rest.iter().take_while(|byte| is_name_byte(**byte)).count();
        let name = rest.get(..length).unwrap_or_default().to_vec();
        if name == b"IFS" && !self.quoted && self.mode == Mode::Argument {
            self.problem(builder, "ifs_injection");
        }
        self.at += 1 + length;
        self.name_end = Some(self.at);
        self.lexed.bare = false;
        self.expand_name(builder, name);
    }

    /// Expands a name. HOME is known unless the text sets it.
    fn expand_name(&mut self, builder: &Builder<'_>, name: Vec<u8>) {
        let home = builder.surroundings.home;
        let unsplit = self.quoted || self.mode == Mode::Value;
        if name == b"HOME" && !builder.assigned.contains_key(&name) && builder.home_is_one_word(unsplit) {
            self.bytes_of(home);
        } else {
            self.lexed.plain_variable = Some(name.clone());
            self.unknown(unsplit);
        }
        self.lexed.variables.push(name);
    }

    fn bytes_of(&mut self, text: &str) {
        for byte in text.bytes() {
            self.byte(byte, true);
        }
    }

    fn unknown(&mut self, one: bool) {
        let one = one || self.quoted;
        self.lexed.pieces.push(Piece::Unknown { one });
    }

    fn has(&self, kind: &str) -> bool {
        self.expansions.get(&self.at).is_some_and(|node| kind_of(*node) == kind)
    }

    /// Reads an expansion. The grammar must have recognized the same one at this position.
    fn at_node(&mut self, builder: &mut Builder<'_>, kind: &str) {
        self.lexed.bare = false;
        let node = self.expansions.get(&self.at).copied();
        let Some(node) = node.filter(|node| kind_of(*node) == kind && node.end_byte() <= self.end) else {
            self.problem(builder, "parse_incomplete");
            self.unknown(false);
            self.at += 1;
            return;
        };
        match kind {
            "expansion" => self.expansion(builder, node),
            "arithmetic_expansion" => self.arithmetic(builder, node),
            _ => {
                let substitution = builder.substitution(node);
                let unsplit = self.quoted || self.mode == Mode::Value;
                match substitution.text.as_ref().filter(|_| unsplit) {
                    Some(text) => {
                        builder.note("safe_heredoc_substitution", builder.source.span_of(node));
                        self.lexed.heredoc_text = true;
                        self.lexed.pieces.push(Piece::Empty);
                        text.iter().for_each(|byte| self.byte(*byte, true));
                    }
                    None => self.unknown(kind == "process_substitution" || self.mode == Mode::Value),
                }
                self.lexed.substitutions.push(substitution);
            }
        }
        self.at = node.end_byte();
    }

    fn arithmetic(&mut self, builder: &mut Builder<'_>, node: Node<'_>) {
        let start = builder.source.start_of(node);
        let open = if builder.source.slice(start, node.end_byte()).starts_with(b"$((") { 3 } else { 2 };
        if open == 2 {
            self.lexed.hazards.push(builder.hazard(
                "command_substitution",
                node.start_byte(),
                node.end_byte(),
            ));
        }
        let close = if open == 3 { 2 } else { 1 };
        let end = node.end_byte().saturating_sub(close);
        let word = builder.arithmetic_region(start + open, end, node);
        self.take(word);
        self.unknown(builder.surroundings.splits_as_usual);
    }

    fn expansion(&mut self, builder: &mut Builder<'_>, node: Node<'_>) {
        let (word, many) = builder.expansion(node, self.quoted);
        let reads_ifs = word.variables.first().is_some_and(|name| name == b"IFS");
        if reads_ifs && !self.quoted && self.mode == Mode::Argument {
            self.problem(builder, "ifs_injection");
        }
        if word.text.is_some() && self.lexed.pieces.iter().all(|piece| *piece == Piece::Empty) {
            self.bytes_of(builder.surroundings.home);
        } else {
            let one = !many && (self.quoted || self.mode == Mode::Value);
            self.lexed.plain_variable.clone_from(&word.only);
            self.lexed.pieces.push(Piece::Unknown { one });
        }
        self.take(word);
    }

    /// Adds the content of a part of the word.
    fn take(&mut self, word: Word) {
        self.lexed.variables.extend(word.variables);
        self.lexed.hazards.extend(word.hazards);
        self.lexed.substitutions.extend(word.substitutions);
    }

    /// Reports whether `~` here is a home directory: after the first `=`, or after `:`, of a word that looks like an
    /// assignment.
    fn next_may_be_home(&self, builder: &Builder<'_>) -> bool {
        if self.peek(builder, 1) != b'~' {
            return false;
        }
        let before = builder.source.slice(self.start, self.at + 1);
        if self.peek(builder, 0) == b'=' && before.iter().filter(|byte| **byte == b'=').count() > 1 {
            return false;
        }
        match self.mode {
            Mode::Value => self.peek(builder, 0) == b':',
            Mode::Argument => {
                let name = before.split(|byte| *byte == b'[').next().unwrap_or_default();
                let indexed = name.len() < before.len() && before.contains(&b'=');
                assignment_name(before).is_some() || (indexed && is_name(name))
            }
            Mode::Loose | Mode::Quoted => false,
        }
    }

    fn tilde(&mut self, builder: &mut Builder<'_>) {
        if self.peek(builder, 0) != b'~' {
            return;
        }
        let rest = builder.source.slice(self.at + 1, self.end);
        let length = rest.iter().take_while(|b| !matches!(b, b'/' | b':')).count();
        let user = rest.get(..length).unwrap_or_default();
        if user.iter().any(|b| matches!(b, b'\\' | b'\'' | b'"' | b'$' | b'`' | b'<' | b'>')) {
            return;
        }
        if user.contains(&b'{') && self.mode == Mode::Argument {
            // Brace expansion comes first: it turns `~{a,b}` into two users.
            self.problem(builder, "brace_expansion");
        }
        self.lexed.bare = false;
        if user.is_empty() {
            self.at += 1;
            self.bytes_of(builder.surroundings.home);
        } else {
            self.at += 1 + length;
            self.lexed.foreign_home = true;
            self.unknown(true);
        }
    }
}
