//! The kinds of tokens that the lexer reads. They contain one another, so each file reads its own and knows the others from
//! here.

use crate::token::{Kind, Part, Token};
use crate::tree::Parse;

/// Words without quotes.
pub(crate) trait Words {
    /// Reads the rest of a word that starts with this value.
    fn word(&mut self, value: String) -> Parse<Token>;

    /// Reads what follows a dash: a parameter, an operator, or a word.
    fn parameter(&mut self, dash: char) -> Parse<Token>;

    /// Reads the rest of an identifier, keyword, name of a type, or word.
    fn identifier(&mut self) -> Parse<Token>;

    fn label(&mut self) -> Parse<Token>;

    /// Reads the rest of the line after `--%`.
    fn verbatim(&mut self) -> Token;

    /// Skips the name of an assembly. Returns false if there is none.
    fn skip_assembly(&mut self) -> bool;
}

/// Numbers.
pub(crate) trait Numbers {
    /// Reads the number that starts with this character, or the word that only looks like one.
    fn number(&mut self, first: char) -> Parse<Token>;

    /// Reads the characters of a number, and reports whether they are one. The position is then undefined.
    fn is_number(&mut self, first: char) -> bool;
}

/// Operators.
pub(crate) trait Operators {
    /// Returns the operator, or the word that starts with its text.
    fn operator_or_word(&mut self, text: &str, kind: Kind) -> Parse<Token>;

    /// Reads the token that starts with this character, which is not a letter, digit, quote or bracket.
    fn operator(&mut self, char: char) -> Parse<Token>;

    /// Reads the operator that accesses a member, if one follows directly.
    fn member_operator(&mut self, brackets: bool) -> Parse<Option<Token>>;

    /// Reads the bracket that starts arguments of a method, if one follows directly.
    fn invocation_bracket(&mut self) -> Option<Token>;

    /// Reads a `[` that follows after blanks and comments, if one does.
    fn left_bracket(&mut self) -> Parse<Option<Token>>;
}

/// Strings, from the character after the opening quote.
pub(crate) trait Strings {
    fn single_quoted(&mut self) -> Parse<Token>;

    /// Reads the rest of a string in single quotes.
    fn single_quoted_into(&mut self, value: &mut String) -> Parse<()>;

    fn double_quoted(&mut self) -> Parse<Token>;

    /// Reads the rest of a string in double quotes.
    fn double_quoted_into(&mut self, value: &mut String, parts: &mut Vec<Part>) -> Parse<()>;

    /// Reads the character after a backtick.
    fn escape_into(&mut self, value: &mut String) -> Parse<()>;

    /// Returns the character that a backtick and this character stand for.
    fn escaped(&mut self, char: char) -> Parse<char>;

    /// Reads the variable or subexpression after a `$` in a string. Without one, the `$` is a character of the string.
    fn dollar_into(&mut self, value: &mut String, parts: &mut Vec<Part>, here: bool) -> Parse<()>;

    fn here_literal(&mut self) -> Parse<Token>;

    fn here_expandable(&mut self) -> Parse<Token>;
}

/// Variables.
pub(crate) trait Variables {
    /// Reads the variable after `$` or `@`, or the word that only starts like one.
    fn variable(&mut self, kind: Kind) -> Parse<Token>;

    fn variable_in_string(&mut self) -> Parse<Token>;
}
