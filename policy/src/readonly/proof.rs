//! The result of a proof: the paths that a command reads, or the reason why it is refused.

use crate::decision::{Access, Span};
use crate::parse::Word;

/// The reason why a command is not proven read-only.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) span: Span,
}

impl Refusal {
    pub(crate) fn new(code: &'static str, message: impl Into<String>, span: Span) -> Self {
        Self { code, message: message.into(), span }
    }
}

/// A word that names a path, and the access to it.
#[derive(Debug, Clone)]
pub(crate) struct PathWord {
    pub(crate) word: Word,
    pub(crate) access: Access,
}

impl PathWord {
    pub(crate) fn new(word: &Word, access: Access) -> Self {
        Self { word: word.clone(), access }
    }

    pub(crate) fn read(word: &Word) -> Self {
        Self::new(word, Access::Read)
    }
}

pub(crate) type Proof = Result<Vec<PathWord>, Refusal>;

/// Reports whether a word in a position that is not a path's could refer to a path elsewhere.
pub(crate) fn looks_like_path(word: &Word) -> bool {
    word.foreign_home || word.lead.starts_with(b"/") || word.lead.windows(2).any(|pair| pair == b"..")
}
