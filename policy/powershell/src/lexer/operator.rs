//! Operators, which are words if a command's word follows.

use super::{END, Lexer};
use crate::Parse;
use crate::chars::{ends_token, is_dash, is_digit, is_letter, starts_identifier};
use crate::token::{Kind, Stream, Token};

impl Lexer<'_> {
    /// Returns the operator, or the word that starts with its text.
    pub(super) fn operator_or_word(&mut self, text: &str, kind: Kind) -> Parse<Token> {
        if self.in_command() && !ends_token(self.peek()) {
            return self.word(text.to_owned());
        }
        Ok(self.token(kind))
    }

    /// Like [`Self::operator_or_word`], for an operator of one character.
    fn sign(&mut self, char: char, kind: Kind) -> Parse<Token> {
        self.operator_or_word(char.encode_utf8(&mut [0; 4]), kind)
    }

    /// Reads a second character, then the operator or word.
    fn pair(&mut self, first: char, kind: Kind) -> Parse<Token> {
        let second = self.take();
        let text: String = [first, second].into_iter().collect();
        self.operator_or_word(&text, kind)
    }

    /// Reads the token that starts with this character, which is not a letter, digit, quote or bracket.
    pub(super) fn operator(&mut self, char: char) -> Parse<Token> {
        let next = self.peek();
        match char {
            '=' => self.sign(char, Kind::Equals),
            '+' if next == '+' => self.pair(char, Kind::PlusPlus),
            '+' | '*' | '/' | '%' if next == '=' => self.pair(char, Kind::Assign),
            '+' if self.starts_number(next) => self.number(char),
            '+' => self.sign(char, Kind::Plus),
            dash if is_dash(dash) => self.dash(dash),
            '*' if next == '>' => Ok(self.all_streams()),
            '*' | '/' | '%' => self.sign(char, Kind::Binary),
            '.' => self.dot(),
            '!' => self.exclamation(),
            ':' => self.colon(),
            '?' if self.in_expression() => Ok(self.question()),
            other => self.word(other.to_string()),
        }
    }

    fn dash(&mut self, dash: char) -> Parse<Token> {
        let next = self.peek();
        if is_dash(next) {
            return self.pair(dash, Kind::MinusMinus);
        }
        if next == '=' {
            return self.pair(dash, Kind::Assign);
        }
        if is_letter(next) || matches!(next, '_' | '?') {
            return self.parameter(dash);
        }
        if self.starts_number(next) {
            return self.number(dash);
        }
        self.sign(dash, Kind::Minus)
    }

    /// Reads the rest of `*>`, `*>>` or `*>&1`.
    fn all_streams(&mut self) -> Token {
        self.take();
        if self.take_if('>') {
            return Token { flag: true, ..self.token(Kind::ToFile(Stream::All)) };
        }
        if self.peek() == '&' && self.peek_second() == '1' {
            self.take();
            self.take();
            return self.token(Kind::Merge(Stream::All, 1));
        }
        self.token(Kind::ToFile(Stream::All))
    }

    fn dot(&mut self) -> Parse<Token> {
        let next = self.peek();
        if next == '.' {
            let second = self.peek_second();
            if self.in_command() && !ends_token(second) {
                return self.word(".".to_owned());
            }
            self.take();
            return Ok(self.token(Kind::Binary));
        }
        if next.is_ascii_digit() {
            return self.number('.');
        }
        // A command after the operator `.` starts with one of these.
        let is_invocation = ends_token(next) || matches!(next, '$' | '"' | '\'');
        if self.in_command() && !is_invocation {
            return self.word(".".to_owned());
        }
        Ok(self.token(Kind::Dot))
    }

    fn exclamation(&mut self) -> Parse<Token> {
        let next = self.peek();
        let command_word = self.in_command() && !ends_token(next);
        if command_word || (self.in_expression() && starts_identifier(next)) {
            return self.word("!".to_owned());
        }
        if self.in_expression() && (is_digit(next) || next == '.') {
            let before = (self.at, self.start);
            self.start = self.at;
            let first = self.take();
            let is_number = self.number_shape(first).is_some();
            (self.at, self.start) = before;
            if !is_number {
                return self.word("!".to_owned());
            }
        }
        Ok(self.token(Kind::Exclaim))
    }

    fn colon(&mut self) -> Parse<Token> {
        if self.take_if(':') {
            if self.in_command() && !self.simple_name && !ends_token(self.peek()) {
                return self.word("::".to_owned());
            }
            return Ok(self.token(Kind::ColonColon));
        }
        if self.in_command() { self.label() } else { Ok(self.token(Kind::Colon)) }
    }

    fn question(&mut self) -> Token {
        if !self.take_if('?') {
            return self.token(Kind::QuestionMark);
        }
        let kind = if self.take_if('=') { Kind::Assign } else { Kind::Binary };
        self.token(kind)
    }

    /// Reads the operator that accesses a member, if one follows directly.
    pub(crate) fn member_operator(&mut self, brackets: bool) -> Parse<Option<Token>> {
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

    /// Reads the bracket that starts arguments of a method, if one follows directly.
    pub(crate) fn invocation_bracket(&mut self) -> Option<Token> {
        let kind = match self.peek() {
            '(' => Kind::LParen,
            '{' => Kind::LCurly,
            _ => return None,
        };
        self.start = self.at;
        self.take();
        Some(self.token(kind))
    }

    /// Reads a `[` that follows after blanks and comments, if one does.
    pub(crate) fn left_bracket(&mut self) -> Parse<Option<Token>> {
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

fn is_space(char: char) -> bool {
    crate::chars::is_blank(char) || matches!(char, '\r' | '\n')
}
