//! The lexer. The next token depends on the mode, which the parser sets: a command's words are not split where an
//! expression's operators are.

mod number;
mod operator;
pub(crate) mod reading;
mod string;
mod variable;
mod word;

use self::reading::{Numbers, Operators, Strings, Variables, Words};
use crate::chars::{is_blank, is_dash, is_digit, is_double_quote, is_letter, is_single_quote};
use crate::source::{Map, Text};
use crate::token::{Kind, Part, Stream, Token};
use crate::tree::{Fault, Parse};

/// The way in which characters are combined into tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Command,
    Expression,
    TypeName,
    /// Between the parts of a class.
    Signature,
}

/// The end of the text, for functions that look at one character. Texts with a NUL are not read.
const END: char = '\0';

/// The state of the lexer in one text.
#[derive(Debug)]
pub(crate) struct Lexer<'s> {
    text: &'s str,
    pub(crate) map: Map,
    at: usize,
    start: usize,
    pub(crate) mode: Mode,
    /// Whether a sign can start a number.
    pub(crate) signed: bool,
    /// Whether `?` and `:` end a number.
    pub(crate) in_ternary: bool,
    /// Whether a name is wanted that ends before the first character that is not its own.
    pub(crate) simple_name: bool,
    /// The remaining characters that may be read, which bounds the work of reading a part again.
    fuel: usize,
    /// Whether a comment starts with `#requires` and may load a module.
    pub(crate) requires: bool,
    nested: bool,
}

impl<'s> Lexer<'s> {
    pub(crate) fn new(text: &'s str, map: Map, fuel: usize) -> Self {
        Self {
            text,
            map,
            at: 0,
            start: 0,
            mode: Mode::Command,
            signed: false,
            in_ternary: false,
            simple_name: false,
            fuel,
            requires: false,
            nested: false,
        }
    }

    /// Returns the lexer of a text in a string of another text.
    pub(crate) fn within(text: &'s Text, fuel: usize) -> Self {
        Self { nested: true, ..Self::new(&text.text, text.map.clone(), fuel) }
    }

    pub(crate) fn fuel(&self) -> usize {
        self.fuel
    }

    pub(crate) fn set_fuel(&mut self, fuel: usize) {
        self.fuel = fuel;
    }

    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Continues at an earlier position.
    pub(crate) fn go_back(&mut self, to: usize) {
        self.at = to;
    }

    pub(crate) fn slice(&self, start: usize, end: usize) -> &'s str {
        self.text.get(start..end).unwrap_or_default()
    }

    fn fault<T>(&self, code: &'static str) -> Parse<T> {
        Err(Fault { code, at: self.map.offset(self.start) })
    }

    fn rest(&self) -> &'s str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> char {
        self.rest().chars().next().unwrap_or(END)
    }

    fn peek_second(&self) -> char {
        self.rest().chars().nth(1).unwrap_or(END)
    }

    fn is_at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// Reports whether this character is the next one.
    pub(crate) fn is_before(&self, char: char) -> bool {
        self.peek() == char
    }

    /// Takes the next character; `END` is not taken.
    fn take(&mut self) -> char {
        let next = self.peek();
        self.skip(next);
        next
    }

    /// Skips this character, which is the next one.
    fn skip(&mut self, char: char) {
        if !self.is_at_end() {
            self.at += char.len_utf8();
            self.fuel = self.fuel.saturating_sub(1);
        }
    }

    /// Skips the next character if it is this one.
    fn take_if(&mut self, wanted: char) -> bool {
        let found = !self.is_at_end() && self.peek() == wanted;
        if found {
            self.skip(wanted);
        }
        found
    }

    fn skip_blanks(&mut self) {
        while is_blank(self.peek()) {
            self.take();
        }
    }

    /// Skips a line feed after a carriage return.
    fn end_line(&mut self, char: char) {
        if char == '\r' {
            self.take_if('\n');
        }
    }

    fn token(&self, kind: Kind) -> Token {
        let (value, parts) = (String::new(), Vec::new());
        Token { kind, start: self.start, end: self.at, value, parts, flag: false }
    }

    fn valued(&self, kind: Kind, value: String) -> Token {
        Token { value, ..self.token(kind) }
    }

    fn with_parts(&self, kind: Kind, value: String, parts: Vec<Part>) -> Token {
        Token { value, parts, ..self.token(kind) }
    }

    fn in_command(&self) -> bool {
        self.mode == Mode::Command
    }

    fn in_expression(&self) -> bool {
        self.mode == Mode::Expression
    }

    /// Reads the next token.
    pub(crate) fn next(&mut self) -> Parse<Token> {
        loop {
            if self.fuel == 0 {
                return self.fault("too_much_work");
            }
            self.start = self.at;
            if self.is_at_end() {
                return Ok(self.token(Kind::EndOfInput));
            }
            let char = self.take();
            match char {
                '#' => self.skip_line_comment(),
                '<' if self.peek() == '#' => self.skip_block_comment()?,
                '`' => {
                    if let Some(token) = self.backtick()? {
                        return Ok(token);
                    }
                }
                blank if is_blank(blank) => self.skip_blanks(),
                other => return self.starting_with(other),
            }
        }
    }

    /// Reads the token that starts with a backtick, unless the backtick only joins lines or blanks.
    fn backtick(&mut self) -> Parse<Option<Token>> {
        if self.is_at_end() {
            return self.fault("incomplete_string");
        }
        let char = self.take();
        if matches!(char, '\n' | '\r') {
            self.end_line(char);
            return Ok(None);
        }
        if char.is_whitespace() {
            self.skip_blanks();
            return Ok(None);
        }
        let escaped = self.escaped(char)?;
        self.word(escaped.to_string()).map(Some)
    }

    fn starting_with(&mut self, char: char) -> Parse<Token> {
        match char {
            '\n' | '\r' => {
                self.end_line(char);
                Ok(self.token(Kind::NewLine))
            }
            quote if is_single_quote(quote) => self.single_quoted(),
            quote if is_double_quote(quote) => self.double_quoted(),
            '@' => self.at_sign(),
            '$' if self.take_if('(') => Ok(self.token(Kind::DollarParen)),
            '$' => self.variable(Kind::Variable),
            '(' => Ok(self.token(Kind::LParen)),
            ')' => Ok(self.token(Kind::RParen)),
            '{' => Ok(self.token(Kind::LCurly)),
            '}' => Ok(self.token(Kind::RCurly)),
            ';' => Ok(self.token(Kind::Semi)),
            ',' => Ok(self.token(Kind::Comma)),
            ']' => Ok(self.token(Kind::RBracket)),
            '[' => self.operator_or_word("[", Kind::LBracket),
            '&' => Ok(self.doubled('&', Kind::AndAnd, Kind::Ampersand)),
            '|' => Ok(self.doubled('|', Kind::OrOr, Kind::Pipe)),
            '<' => Ok(self.token(Kind::FromFile)),
            '>' => {
                let appends = self.take_if('>');
                Ok(Token { flag: appends, ..self.token(Kind::ToFile(Stream::Output)) })
            }
            '0'..='9' => self.digit(char),
            other if other == '_' || is_letter(other) => self.identifier(),
            other => self.operator(other),
        }
    }

    fn doubled(&mut self, char: char, double: Kind, single: Kind) -> Token {
        let kind = if self.take_if(char) { double } else { single };
        self.token(kind)
    }

    /// Reads what follows `@`.
    fn at_sign(&mut self) -> Parse<Token> {
        let next = self.peek();
        match next {
            '{' => {
                self.take();
                Ok(self.token(Kind::AtCurly))
            }
            '(' => {
                self.take();
                Ok(self.token(Kind::AtParen))
            }
            quote if is_single_quote(quote) => {
                self.take();
                self.here_literal()
            }
            quote if is_double_quote(quote) => {
                self.take();
                self.here_expandable()
            }
            next if crate::chars::starts_variable(next) => self.variable(Kind::Splat),
            _ => self.fault("unrecognized_token"),
        }
    }

    /// Reads a redirection of a numbered stream, or a number.
    fn digit(&mut self, char: char) -> Parse<Token> {
        if !matches!(char, '1'..='6') || self.peek() != '>' {
            return self.number(char);
        }
        let before = self.at;
        self.take();
        let appends = self.take_if('>');
        let target = if self.peek() == '&' { self.peek_second() } else { END };
        if !appends && matches!(target, '1' | '2') {
            self.take();
            self.take();
            return Ok(self.token(Kind::Merge(Stream::of(char), if target == '1' { 1 } else { 2 })));
        }
        if self.in_expression() {
            self.at = before;
            return Ok(self.token(Kind::Number));
        }
        Ok(Token { flag: appends, ..self.token(Kind::ToFile(Stream::of(char))) })
    }

    /// Skips the rest of a comment in one line, after its `#`.
    fn skip_line_comment(&mut self) {
        let rest = self.rest();
        let length = rest.find(['\r', '\n']).unwrap_or(rest.len());
        let comment = rest.get(..length).unwrap_or_default();
        let directive = comment.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("requires"));
        self.requires |= directive && !only_tests(comment.get(8..).unwrap_or_default());
        self.at += length;
        self.fuel = self.fuel.saturating_sub(length);
    }

    /// Skips the rest of a comment in `<# #>`, after its `<`.
    fn skip_block_comment(&mut self) -> Parse<()> {
        self.take();
        let Some(length) = self.rest().find("#>") else {
            return self.fault("missing_end_of_comment");
        };
        self.at += length + 2;
        self.fuel = self.fuel.saturating_sub(length);
        Ok(())
    }

    /// Skips blanks, comments and line ends, and semicolons if they are wanted.
    pub(crate) fn skip_lines(&mut self, semicolons: bool) -> Parse<()> {
        loop {
            self.start = self.at;
            match self.peek() {
                '\n' | '\r' => {
                    self.take();
                }
                ';' if semicolons => {
                    self.take();
                }
                '#' => {
                    self.take();
                    self.skip_line_comment();
                }
                '<' if self.peek_second() == '#' => {
                    self.take();
                    self.skip_block_comment()?;
                }
                '`' if self.peek_second().is_whitespace() => {
                    self.take();
                    self.take();
                }
                blank if is_blank(blank) => self.skip_blanks(),
                _ => return Ok(()),
            }
        }
    }

    /// Reports whether the line that follows the end of a line continues a pipeline: the first thing on it, or after
    /// lines with only comments, is `|`.
    pub(crate) fn pipe_follows(&self, end: usize) -> bool {
        let mut rest = self.text.get(end..).unwrap_or_default();
        let mut after_line_end = true;
        loop {
            rest = rest.trim_start_matches(is_blank);
            if let Some(next) = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix(['\r', '\n'])) {
                if after_line_end {
                    return false;
                }
                after_line_end = true;
                rest = next;
                continue;
            }
            after_line_end = false;
            if let Some(comment) = rest.strip_prefix("<#") {
                rest = comment.split_once("#>").map_or("", |(_, rest)| rest);
            } else if let Some(comment) = rest.strip_prefix('#') {
                let length = comment.find(['\r', '\n']).unwrap_or(comment.len());
                rest = comment.get(length..).unwrap_or_default();
            } else {
                return rest.starts_with('|');
            }
        }
    }

    /// Reports whether the text is inside a string of another text.
    pub(crate) fn is_nested(&self) -> bool {
        self.nested
    }

    /// Reports whether a line starts with `|`.
    pub(crate) fn has_line_with_pipe(&mut self) -> bool {
        self.fuel = self.fuel.saturating_sub(self.text.len());
        self.text.split(['\r', '\n']).any(|line| line.trim_start_matches(is_blank).starts_with('|'))
    }

    fn starts_number(&self, next: char) -> bool {
        self.signed && (is_digit(next) || next == '.')
    }
}

/// Reports whether the parameters of `#requires` only test the shell. Others load modules.
fn only_tests(parameters: &str) -> bool {
    let mut names =
        parameters.split_whitespace().filter(|word| is_dash(word.chars().next().unwrap_or_default()));
    let tests = |name: &str| {
        let name: String = name.chars().skip(1).collect();
        ["version", "psedition", "runasadministrator"].iter().any(|known| name.eq_ignore_ascii_case(known))
    };
    names.next().is_some_and(tests) && names.all(tests)
}
