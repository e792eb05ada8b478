//! Variables.

use super::Lexer;
use super::reading::{Strings, Variables, Words};
use crate::chars::{ends_token, is_double_quote, is_letter_or_digit, starts_variable};
use crate::token::{Kind, Token};
use crate::tree::Parse;

impl Variables for Lexer<'_> {
    fn variable(&mut self, kind: Kind) -> Parse<Token> {
        variable_or_word(self, kind, false)
    }

    fn variable_in_string(&mut self) -> Parse<Token> {
        variable_or_word(self, Kind::Variable, true)
    }
}

fn variable_or_word(lexer: &mut Lexer<'_>, kind: Kind, in_string: bool) -> Parse<Token> {
    if lexer.peek() == '{' {
        return braced(lexer, in_string);
    }
    if !starts_variable(lexer.peek()) {
        return lexer.word("$".to_owned());
    }
    let first = lexer.take();
    let mut name = String::from(first);
    if matches!(first, '$' | '?' | '^') {
        if lexer.in_command() && !ends_token(lexer.peek()) {
            return again_as_word(lexer);
        }
    } else if rest_of_name(lexer, &mut name) {
        return again_as_word(lexer);
    }
    finish(lexer, kind, name)
}

fn again_as_word(lexer: &mut Lexer<'_>) -> Parse<Token> {
    lexer.at = lexer.start;
    lexer.word(String::new())
}

/// Reads the rest of a name. Returns true if the whole is a word.
fn rest_of_name(lexer: &mut Lexer<'_>, name: &mut String) -> bool {
    loop {
        match lexer.peek() {
            ':' if lexer.peek_second() == ':' => return false,
            '.' | '[' | '=' => return false,
            char if matches!(char, '_' | '?' | ':') || is_letter_or_digit(char) => {
                lexer.take();
                name.push(char);
            }
            char => return lexer.in_command() && !ends_token(char),
        }
    }
}

/// Reads a variable in braces.
fn braced(lexer: &mut Lexer<'_>, in_string: bool) -> Parse<Token> {
    lexer.take();
    let mut name = String::new();
    loop {
        if lexer.is_at_end() {
            return lexer.fault("unterminated_variable");
        }
        let char = lexer.take();
        match char {
            '}' => break,
            '{' => return lexer.fault("brace_in_variable"),
            '`' if lexer.is_at_end() => return lexer.fault("unterminated_variable"),
            '`' => lexer.escape_into(&mut name)?,
            quote if in_string && is_double_quote(quote) && is_double_quote(lexer.peek()) => {
                let second = lexer.take();
                name.push(second);
            }
            other => name.push(other),
        }
    }
    let next = lexer.peek();
    if lexer.in_command() && !ends_token(next) && !matches!(next, '.' | '[') {
        return again_as_word(lexer);
    }
    finish(lexer, Kind::Variable, name)
}

/// Checks that something follows the scope or drive.
fn finish(lexer: &Lexer<'_>, kind: Kind, name: String) -> Parse<Token> {
    if name.is_empty() || name.ends_with(':') || name.starts_with(':') {
        return lexer.fault("invalid_variable");
    }
    Ok(lexer.valued(kind, name))
}
