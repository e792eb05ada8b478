//! The tokens of PowerShell, and its words with a meaning.

use crate::source::Text;

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Variable,
    Splat,
    Parameter,
    Number,
    Label,
    Identifier,
    Generic,
    NewLine,
    EndOfInput,
    StringLiteral,
    StringExpandable,
    HereLiteral,
    HereExpandable,
    LParen,
    RParen,
    LCurly,
    RCurly,
    LBracket,
    RBracket,
    AtParen,
    AtCurly,
    DollarParen,
    Semi,
    AndAnd,
    OrOr,
    Ampersand,
    Pipe,
    Comma,
    MinusMinus,
    PlusPlus,
    ColonColon,
    Dot,
    Exclaim,
    Plus,
    Minus,
    /// `=`
    Equals,
    /// An assignment other than `=`.
    Assign,
    /// `>` and its relatives, with the stream.
    ToFile(Stream),
    /// `2>&1`
    Merge(Stream, u8),
    /// `<`
    FromFile,
    QuestionMark,
    QuestionDot,
    QuestionLBracket,
    Colon,
    /// An operator between two operands that has no other use.
    Binary,
    /// `-split`, `-join` and the like: between two operands, or before one.
    BinaryOrUnary,
    /// `-not`, `-bnot`
    Unary,
    Keyword(Keyword),
}

/// An output stream of PowerShell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// `*`
    All,
    /// `1`
    Output,
    /// `2`
    Error,
    /// `3`
    Warning,
    /// `4`
    Verbose,
    /// `5`
    Debug,
    /// `6`
    Information,
}

impl Stream {
    pub(crate) fn of(digit: char) -> Self {
        match digit {
            '1' => Self::Output,
            '2' => Self::Error,
            '3' => Self::Warning,
            '4' => Self::Verbose,
            '5' => Self::Debug,
            '6' => Self::Information,
            _ => Self::All,
        }
    }
}

impl Kind {
    /// Reports whether the token is the same in every mode of the lexer.
    pub(crate) fn is_the_same_in_all_modes(self) -> bool {
        matches!(
            self,
            Self::NewLine
                | Self::EndOfInput
                | Self::StringLiteral
                | Self::StringExpandable
                | Self::HereLiteral
                | Self::HereExpandable
                | Self::LParen
                | Self::RParen
                | Self::LCurly
                | Self::RCurly
                | Self::AtParen
                | Self::AtCurly
                | Self::DollarParen
                | Self::Semi
                | Self::AndAnd
                | Self::OrOr
                | Self::Ampersand
                | Self::Pipe
                | Self::Comma
        )
    }

    pub(crate) fn is_binary(self) -> bool {
        matches!(self, Self::Binary | Self::BinaryOrUnary | Self::Plus | Self::Minus)
    }

    pub(crate) fn is_unary(self) -> bool {
        matches!(
            self,
            Self::Unary
                | Self::BinaryOrUnary
                | Self::Plus
                | Self::Minus
                | Self::Exclaim
                | Self::PlusPlus
                | Self::MinusMinus
                | Self::Comma
        )
    }

    pub(crate) fn is_assignment(self) -> bool {
        matches!(self, Self::Equals | Self::Assign)
    }

    /// Reports whether a command ends before the token.
    pub(crate) fn ends_command(self) -> bool {
        matches!(
            self,
            Self::Pipe
                | Self::RCurly
                | Self::RParen
                | Self::EndOfInput
                | Self::NewLine
                | Self::Semi
                | Self::AndAnd
                | Self::OrOr
                | Self::Ampersand
        )
    }

    pub(crate) fn is_redirection(self) -> bool {
        matches!(self, Self::ToFile(_) | Self::Merge(..) | Self::FromFile)
    }
}

/// A token. Its offsets are those of the text that is being read.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// The value of a string or word, and the name of a variable, parameter or label.
    pub(crate) value: String,
    /// The parts of a string or word that are expanded.
    pub(crate) parts: Vec<Part>,
    /// Whether a parameter ends with a colon, or a redirection appends.
    pub(crate) flag: bool,
}

/// A part of a string that is expanded.
#[derive(Debug, Clone)]
pub(crate) enum Part {
    Variable {
        name: String,
        /// The length of the value before the part.
        lead: usize,
    },
    Expression {
        text: Text,
        lead: usize,
    },
}

macro_rules! keywords {
    ($($name:ident $text:literal,)*) => {
        /// A word with a meaning at the start of a statement or in its own place.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Keyword { $($name,)* }

        const KEYWORDS: &[(&str, Keyword)] = &[$(($text, Keyword::$name),)*];
    };
}

keywords! {
    Assembly "assembly",
    Base "base",
    Begin "begin",
    Break "break",
    Catch "catch",
    Class "class",
    Clean "clean",
    Command "command",
    Configuration "configuration",
    Continue "continue",
    Data "data",
    Define "define",
    Do "do",
    DynamicParam "dynamicparam",
    Else "else",
    ElseIf "elseif",
    End "end",
    Enum "enum",
    Exit "exit",
    Filter "filter",
    Finally "finally",
    For "for",
    ForEach "foreach",
    From "from",
    Function "function",
    Hidden "hidden",
    If "if",
    In "in",
    InlineScript "inlinescript",
    Interface "interface",
    Module "module",
    Namespace "namespace",
    Parallel "parallel",
    Param "param",
    Private "private",
    Process "process",
    Public "public",
    Return "return",
    Sequence "sequence",
    Static "static",
    Switch "switch",
    Throw "throw",
    Trap "trap",
    Try "try",
    Type "type",
    Until "until",
    Using "using",
    Var "var",
    While "while",
    Workflow "workflow",
}

/// Returns the keyword. The comparison ignores case.
pub(crate) fn keyword(word: &str) -> Option<Keyword> {
    const LONGEST: usize = 13;
    if word.len() > LONGEST {
        return None;
    }
    let folded = word.to_ascii_lowercase();
    let at = KEYWORDS.binary_search_by(|(text, _)| (*text).cmp(folded.as_str())).ok()?;
    KEYWORDS.get(at).map(|(_, keyword)| *keyword)
}

/// Operators of two operands that compare, without the prefix that determines the case.
const COMPARISONS: &[&str] = &[
    "contains",
    "eq",
    "ge",
    "gt",
    "in",
    "le",
    "like",
    "lt",
    "match",
    "ne",
    "notcontains",
    "notin",
    "notlike",
    "notmatch",
    "replace",
];
const OTHERS: &[&str] = &["and", "as", "band", "bor", "bxor", "f", "is", "isnot", "or", "shl", "shr", "xor"];

/// Returns the kind of the operator that a dash and this name stand for.
pub(crate) fn operator(name: &str) -> Option<Kind> {
    let folded = name.to_ascii_lowercase();
    let name = folded.as_str();
    match name {
        "not" | "bnot" => return Some(Kind::Unary),
        "split" | "isplit" | "csplit" | "join" => return Some(Kind::BinaryOrUnary),
        _ => {}
    }
    let base = name.strip_prefix(['i', 'c']).unwrap_or_default();
    let known = |list: &[&str], name| list.binary_search(&name).is_ok();
    (known(OTHERS, name) || known(COMPARISONS, name) || known(COMPARISONS, base)).then_some(Kind::Binary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted() {
        assert!(KEYWORDS.is_sorted_by_key(|(text, _)| *text));
        assert!(COMPARISONS.is_sorted());
        assert!(OTHERS.is_sorted());
    }

    #[test]
    fn operators_ignore_case_and_know_their_prefixes() {
        assert_eq!(operator("EQ"), Some(Kind::Binary));
        assert_eq!(operator("cnotlike"), Some(Kind::Binary));
        assert_eq!(operator("isNot"), Some(Kind::Binary));
        assert_eq!(operator("iand"), None);
        assert_eq!(operator("Split"), Some(Kind::BinaryOrUnary));
    }
}
