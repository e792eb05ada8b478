//! The commands and texts that a command launches, as types. They contain no knowledge about programs.

use crate::decision::Span;
use crate::parse::{Assign, Word};

/// One launched command or text.
#[derive(Debug)]
pub(crate) enum Launch {
    /// A command, with the assignments before it.
    Command { words: Vec<Word>, assignments: Vec<Assign> },
    /// Text for a shell; `None` if it is unknown.
    Text(Option<Vec<u8>>, Span),
}

impl Launch {
    pub(super) fn command(words: Vec<Word>) -> Self {
        Self::Command { words, assignments: Vec::new() }
    }

    pub(super) fn text(word: &Word) -> Self {
        Self::Text(word.text.clone(), word.span)
    }
}

/// Everything that a command launches.
#[derive(Debug, Default)]
pub(crate) struct Launches {
    pub(crate) launches: Vec<Launch>,
    /// Whether the program is a launcher that is harmless if its command is.
    pub(crate) safe: bool,
    /// Whether the program may launch something that could not be determined.
    pub(crate) opaque: bool,
    /// Whether it runs its standard input.
    pub(crate) runs_input: bool,
    /// PowerShell text that it runs.
    pub(crate) powershell: Option<PowerShell>,
    /// Whether the shell is interactive and runs the file that `ENV` names.
    pub(crate) interactive: bool,
    /// Whether the shell itself runs the contents of a file.
    pub(crate) unseen: bool,
    /// Whether the launched command runs on another host.
    pub(crate) elsewhere: bool,
    /// Paths that the launcher itself reads.
    pub(crate) reads: Vec<Word>,
}

impl Launches {
    pub(super) fn one(launch: Launch) -> Self {
        Self { launches: vec![launch], ..Self::default() }
    }

    pub(super) fn opaque() -> Self {
        Self { opaque: true, ..Self::default() }
    }

    pub(super) fn input() -> Self {
        Self { runs_input: true, ..Self::default() }
    }
}

/// PowerShell text in a command.
#[derive(Debug)]
pub(crate) struct PowerShell {
    /// The text of `-Command` or `-EncodedCommand`.
    pub(crate) script: Option<(Vec<u8>, Span)>,
    /// Whether that text is all that runs. Otherwise a profile may run first.
    pub(crate) is_all: bool,
    /// The known words of the command, joined.
    pub(crate) text: Vec<u8>,
    /// Whether it may also run its standard input.
    pub(crate) reads_input: bool,
}
