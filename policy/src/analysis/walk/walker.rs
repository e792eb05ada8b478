//! The state of the walk, and the operations on it that need no knowledge of the tree.

use std::collections::{HashMap, HashSet};

use super::guess::Values;
use crate::analysis::directory::Directory;
use crate::analysis::found::{Analysis, Found};
use crate::decision::{Nesting, Span};
use crate::launch::{self, Launch};
use crate::limits;
use crate::parse::{Assign, Problem, Surroundings, ValueProperties};

/// The state of the walk.
pub(super) struct Walker<'a> {
    pub(super) out: Analysis,
    pub(super) nesting: Vec<Nesting>,
    /// The directory that the shell may be in, and the one after a successful statement.
    pub(super) directory: Directory,
    pub(super) on_success: Directory,
    pub(super) feeding: bool,
    pub(super) launcher: Option<usize>,
    pub(super) shells: usize,
    /// The number of words of all commands so far.
    pub(super) words: usize,
    pub(super) surroundings: Surroundings<'a>,
    pub(super) values: Values,
    /// The output of the preceding part of the pipeline.
    pub(super) piped: Option<Vec<u8>>,
    /// The known prefix of each NUL-terminated word in that output.
    pub(super) found: Vec<u8>,
    /// The function that contains the current statements, and the functions that run their arguments.
    pub(super) function: Option<Vec<u8>>,
    pub(super) passes_arguments: HashSet<Vec<u8>>,
    /// The commands that programs run because of environment variables, until the first command is
    /// found.
    pub(super) by_environment: Vec<Launch>,
    /// The values that the current text assigns to variables, and whether bash splits them as usual.
    pub(super) assigned: HashMap<Vec<u8>, ValueProperties>,
    pub(super) splits_as_usual: bool,
    start_file: StartFile,
}

impl<'a> Walker<'a> {
    pub(super) fn new(start: Directory, surroundings: Surroundings<'a>, environment: Vec<Assign>) -> Self {
        let mut values = Values::default();
        environment.iter().for_each(|assign| values.assigned(assign));
        let by_environment = launch::by_variables(&environment).collect();
        Self {
            out: Analysis { complete: true, environment, ..Analysis::default() },
            nesting: Vec::new(),
            on_success: start.clone(),
            directory: start,
            feeding: false,
            launcher: None,
            shells: 0,
            words: 0,
            surroundings,
            values,
            piped: None,
            found: Vec::new(),
            function: None,
            passes_arguments: HashSet::new(),
            by_environment,
            assigned: HashMap::new(),
            splits_as_usual: true,
            start_file: StartFile::default(),
        }
    }

    /// Adds the command with the current context, and returns its index.
    pub(super) fn push(&mut self, mut found: Found) -> usize {
        let index = self.out.commands.len();
        self.words += found.words.len();
        if index >= limits::MAX_LISTED_COMMANDS || self.words > limits::MAX_LISTED_WORDS {
            self.fail("too_many_commands", found.span);
            return index;
        }
        found.nesting = self.nesting.clone();
        found.launcher = self.launcher;
        found.directory = self.directory.clone();
        found.feeds_arguments = self.feeding;
        self.out.commands.push(found);
        index
    }

    /// Reports whether further commands are not added.
    pub(super) fn is_full(&self) -> bool {
        self.out.commands.len() >= limits::MAX_LISTED_COMMANDS || self.words > limits::MAX_LISTED_WORDS
    }

    /// Marks the text as not understood.
    pub(super) fn fail(&mut self, code: &'static str, span: Span) {
        self.out.complete = false;
        if self.out.problems.len() < limits::MAX_REASONS {
            self.out.problems.push(Problem { code, span });
        }
    }

    /// Runs `inner` inside this construct.
    pub(super) fn within(&mut self, kind: Nesting, inner: impl FnOnce(&mut Self)) {
        self.nesting.push(kind);
        inner(self);
        self.nesting.pop();
    }

    /// Runs `inner` as a subshell, which does not change the directory of its parent.
    pub(super) fn apart(&mut self, inner: impl FnOnce(&mut Self)) {
        let (before, success) = (self.directory.clone(), self.on_success.clone());
        inner(self);
        self.directory = before;
        self.on_success = success;
    }

    /// Records that the text names the start file of a shell, or that it starts an interactive shell.
    pub(super) fn note_start_file(&mut self, named: bool, interactive: bool, span: Span) {
        if self.start_file.note(named, interactive) {
            self.fail("launched_text_unknown", span);
        }
    }
}

/// The file that an interactive `sh` runs before its own text: `ENV` names it, and bash
/// expands the name first. A text that sets the variable and starts such a shell is not
/// complete, in whatever order it does both.
pub(super) const START_FILE_VARIABLE: &[u8] = b"ENV";

/// The parts of this that the text contains so far.
#[derive(Debug, Default)]
struct StartFile {
    is_named: bool,
    has_interactive_shell: bool,
}

impl StartFile {
    /// Records that the text sets the variable, or that it starts an interactive shell. Reports whether the text then
    /// does both.
    fn note(&mut self, named: bool, interactive: bool) -> bool {
        self.is_named |= named;
        self.has_interactive_shell |= interactive;
        (named || interactive) && self.is_named && self.has_interactive_shell
    }
}
