//! Strings, and what they expand.

use super::{END, Lexer};
use crate::Parse;
use crate::chars::{is_blank, is_double_quote, is_single_quote, starts_variable, unescape};
use crate::source::{Map, Text};
use crate::token::{Kind, Part, Token};

impl Lexer<'_> {
    pub(super) fn single_quoted(&mut self) -> Parse<Token> {
        let mut value = String::new();
        self.single_quoted_into(&mut value)?;
        Ok(self.valued(Kind::StringLiteral, value))
    }

    /// Reads the rest of a string in single quotes.
    pub(super) fn single_quoted_into(&mut self, value: &mut String) -> Parse<()> {
        loop {
            if self.is_at_end() {
                return self.fault("unterminated_string");
            }
            let mut char = self.take();
            if is_single_quote(char) {
                if !is_single_quote(self.peek()) {
                    return Ok(());
                }
                char = self.take();
            }
            value.push(char);
        }
    }

    pub(super) fn double_quoted(&mut self) -> Parse<Token> {
        let (mut value, mut parts) = (String::new(), Vec::new());
        self.double_quoted_into(&mut value, &mut parts)?;
        Ok(self.with_parts(Kind::StringExpandable, value, parts))
    }

    /// Reads the rest of a string in double quotes.
    pub(super) fn double_quoted_into(&mut self, value: &mut String, parts: &mut Vec<Part>) -> Parse<()> {
        loop {
            if self.is_at_end() {
                return self.fault("unterminated_string");
            }
            let char = self.take();
            match char {
                quote if is_double_quote(quote) => {
                    if !is_double_quote(self.peek()) {
                        return Ok(());
                    }
                    let second = self.take();
                    value.push(second);
                }
                '$' => self.dollar_into(value, parts, false)?,
                '`' => self.escape_into(value)?,
                other => value.push(other),
            }
        }
    }

    /// Reads the character after a backtick.
    pub(super) fn escape_into(&mut self, value: &mut String) -> Parse<()> {
        if self.is_at_end() {
            value.push('`');
            return Ok(());
        }
        let char = self.take();
        let escaped = self.escaped(char)?;
        value.push(escaped);
        Ok(())
    }

    /// Returns the character that a backtick and this character stand for.
    pub(super) fn escaped(&mut self, char: char) -> Parse<char> {
        if char == 'u' { self.unicode_escape() } else { Ok(unescape(char)) }
    }

    fn unicode_escape(&mut self) -> Parse<char> {
        const LONGEST: usize = 6;
        let digits = |rest: &str| {
            let (digits, _) = rest.strip_prefix('{')?.split_once('}')?;
            let hexadecimal = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            ((1..=LONGEST).contains(&digits.len()) && hexadecimal).then(|| digits.to_owned())
        };
        let Some(digits) = digits(self.rest().get(..LONGEST + 2).unwrap_or_else(|| self.rest())) else {
            return self.fault("invalid_unicode_escape");
        };
        self.at += digits.len() + 2;
        match u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32) {
            Some(char) if char != END => Ok(char),
            _ => self.fault("invalid_unicode_escape"),
        }
    }

    /// Reads what a `$` in a string expands, or takes it as a character.
    pub(super) fn dollar_into(&mut self, value: &mut String, parts: &mut Vec<Part>, here: bool) -> Parse<()> {
        let start = self.at - 1;
        let next = self.peek();
        if next == '(' {
            let text = self.sub_expression(start, here)?;
            parts.push(Part::Expression { text, lead: value.len() });
        } else if next == '{' || starts_variable(next) {
            let outer = (self.mode, self.start);
            (self.mode, self.start) = (super::Mode::Expression, start);
            let token = self.variable_in_string();
            (self.mode, self.start) = outer;
            let token = token?;
            parts.push(Part::Variable { name: token.value, lead: value.len() });
        } else {
            value.push('$');
            return Ok(());
        }
        value.push_str(self.slice(start, self.at));
        Ok(())
    }

    /// Reads `$(...)` in a string up to the bracket that closes it. Only brackets count, in quotes or not.
    fn sub_expression(&mut self, start: usize, here: bool) -> Parse<Text> {
        self.take();
        let mut doubled = Vec::new();
        let mut open = 1_usize;
        while open > 0 {
            if self.is_at_end() {
                return self.fault("unterminated_expression_in_string");
            }
            let before = self.at;
            match self.take() {
                '(' => open += 1,
                ')' => open -= 1,
                char if (char == '`' || is_double_quote(char)) && !here && is_double_quote(self.peek()) => {
                    doubled.push(before);
                    self.take();
                }
                _ => {}
            }
        }
        Ok(self.without(start, &doubled))
    }

    /// Returns the text from here to the current position, without the characters at these offsets.
    fn without(&self, start: usize, dropped: &[usize]) -> Text {
        let source = self.slice(start, self.at);
        if dropped.is_empty() {
            let map = match &self.map {
                Map::From(base) => Map::From(base + start),
                Map::Each(offsets) => Map::Each(offsets.get(start..).unwrap_or_default().into()),
            };
            return Text { text: source.into(), map };
        }
        let (mut text, mut offsets) = (String::with_capacity(source.len()), Vec::new());
        let mut dropped = dropped.iter().peekable();
        for (at, char) in source.char_indices() {
            if dropped.next_if(|next| **next == start + at).is_some() {
                continue;
            }
            text.push(char);
            let bytes = start + at..start + at + char.len_utf8();
            offsets.extend(bytes.map(|byte| u32::try_from(self.map.offset(byte)).unwrap_or(u32::MAX)));
        }
        offsets.push(u32::try_from(self.map.offset(self.at)).unwrap_or(u32::MAX));
        Text { text: text.into(), map: Map::Each(offsets.into()) }
    }

    pub(super) fn here_literal(&mut self) -> Parse<Token> {
        self.here_header()?;
        let mut value = String::new();
        if self.here_footer(is_single_quote, &mut value) {
            return Ok(self.valued(Kind::HereLiteral, value));
        }
        loop {
            if self.is_at_end() {
                return self.fault("unterminated_string");
            }
            let char = self.take();
            if !matches!(char, '\r' | '\n') {
                value.push(char);
            } else if self.here_line_end(char, is_single_quote, &mut value) {
                return Ok(self.valued(Kind::HereLiteral, value));
            }
        }
    }

    pub(super) fn here_expandable(&mut self) -> Parse<Token> {
        self.here_header()?;
        let (mut value, mut parts) = (String::new(), Vec::new());
        if self.here_footer(is_double_quote, &mut value) {
            return Ok(self.with_parts(Kind::HereExpandable, value, parts));
        }
        loop {
            if self.is_at_end() {
                return self.fault("unterminated_string");
            }
            let char = self.take();
            match char {
                '\r' | '\n' => {
                    if self.here_line_end(char, is_double_quote, &mut value) {
                        return Ok(self.with_parts(Kind::HereExpandable, value, parts));
                    }
                }
                '$' => self.dollar_into(&mut value, &mut parts, true)?,
                '`' => self.escape_into(&mut value)?,
                other => value.push(other),
            }
        }
    }

    /// Reads the rest of the line that starts a here-string, which must be blank.
    fn here_header(&mut self) -> Parse<()> {
        self.skip_blanks();
        let char = self.peek();
        if self.is_at_end() || !matches!(char, '\r' | '\n') {
            return self.fault("text_after_start_of_here_string");
        }
        self.take();
        self.end_line(char);
        Ok(())
    }

    /// Takes a line end inside a here-string. Returns true if the line after it ends the string.
    fn here_line_end(&mut self, char: char, is_quote: fn(char) -> bool, value: &mut String) -> bool {
        let length = value.len();
        value.push(char);
        if char == '\r' && self.take_if('\n') {
            value.push('\n');
        }
        let ends = self.here_footer(is_quote, value);
        if ends {
            value.truncate(length);
        }
        ends
    }

    /// Reads the end of a here-string at the start of a line. If it is not there, only blanks, or a footer behind blanks,
    /// are taken as part of the value.
    fn here_footer(&mut self, is_quote: fn(char) -> bool, value: &mut String) -> bool {
        if is_quote(self.peek()) && self.peek_second() == '@' {
            self.take();
            self.take();
            return true;
        }
        while is_blank(self.peek()) {
            let blank = self.take();
            value.push(blank);
        }
        if is_quote(self.peek()) && self.peek_second() == '@' {
            for _ in 0..2 {
                let char = self.take();
                value.push(char);
            }
        }
        false
    }
}
