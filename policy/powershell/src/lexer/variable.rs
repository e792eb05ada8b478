//! Variables.

use super::Lexer;
use crate::Parse;
use crate::chars::{ends_token, is_double_quote, is_letter_or_digit, starts_variable};
use crate::token::{Kind, Token};

impl Lexer<'_> {
    /// Reads the variable after `$` or `@`, or the word that only starts like one.
    pub(super) fn variable(&mut self, kind: Kind) -> Parse<Token> {
        self.variable_or_word(kind, false)
    }

    pub(super) fn variable_in_string(&mut self) -> Parse<Token> {
        self.variable_or_word(Kind::Variable, true)
    }

    fn variable_or_word(&mut self, kind: Kind, in_string: bool) -> Parse<Token> {
        if self.peek() == '{' {
            return self.braced(in_string);
        }
        if !starts_variable(self.peek()) {
            return self.word("$".to_owned());
        }
        let first = self.take();
        let mut name = String::from(first);
        if matches!(first, '$' | '?' | '^') {
            if self.in_command() && !ends_token(self.peek()) {
                return self.again_as_word();
            }
        } else if self.rest_of_name(&mut name) {
            return self.again_as_word();
        }
        self.finish(kind, name)
    }

    fn again_as_word(&mut self) -> Parse<Token> {
        self.at = self.start;
        self.word(String::new())
    }

    /// Reads the rest of a name. Returns true if the whole is a word.
    fn rest_of_name(&mut self, name: &mut String) -> bool {
        loop {
            match self.peek() {
                ':' if self.peek_second() == ':' => return false,
                '.' | '[' | '=' => return false,
                char if matches!(char, '_' | '?' | ':') || is_letter_or_digit(char) => {
                    self.take();
                    name.push(char);
                }
                char => return self.in_command() && !ends_token(char),
            }
        }
    }

    /// Reads a variable in braces.
    fn braced(&mut self, in_string: bool) -> Parse<Token> {
        self.take();
        let mut name = String::new();
        loop {
            if self.is_at_end() {
                return self.fault("unterminated_variable");
            }
            let char = self.take();
            match char {
                '}' => break,
                '{' => return self.fault("brace_in_variable"),
                '`' if self.is_at_end() => return self.fault("unterminated_variable"),
                '`' => self.escape_into(&mut name)?,
                quote if in_string && is_double_quote(quote) && is_double_quote(self.peek()) => {
                    let second = self.take();
                    name.push(second);
                }
                other => name.push(other),
            }
        }
        let next = self.peek();
        if self.in_command() && !ends_token(next) && !matches!(next, '.' | '[') {
            return self.again_as_word();
        }
        self.finish(Kind::Variable, name)
    }

    /// Checks that something follows the scope or drive.
    fn finish(&self, kind: Kind, name: String) -> Parse<Token> {
        if name.is_empty() || name.ends_with(':') || name.starts_with(':') {
            return self.fault("invalid_variable");
        }
        Ok(self.valued(kind, name))
    }
}
