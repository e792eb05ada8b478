//! Operators, which are words if a command's word follows.

use super::reading::{Numbers, Operators, Words};
use super::{END, Lexer};
use crate::chars::{ends_token, is_dash, is_digit, is_letter, starts_identifier};
use crate::token::{Kind, Stream, Token};
use crate::tree::Parse;

impl Operators for Lexer<'_> {
    fn operator_or_word(&mut self, text: &str, kind: Kind) -> Parse<Token> {
        if self.in_command() && !ends_token(self.peek()) {
            return self.word(text.to_owned());
        }
        Ok(self.token(kind))
    }

    fn operator(&mut self, char: char) -> Parse<Token> {
        let next = self.peek();
        match char {
            '=' => sign(self, char, Kind::Equals),
            '+' if next == '+' => pair(self, char, Kind::PlusPlus),
            '+' | '*' | '/' | '%' if next == '=' => pair(self, char, Kind::Assign),
            '+' if self.starts_number(next) => self.number(char),
            '+' => sign(self, char, Kind::Plus),
            char if is_dash(char) => dash(self, char),
            '*' if next == '>' => Ok(all_streams(self)),
            '*' | '/' | '%' => sign(self, char, Kind::Binary),
            '.' => dot(self),
            '!' => exclamation(self),
            ':' => colon(self),
            '?' if self.in_expression() => Ok(question(self)),
            other => self.word(other.to_string()),
        }
    }

    fn member_operator(&mut self, brackets: bool) -> Parse<Option<Token>> {
        self.start = self.at;
        while self.peek() == '<' && self.peek_second() == '#' {
            self.start = self.at;
            self.take();
            self.skip_block_comment()?;
        }
        self.start = self.at;
        let (next, second) = (self.peek(), self.peek_second());
        let third = self.rest().chars().nth(2).unwrap_or(END);
        let ends_word = |char: char| self.in_command() && (is_space(char) || char == END);
        let kind = match next {
            '.' if second != '.' && !ends_word(second) => Kind::Dot,
            ':' if second == ':' && !ends_word(third) => Kind::ColonColon,
            '[' if brackets => Kind::LBracket,
            '?' if second == '.' => Kind::QuestionDot,
            '?' if second == '[' && brackets => Kind::QuestionLBracket,
            _ => return Ok(None),
        };
        self.take();
        if matches!(kind, Kind::ColonColon | Kind::QuestionDot | Kind::QuestionLBracket) {
            self.take();
        }
        Ok(Some(self.token(kind)))
    }

    fn invocation_bracket(&mut self) -> Option<Token> {
        let kind = match self.peek() {
            '(' => Kind::LParen,
            '{' => Kind::LCurly,
            _ => return None,
        };
        self.start = self.at;
        self.take();
        Some(self.token(kind))
    }

    fn left_bracket(&mut self) -> Parse<Option<Token>> {
        let before = self.at;
        let mut blanks_since_comment = false;
        loop {
            self.start = self.at;
            match self.peek() {
                '#' => {
                    blanks_since_comment = true;
                    self.take();
                    self.skip_line_comment();
                }
                '<' if self.peek_second() == '#' => {
                    blanks_since_comment = false;
                    self.take();
                    self.skip_block_comment()?;
                }
                '[' => {
                    self.take();
                    return Ok(Some(self.token(Kind::LBracket)));
                }
                '.' | ':' if blanks_since_comment => {
                    self.at = before;
                    return Ok(None);
                }
                blank if crate::chars::is_blank(blank) => {
                    blanks_since_comment = true;
                    self.skip_blanks();
                }
                _ => return Ok(None),
            }
        }
    }
}

/// Like [`Operators::operator_or_word`], for an operator of one character.
fn sign(lexer: &mut Lexer<'_>, char: char, kind: Kind) -> Parse<Token> {
    lexer.operator_or_word(char.encode_utf8(&mut [0; 4]), kind)
}

/// Reads a second character, then the operator or word.
fn pair(lexer: &mut Lexer<'_>, first: char, kind: Kind) -> Parse<Token> {
    let second = lexer.take();
    let text: String = [first, second].into_iter().collect();
    lexer.operator_or_word(&text, kind)
}

fn dash(lexer: &mut Lexer<'_>, dash: char) -> Parse<Token> {
    let next = lexer.peek();
    if is_dash(next) {
        return pair(lexer, dash, Kind::MinusMinus);
    }
    if next == '=' {
        return pair(lexer, dash, Kind::Assign);
    }
    if is_letter(next) || matches!(next, '_' | '?') {
        return lexer.parameter(dash);
    }
    if lexer.starts_number(next) {
        return lexer.number(dash);
    }
    sign(lexer, dash, Kind::Minus)
}

/// Reads the rest of `*>`, `*>>` or `*>&1`.
fn all_streams(lexer: &mut Lexer<'_>) -> Token {
    lexer.take();
    if lexer.take_if('>') {
        return Token { flag: true, ..lexer.token(Kind::ToFile(Stream::All)) };
    }
    if lexer.peek() == '&' && lexer.peek_second() == '1' {
        lexer.take();
        lexer.take();
        return lexer.token(Kind::Merge(Stream::All, 1));
    }
    lexer.token(Kind::ToFile(Stream::All))
}

fn dot(lexer: &mut Lexer<'_>) -> Parse<Token> {
    let next = lexer.peek();
    if next == '.' {
        let second = lexer.peek_second();
        if lexer.in_command() && !ends_token(second) {
            return lexer.word(".".to_owned());
        }
        lexer.take();
        return Ok(lexer.token(Kind::Binary));
    }
    if next.is_ascii_digit() {
        return lexer.number('.');
    }
    // A command after the operator `.` starts with one of these.
    let is_invocation = ends_token(next) || matches!(next, '$' | '"' | '\'');
    if lexer.in_command() && !is_invocation {
        return lexer.word(".".to_owned());
    }
    Ok(lexer.token(Kind::Dot))
}

fn exclamation(lexer: &mut Lexer<'_>) -> Parse<Token> {
    let next = lexer.peek();
    let command_word = lexer.in_command() && !ends_token(next);
    if command_word || (lexer.in_expression() && starts_identifier(next)) {
        return lexer.word("!".to_owned());
    }
    if lexer.in_expression() && (is_digit(next) || next == '.') {
        let before = (lexer.at, lexer.start);
        lexer.start = lexer.at;
        let first = lexer.take();
        let is_number = lexer.is_number(first);
        (lexer.at, lexer.start) = before;
        if !is_number {
            return lexer.word("!".to_owned());
        }
    }
    Ok(lexer.token(Kind::Exclaim))
}

fn colon(lexer: &mut Lexer<'_>) -> Parse<Token> {
    if lexer.take_if(':') {
        if lexer.in_command() && !lexer.simple_name && !ends_token(lexer.peek()) {
            return lexer.word("::".to_owned());
        }
        return Ok(lexer.token(Kind::ColonColon));
    }
    if lexer.in_command() { lexer.label() } else { Ok(lexer.token(Kind::Colon)) }
}

fn question(lexer: &mut Lexer<'_>) -> Token {
    if !lexer.take_if('?') {
        return lexer.token(Kind::QuestionMark);
    }
    let kind = if lexer.take_if('=') { Kind::Assign } else { Kind::Binary };
    lexer.token(kind)
}

fn is_space(char: char) -> bool {
    crate::chars::is_blank(char) || matches!(char, '\r' | '\n')
}
