//! The pieces of a word, between its bytes and its value.

/// The kind of a region of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// A word of a command: braces, globs and word splitting apply.
    Argument,
    /// The value of an assignment, to which none of these applies.
    Value,
    /// Text in which separators are ordinary characters: a pattern, arithmetic.
    Loose,
    /// Text as inside double quotes: a heredoc's body.
    Quoted,
}

/// One byte or one expansion of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    Byte {
        byte: u8,
        quoted: bool,
    },
    /// An expansion; `one` if it cannot become zero or several words.
    Unknown {
        one: bool,
    },
    /// An empty pair of quotes: no text, but still a word.
    Empty,
}
