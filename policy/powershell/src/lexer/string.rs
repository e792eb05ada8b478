//! Strings, with the variables and subexpressions in them.

use super::reading::{Strings, Variables};
use super::{END, Lexer};
use crate::chars::{is_blank, is_double_quote, is_single_quote, starts_variable, unescape};
use crate::source::{Map, Text};
use crate::token::{Kind, Part, Token};
use crate::tree::Parse;

impl Strings for Lexer<'_> {
    fn single_quoted(&mut self) -> Parse<Token> {
        let mut value = String::new();
        self.single_quoted_into(&mut value)?;
        Ok(self.valued(Kind::StringLiteral, value))
    }

    fn single_quoted_into(&mut self, value: &mut String) -> Parse<()> {
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

    fn double_quoted(&mut self) -> Parse<Token> {
        let (mut value, mut parts) = (String::new(), Vec::new());
        self.double_quoted_into(&mut value, &mut parts)?;
        Ok(self.with_parts(Kind::StringExpandable, value, parts))
    }

    fn double_quoted_into(&mut self, value: &mut String, parts: &mut Vec<Part>) -> Parse<()> {
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

    fn escape_into(&mut self, value: &mut String) -> Parse<()> {
        if self.is_at_end() {
            value.push('`');
            return Ok(());
        }
        let char = self.take();
        let escaped = self.escaped(char)?;
        value.push(escaped);
        Ok(())
    }

    fn escaped(&mut self, char: char) -> Parse<char> {
        if char == 'u' { unicode_escape(self) } else { Ok(unescape(char)) }
    }

    fn dollar_into(&mut self, value: &mut String, parts: &mut Vec<Part>, here: bool) -> Parse<()> {
        let start = self.at - 1;
        let next = self.peek();
        if next == '(' {
            let text = sub_expression(self, start, here)?;
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

    fn here_literal(&mut self) -> Parse<Token> {
        here_header(self)?;
        let mut value = String::new();
        if here_footer(self, is_single_quote, &mut value) {
            return Ok(self.valued(Kind::HereLiteral, value));
        }
        loop {
            if self.is_at_end() {
                return self.fault("unterminated_string");
            }
            let char = self.take();
            if !matches!(char, '\r' | '\n') {
                value.push(char);
            } else if here_line_end(self, char, is_single_quote, &mut value) {
                return Ok(self.valued(Kind::HereLiteral, value));
            }
        }
    }

    fn here_expandable(&mut self) -> Parse<Token> {
        here_header(self)?;
        let (mut value, mut parts) = (String::new(), Vec::new());
        if here_footer(self, is_double_quote, &mut value) {
            return Ok(self.with_parts(Kind::HereExpandable, value, parts));
        }
        loop {
            if self.is_at_end() {
                return self.fault("unterminated_string");
            }
            let char = self.take();
            match char {
                '\r' | '\n' => {
                    if here_line_end(self, char, is_double_quote, &mut value) {
                        return Ok(self.with_parts(Kind::HereExpandable, value, parts));
                    }
                }
                '$' => self.dollar_into(&mut value, &mut parts, true)?,
                '`' => self.escape_into(&mut value)?,
                other => value.push(other),
            }
        }
    }
}

fn unicode_escape(lexer: &mut Lexer<'_>) -> Parse<char> {
    const LONGEST: usize = 6;
    let digits = |rest: &str| {
        let (digits, _) = rest.strip_prefix('{')?.split_once('}')?;
        let hexadecimal = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        ((1..=LONGEST).contains(&digits.len()) && hexadecimal).then(|| digits.to_owned())
    };
    let Some(digits) = digits(lexer.rest().get(..LONGEST + 2).unwrap_or_else(|| lexer.rest())) else {
        return lexer.fault("invalid_unicode_escape");
    };
    lexer.at += digits.len() + 2;
    match u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32) {
        Some(char) if char != END => Ok(char),
        _ => lexer.fault("invalid_unicode_escape"),
    }
}

/// Reads `$(...)` in a string up to the bracket that closes it. Only brackets count, in quotes or not.
fn sub_expression(lexer: &mut Lexer<'_>, start: usize, here: bool) -> Parse<Text> {
    lexer.take();
    let mut doubled = Vec::new();
    let mut open = 1_usize;
    while open > 0 {
        if lexer.is_at_end() {
            return lexer.fault("unterminated_expression_in_string");
        }
        let before = lexer.at;
        match lexer.take() {
            '(' => open += 1,
            ')' => open -= 1,
            char if (char == '`' || is_double_quote(char)) && !here && is_double_quote(lexer.peek()) => {
                doubled.push(before);
                lexer.take();
            }
            _ => {}
        }
    }
    Ok(without(lexer, start, &doubled))
}

/// Returns the text from here to the current position, without the characters at these offsets.
fn without(lexer: &Lexer<'_>, start: usize, dropped: &[usize]) -> Text {
    let source = lexer.slice(start, lexer.at);
    if dropped.is_empty() {
        let map = match &lexer.map {
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
        offsets.extend(bytes.map(|byte| u32::try_from(lexer.map.offset(byte)).unwrap_or(u32::MAX)));
    }
    offsets.push(u32::try_from(lexer.map.offset(lexer.at)).unwrap_or(u32::MAX));
    Text { text: text.into(), map: Map::Each(offsets.into()) }
}

/// Reads the rest of the line that starts a here-string, which must be blank.
fn here_header(lexer: &mut Lexer<'_>) -> Parse<()> {
    lexer.skip_blanks();
    let char = lexer.peek();
    if lexer.is_at_end() || !matches!(char, '\r' | '\n') {
        return lexer.fault("text_after_start_of_here_string");
    }
    lexer.take();
    lexer.end_line(char);
    Ok(())
}

/// Takes a line end inside a here-string. Returns true if the line after it ends the string.
fn here_line_end(lexer: &mut Lexer<'_>, char: char, is_quote: fn(char) -> bool, value: &mut String) -> bool {
    let length = value.len();
    value.push(char);
    if char == '\r' && lexer.take_if('\n') {
        value.push('\n');
    }
    let ends = here_footer(lexer, is_quote, value);
    if ends {
        value.truncate(length);
    }
    ends
}

/// Reads the end of a here-string at the start of a line. If it is not there, only blanks, or a footer behind blanks,
/// are taken as part of the value.
fn here_footer(lexer: &mut Lexer<'_>, is_quote: fn(char) -> bool, value: &mut String) -> bool {
    if is_quote(lexer.peek()) && lexer.peek_second() == '@' {
        lexer.take();
        lexer.take();
        return true;
    }
    while is_blank(lexer.peek()) {
        let blank = lexer.take();
        value.push(blank);
    }
    if is_quote(lexer.peek()) && lexer.peek_second() == '@' {
        for _ in 0..2 {
            let char = lexer.take();
            value.push(char);
        }
    }
    false
}
