//! Properties of the values that the text assigns to variables. They show whether an expansion is a number, the name of
//! a variable, or a word that is not a flag. One unknown value makes all values of the variable unknown.

use crate::decision::Span;

/// Properties that every value of a variable has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ValueProperties {
    /// Each value is a plain decimal number.
    pub(crate) numeric: bool,
    /// No value is a flag or empty, provided it stays one word.
    pub(crate) no_flag: bool,
    /// Each value stays one word when bash splits it.
    pub(crate) unsplit: bool,
    /// Each value is the name of a variable.
    pub(crate) name: bool,
    /// No value is the name of a variable that must not be read.
    pub(crate) readable: bool,
}

/// A use of `${!NAME}`.
#[derive(Debug)]
pub(super) struct IndirectRead {
    pub(super) name: Vec<u8>,
    /// Whether the named variable's value becomes part of the word, or only whether it is set.
    pub(super) value_is_used: bool,
    pub(super) span: Span,
}

impl ValueProperties {
    /// Any value.
    pub(super) const UNKNOWN: Self =
        Self { numeric: false, no_flag: false, unsplit: false, name: false, readable: false };
    /// Numbers, which may be negative.
    pub(super) const NUMBER: Self = Self { numeric: true, ..Self::UNKNOWN };

    /// Returns the properties that both have.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            numeric: self.numeric && other.numeric,
            no_flag: self.no_flag && other.no_flag,
            unsplit: self.unsplit && other.unsplit,
            name: self.name && other.name,
            readable: self.readable && other.readable,
        }
    }
}
