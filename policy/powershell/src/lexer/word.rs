//! Words without quotes: names and arguments of commands, parameters, identifiers, labels.

use super::reading::{Strings, Words};
use super::{Lexer, Mode};
use crate::chars::{
    continues_identifier, ends_assembly_part, ends_token, is_blank, is_double_quote, is_letter_or_digit,
    is_single_quote, starts_identifier,
};
use crate::token::{Kind, Token, keyword, operator};
use crate::tree::Parse;

impl Words for Lexer<'_> {
    fn word(&mut self, mut value: String) -> Parse<Token> {
        let mut parts = Vec::new();
        while !ends_token(self.peek()) {
            match self.take() {
                '`' => self.escape_into(&mut value)?,
                quote if is_single_quote(quote) => self.single_quoted_into(&mut value)?,
                quote if is_double_quote(quote) => self.double_quoted_into(&mut value, &mut parts)?,
                '$' => self.dollar_into(&mut value, &mut parts, false)?,
                other => value.push(other),
            }
        }
        Ok(self.with_parts(Kind::Generic, value, parts))
    }

    fn parameter(&mut self, dash: char) -> Parse<Token> {
        let mut name = String::new();
        let mut colon = false;
        loop {
            let char = self.peek();
            match char {
                '{' | '}' | '(' | ')' | ';' | ',' | '|' | '&' | '.' | '[' | '\r' | '\n' | '\0' => break,
                blank if is_blank(blank) => break,
                ':' => {
                    colon = true;
                    if self.in_command() {
                        self.take();
                    }
                    break;
                }
                quote if is_single_quote(quote) || is_double_quote(quote) => {
                    if self.in_command() {
                        name.insert(0, dash);
                        return self.word(name);
                    }
                    break;
                }
                letter if letter.is_ascii_alphabetic() || self.in_command() => {
                    self.take();
                    name.push(letter);
                }
                _ => break,
            }
        }
        if let Some(kind) = operator(&name).filter(|_| self.in_expression()) {
            return Ok(self.token(kind));
        }
        if name.is_empty() {
            return Ok(self.token(Kind::Minus));
        }
        Ok(Token { flag: colon, ..self.valued(Kind::Parameter, name) })
    }

    fn identifier(&mut self) -> Parse<Token> {
        while continues_identifier(self.peek()) {
            self.take();
        }
        if self.mode == Mode::TypeName {
            while matches!(self.peek(), '.' | '`' | '_' | '+' | '#' | '\\') || is_letter_or_digit(self.peek())
            {
                self.take();
            }
            return Ok(self.token(Kind::Identifier));
        }
        let text = self.slice(self.start, self.at);
        if !self.simple_name && self.in_command() && !ends_token(self.peek()) {
            return self.word(text.to_owned());
        }
        let names = !self.simple_name && matches!(self.mode, Mode::Command | Mode::Signature);
        let kind = if names { keyword(text).map(Kind::Keyword) } else { None };
        Ok(self.token(kind.filter(|kind| !is_plain(*kind)).unwrap_or(Kind::Identifier)))
    }

    fn label(&mut self) -> Parse<Token> {
        if !starts_identifier(self.peek()) {
            return self.word(":".to_owned());
        }
        let mut name = String::new();
        while continues_identifier(self.peek()) {
            let char = self.take();
            name.push(char);
        }
        if self.in_command() && !ends_token(self.peek()) {
            return self.word(format!(":{name}"));
        }
        Ok(self.valued(Kind::Label, name))
    }

    fn verbatim(&mut self) -> Token {
        self.skip_blanks();
        self.start = self.at;
        let mut quoted = false;
        loop {
            let char = self.peek();
            let joins = char == '|' || (char == '&' && self.peek_second() == '&');
            if self.is_at_end() || matches!(char, '\r' | '\n') || (joins && !quoted) {
                break;
            }
            quoted ^= is_double_quote(char);
            self.take();
        }
        self.valued(Kind::Generic, self.slice(self.start, self.at).to_owned())
    }

    fn skip_assembly(&mut self) -> bool {
        let mut any = skip_assembly_part(self);
        while self.peek() == ',' {
            self.take();
            any = true;
            skip_assembly_part(self);
            if self.take_if('=') {
                skip_assembly_part(self);
            }
        }
        any
    }
}

/// `inlinescript` is a keyword only in workflows, which PowerShell 7 does not have.
fn is_plain(kind: Kind) -> bool {
    kind == Kind::Keyword(crate::token::Keyword::InlineScript)
}

fn skip_assembly_part(lexer: &mut Lexer<'_>) -> bool {
    lexer.skip_blanks();
    let before = lexer.at;
    while !ends_assembly_part(lexer.peek()) {
        lexer.take();
    }
    let any = lexer.at > before;
    lexer.skip_blanks();
    any
}
