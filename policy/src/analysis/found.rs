//! The commands that were found in a text, each with its context.

use std::collections::{HashMap, HashSet};

use super::directory::Directory;
use crate::decision::{Nesting, Span};
use crate::launch::base_name;
use crate::parse::{Assign, Problem, RESERVED, Redir, Word};
use crate::powershell::Call;
use crate::tables::names::{is_safe_variable, is_trusted_directory};

/// One command.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found {
    pub(crate) words: Vec<Word>,
    pub(crate) span: Span,
    pub(crate) redirects: Vec<Redir>,
    pub(crate) assignments: Vec<Assign>,
    pub(crate) nesting: Vec<Nesting>,
    /// The index of the command that launches it.
    pub(crate) launcher: Option<usize>,
    /// Whether it is a launcher that is as harmless as its command.
    pub(crate) safe_launcher: bool,
    /// Whether it may launch a command that could not be determined.
    pub(crate) opaque: bool,
    /// Whether its command runs on another host.
    pub(crate) elsewhere: bool,
    /// Paths that it reads as a launcher.
    pub(crate) reads: Vec<Word>,
    /// The text that it passes to PowerShell.
    pub(crate) powershell: Option<Vec<u8>>,
    /// How PowerShell reads it, if PowerShell runs it.
    pub(crate) in_powershell: Option<Box<InPowerShell>>,
    /// The directory in which it may run.
    pub(crate) directory: Directory,
    /// Whether its output becomes arguments of another command.
    pub(crate) feeds_arguments: bool,
}

/// A command that PowerShell runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct InPowerShell {
    /// Its elements as written, with the value of each string.
    pub(crate) elements: Vec<(Option<String>, Span)>,
    /// The call, if it is a cmdlet.
    pub(crate) call: Option<Call>,
    /// The words with each name that a rule may use for it, in lower case.
    pub(crate) readings: Vec<Vec<Word>>,
    /// Whether the text defines a function with its name.
    pub(crate) is_function: bool,
    /// The call that a program's name stands for on Windows, if it changes something.
    pub(crate) on_windows: Option<Call>,
    /// The parts of its pipeline before it, if the command changes the items that they pass to it.
    pub(crate) fed: Option<Fed>,
    /// Whether everything that it runs is a part of the text: it calls a function that the text certainly defines, or
    /// it only reads files.
    pub(crate) is_own_code: bool,
}

/// The parts of a pipeline before a command.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fed {
    /// The indices of their commands.
    pub(crate) commands: Vec<usize>,
    /// The text of an expression.
    pub(crate) text: String,
}

/// A call of a static method of .NET that may change a file.
#[derive(Debug, Clone)]
pub(crate) struct MethodCall {
    /// `type::method`, in lower case and without `system.`.
    pub(crate) name: String,
    pub(crate) arguments: Vec<Word>,
    pub(crate) span: Span,
    pub(crate) directory: Directory,
}

impl Found {
    /// Returns the call of a cmdlet, if it is one.
    pub(crate) fn call(&self) -> Option<&Call> {
        self.in_powershell.as_ref()?.call.as_ref()
    }

    /// Returns the name as a PowerShell text has it, if it is constant.
    pub(crate) fn written_name(&self) -> Option<&[u8]> {
        let (name, _) = self.in_powershell.as_ref()?.elements.first()?;
        name.as_deref().map(str::as_bytes)
    }

    /// Returns the call of the cmdlet that it is, or that its name stands for on Windows.
    pub(crate) fn call_anywhere(&self) -> Option<&Call> {
        let own = self.in_powershell.as_ref()?;
        own.call.as_ref().or(own.on_windows.as_ref())
    }

    /// Returns the program's name in lower case, without directory and `.exe`.
    pub(crate) fn folded_program(&self) -> String {
        let name = self.program().map(base_name).unwrap_or_default();
        let lower = String::from_utf8_lossy(name).to_ascii_lowercase();
        lower.strip_suffix(".exe").map(str::to_owned).unwrap_or(lower)
    }

    /// Returns the names that PowerShell may resolve, and that of the program, in lower case.
    pub(crate) fn folded_names(&self) -> Vec<String> {
        let readings =
            self.in_powershell.iter().flat_map(|own| &own.readings).filter_map(|words| words.first());
        let known =
            readings.filter_map(|name| Some(String::from_utf8_lossy(name.text.as_deref()?).into_owned()));
        let mut names: Vec<String> = known.collect();
        let program = self.folded_program();
        if !names.contains(&program) {
            names.push(program);
        }
        names
    }

    /// Reports whether PowerShell itself runs it, and the text shows everything that it runs.
    pub(crate) fn calls_own_code(&self) -> bool {
        self.in_powershell.as_ref().is_some_and(|own| own.is_own_code)
    }

    /// Returns the program as it was written.
    pub(crate) fn program(&self) -> Option<&[u8]> {
        self.words.first().and_then(|word| word.text.as_deref())
    }

    /// Returns the program's name if its meaning is certain: it has no directory, or one that only
    /// the administrator can write.
    pub(crate) fn trusted_name(&self) -> Option<&[u8]> {
        let program = self.program()?;
        if !program.contains(&b'/') {
            return Some(program);
        }
        let name = base_name(program);
        let directory = program.get(..program.len() - name.len() - 1)?;
        let trusted = is_trusted_directory(directory);
        trusted.then_some(name)
    }
}

/// Everything that was found in a text.
#[derive(Debug, Default)]
pub(crate) struct Analysis {
    pub(crate) commands: Vec<Found>,
    pub(crate) problems: Vec<Problem>,
    /// Text that is understood although it resembles something dangerous.
    pub(crate) notes: Vec<Problem>,
    /// Redirect targets that are read as `/dev/null`.
    pub(crate) nulls: Vec<Span>,
    pub(crate) complete: bool,
    /// Names that the text defines as functions or aliases.
    pub(crate) defined: HashSet<Vec<u8>>,
    /// The functions that PowerShell texts define, in lower case.
    pub(crate) defined_in_powershell: HashSet<Vec<u8>>,
    /// Names that the text defines as aliases. Their use is not followed.
    pub(crate) aliases: HashSet<Vec<u8>>,
    /// Variables that the text only sets to numbers.
    pub(crate) numeric: HashSet<Vec<u8>>,
    /// Variables of the environment of every command.
    pub(crate) environment: Vec<Assign>,
    /// Whether a part that is understood may run commands that were not found.
    pub(crate) hides: bool,
    /// The parts of PowerShell texts that run something that the text gets from another host.
    pub(crate) executed_downloads: Vec<Span>,
    /// The static methods that PowerShell texts call.
    pub(crate) methods: Vec<MethodCall>,
    /// The strings that PowerShell texts assign to variables, by the variable in lower case.
    pub(crate) constants: HashMap<String, Vec<String>>,
    /// The commands that may determine a nonzero exit code of the text, the last one first. Empty
    /// if they are unknown.
    pub(crate) endings: Vec<usize>,
}

impl Analysis {
    /// Returns the first variable of the environment that is not known to be harmless.
    pub(crate) fn unsafe_variable(&self) -> Option<&[u8]> {
        let mut names = self.environment.iter().map(|assign| assign.name.as_slice());
        names.find(|name| !is_safe_variable(name))
    }

    /// If `cat` is redefined, a heredoc for it is not plain text.
    pub(super) fn distrust_cat(&mut self) {
        if !self.defined.contains(&b"cat"[..]) {
            return;
        }
        self.notes.retain(|note| note.code != "safe_heredoc_substitution");
        let words = self.commands.iter_mut().flat_map(|found| &mut found.words);
        words.filter(|word| word.heredoc_text).for_each(|word| word.text = None);
    }

    /// Returns the commands that this one launches directly.
    pub(crate) fn launched_by(&self, launcher: Option<usize>) -> Vec<usize> {
        let commands = self.commands.iter().enumerate();
        commands
            .filter(|(_, found)| launcher.is_some() && found.launcher == launcher)
            .map(|(index, _)| index)
            .collect()
    }

    /// Marks the text as not understood if it uses the aliases that it defines, or redefines a
    /// reserved word.
    pub(crate) fn distrust_aliases(&mut self, text: &[u8]) {
        const TABLE: &[u8] = b"BASH_ALIASES";
        let reserved = self.aliases.iter().any(|name| RESERVED.contains(&name.as_slice()));
        let mut programs = self.commands.iter().filter_map(Found::program);
        let by_table = text.windows(TABLE.len()).any(|part| part == TABLE);
        if reserved || by_table || programs.any(|name| self.aliases.contains(name)) {
            self.problems.push(Problem { code: "aliases_not_expanded", span: Span::new(0, text.len()) });
            self.complete = false;
        }
    }

    /// Returns the launchers of a command, nearest first.
    pub(crate) fn launcher_chain(&self, index: usize) -> impl Iterator<Item = usize> {
        let mut next = self.commands.get(index).and_then(|found| found.launcher);
        std::iter::from_fn(move || {
            let here = next?;
            next = self.commands.get(here).and_then(|found| found.launcher).filter(|above| *above < here);
            Some(here)
        })
    }

    /// Maps every span.
    pub(crate) fn map_spans(&mut self, to: impl Fn(Span) -> Span) {
        self.commands.iter_mut().for_each(|found| map_command(found, &to));
        for problem in self.problems.iter_mut().chain(&mut self.notes) {
            problem.span = to(problem.span);
        }
        let methods = self.methods.iter_mut().map(|call| &mut call.span);
        for span in self.nulls.iter_mut().chain(&mut self.executed_downloads).chain(methods) {
            *span = to(*span);
        }
    }
}

fn map_command(found: &mut Found, to: &impl Fn(Span) -> Span) {
    found.span = to(found.span);
    found.words.iter_mut().chain(&mut found.reads).for_each(|part| map_word(part, to));
    for assign in &mut found.assignments {
        assign.span = to(assign.span);
        assign.values.iter_mut().for_each(|part| map_word(part, to));
    }
    for redirect in &mut found.redirects {
        redirect.span = to(redirect.span);
        redirect.target.iter_mut().for_each(|part| map_word(part, to));
    }
}

fn map_word(word: &mut Word, to: &impl Fn(Span) -> Span) {
    word.span = to(word.span);
    word.hazards.iter_mut().for_each(|hazard| hazard.span = to(hazard.span));
}
