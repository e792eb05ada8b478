//! Every command that a text starts, found at any depth, with what surrounds it.
//! This module finds; it judges nothing.

mod directory;
mod ending;
mod process;
mod spans;
mod walk;

use std::collections::HashSet;

pub(crate) use directory::{Directory, join};

use crate::decision::{Nesting, Span};
use crate::launch::base_name;
use crate::parse::{Assign, Problem, Redir, SpanMap, Surroundings, Word};

/// One command.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found {
    pub(crate) words: Vec<Word>,
    pub(crate) span: Span,
    pub(crate) redirects: Vec<Redir>,
    pub(crate) assignments: Vec<Assign>,
    pub(crate) nesting: Vec<Nesting>,
    /// Index of the command that launches it.
    pub(crate) launcher: Option<usize>,
    /// Whether it is a launcher as harmless as what it runs.
    pub(crate) safe_launcher: bool,
    /// Whether it may launch what could not be made out.
    pub(crate) opaque: bool,
    /// Whether what it launches does not run on this host.
    pub(crate) elsewhere: bool,
    /// Paths it reads as a launcher.
    pub(crate) reads: Vec<Word>,
    /// Text that it gives to PowerShell.
    pub(crate) powershell: Option<Vec<u8>>,
    /// Where it may run.
    pub(crate) directory: Directory,
    /// Whether its output becomes arguments of another command.
    pub(crate) feeds_arguments: bool,
}

impl Found {
    /// The program as it was written.
    pub(crate) fn program(&self) -> Option<&[u8]> {
        self.words.first().and_then(|word| word.text.as_deref())
    }

    /// The program's name, where it is certain what it names: no directory, or one
    /// that nobody but the administrator writes.
    pub(crate) fn trusted_name(&self) -> Option<&[u8]> {
        let program = self.program()?;
        if !program.contains(&b'/') {
            return Some(program);
        }
        let name = base_name(program);
        let directory = program.get(..program.len() - name.len() - 1)?;
        let trusted = crate::tables::names::is_trusted_directory(directory);
        trusted.then_some(name)
    }
}

/// Everything found in a text.
#[derive(Debug, Default)]
pub(crate) struct Analysis {
    pub(crate) commands: Vec<Found>,
    pub(crate) problems: Vec<Problem>,
    /// What looks like something else and is understood.
    pub(crate) notes: Vec<Problem>,
    /// Redirect targets that are read as `/dev/null`.
    pub(crate) nulls: Vec<Span>,
    pub(crate) complete: bool,
    /// Names that the text makes functions or aliases.
    pub(crate) defined: HashSet<Vec<u8>>,
    /// Names that the text makes aliases, of which no more is followed.
    pub(crate) aliases: HashSet<Vec<u8>>,
    /// Variables that the text only ever sets to numbers.
    pub(crate) numeric: HashSet<Vec<u8>>,
    /// Variables that every command finds set, whatever the text says.
    pub(crate) environment: Vec<Assign>,
    /// The commands whose exit code may be the text's own when that is not 0, the last one first.
    /// Empty where that is not known.
    pub(crate) endings: Vec<usize>,
}

impl Analysis {
    /// Finds the commands of a bash text.
    pub(crate) fn of(
        text: &[u8],
        start: &Directory,
        surroundings: Surroundings<'_>,
        environment: Vec<Assign>,
    ) -> Self {
        let script = crate::parse::parse(text, SpanMap::Whole, surroundings);
        let ending = ending::of(&script);
        let mut analysis = walk::walk(script, start.clone(), surroundings, environment);
        analysis.endings =
            ending.and_then(|spans| ending::indices(&spans, &analysis.commands)).unwrap_or_default();
        analysis
    }

    /// The first variable of the environment that is not known to load and run nothing.
    pub(crate) fn unsafe_variable(&self) -> Option<&[u8]> {
        let mut names = self.environment.iter().map(|assign| assign.name.as_slice());
        names.find(|name| !crate::tables::names::is_safe_variable(name))
    }

    /// Where `cat` may be something else, a heredoc given to it is no text.
    fn distrust_cat(&mut self) {
        if !self.defined.contains(&b"cat"[..]) {
            return;
        }
        self.notes.retain(|note| note.code != "safe_heredoc_substitution");
        let words = self.commands.iter_mut().flat_map(|found| &mut found.words);
        words.filter(|word| word.heredoc_text).for_each(|word| word.text = None);
    }

    /// The commands that this one launches itself.
    pub(crate) fn launched_by(&self, launcher: Option<usize>) -> Vec<usize> {
        let commands = self.commands.iter().enumerate();
        commands
            .filter(|(_, found)| launcher.is_some() && found.launcher == launcher)
            .map(|(index, _)| index)
            .collect()
    }

    /// A text that makes aliases and has their names where the shell expands them, or
    /// makes one of a word of the grammar, is not what it seems.
    pub(crate) fn distrust_aliases(&mut self, text: &[u8]) {
        const TABLE: &[u8] = b"BASH_ALIASES";
        let reserved = self.aliases.iter().any(|name| crate::parse::RESERVED.contains(&name.as_slice()));
        let mut programs = self.commands.iter().filter_map(Found::program);
        let by_table = text.windows(TABLE.len()).any(|part| part == TABLE);
        if reserved || by_table || programs.any(|name| self.aliases.contains(name)) {
            self.problems.push(Problem { code: "aliases_not_expanded", span: Span::new(0, text.len()) });
            self.complete = false;
        }
    }

    /// Whether the command is itself, or is launched by, one that `test` accepts.
    pub(crate) fn launcher_chain(&self, index: usize) -> impl Iterator<Item = usize> {
        let mut next = self.commands.get(index).and_then(|found| found.launcher);
        std::iter::from_fn(move || {
            let here = next?;
            next = self.commands.get(here).and_then(|found| found.launcher).filter(|above| *above < here);
            Some(here)
        })
    }
}
