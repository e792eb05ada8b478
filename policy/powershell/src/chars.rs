//! The classes of characters that PowerShell's lexer distinguishes. PowerShell reads UTF-16, so a character outside the
//! basic plane is neither a letter nor a space for it. Each function that takes the end of the text sees it as NUL.

use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

/// Reports whether the character separates tokens on one line.
pub(crate) fn is_blank(char: char) -> bool {
    match char {
        ' ' | '\t' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{a0}' => true,
        char if char <= '\u{100}' => false,
        char => char.general_category_group() == GeneralCategoryGroup::Separator,
    }
}

/// Reports whether the character is a dash for PowerShell.
pub(crate) fn is_dash(char: char) -> bool {
    matches!(char, '-' | '\u{2013}' | '\u{2014}' | '\u{2015}')
}

/// Reports whether the character is a single quote for PowerShell.
pub(crate) fn is_single_quote(char: char) -> bool {
    matches!(char, '\'' | '\u{2018}'..='\u{201b}')
}

/// Reports whether the character is a double quote for PowerShell.
pub(crate) fn is_double_quote(char: char) -> bool {
    matches!(char, '"' | '\u{201c}' | '\u{201d}' | '\u{201e}')
}

pub(crate) fn is_letter(char: char) -> bool {
    if char.is_ascii() {
        return char.is_ascii_alphabetic();
    }
    char <= '\u{ffff}' && char.general_category_group() == GeneralCategoryGroup::Letter
}

/// Reports whether the character is a decimal digit of any script.
pub(crate) fn is_digit(char: char) -> bool {
    if char.is_ascii() {
        return char.is_ascii_digit();
    }
    char <= '\u{ffff}' && char.general_category() == GeneralCategory::DecimalNumber
}

pub(crate) fn is_letter_or_digit(char: char) -> bool {
    is_letter(char) || is_digit(char)
}

/// Reports whether a variable without braces can start with the character.
pub(crate) fn starts_variable(char: char) -> bool {
    matches!(char, '$' | ':' | '?' | '^' | '_') || is_letter_or_digit(char)
}

pub(crate) fn starts_identifier(char: char) -> bool {
    char == '_' || is_letter(char)
}

pub(crate) fn continues_identifier(char: char) -> bool {
    char == '_' || is_letter_or_digit(char)
}

/// Reports whether the character ends every token without quotes.
pub(crate) fn ends_token(char: char) -> bool {
    match char {
        '\0' | '\n' | '\r' | '&' | '(' | ')' | ',' | ';' | '{' | '|' | '}' => true,
        char => is_blank(char),
    }
}

/// Reports whether the character ends a number in an expression. In a ternary, `?` and `:` also do.
pub(crate) fn ends_number(char: char, in_ternary: bool) -> bool {
    match char {
        '!' | '#' | '%' | '*' | '+' | '.' | '/' | '<' | '=' | '>' | ']' => true,
        '?' | ':' => in_ternary,
        char => is_dash(char),
    }
}

/// Reports whether the character ends a part of an assembly's name.
pub(crate) fn ends_assembly_part(char: char) -> bool {
    matches!(char, '\0' | '\n' | '\r' | ',' | '=' | ']') || is_blank(char)
}

/// Returns the character that a backtick and this character stand for; `u` is not decided here.
pub(crate) fn unescape(char: char) -> char {
    match char {
        '0' => '\0',
        'a' => '\u{7}',
        'b' => '\u{8}',
        'e' => '\u{1b}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        other => other,
    }
}
