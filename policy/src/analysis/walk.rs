//! The walk over the tree. It adds one entry for each command in the order of the text; launched
//! commands directly follow their launcher.

mod declare;
mod feed;
mod guess;
mod start_file;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::{Analysis, Directory, Found, process};
use crate::decision::Nesting;
use crate::launch::{self, Launch, PowerShell};
use crate::limits;
use crate::parse::{
    Assign, Held, Join, Nested, Problem, Redir, RedirOp, Script, Simple, SpanMap, Statement, SubKind,
    Substitution, Surroundings, Word,
};

struct Walker<'a> {
    out: Analysis,
    nesting: Vec<Nesting>,
    /// The directory that the shell may be in, and the one after a successful statement.
    directory: Directory,
    on_success: Directory,
    feeding: bool,
    launcher: Option<usize>,
    shells: usize,
    /// The number of words of all commands so far.
    words: usize,
    surroundings: Surroundings<'a>,
    values: guess::Values,
    /// The output of the preceding part of the pipeline.
    piped: Option<Vec<u8>>,
    /// The known prefix of each NUL-terminated word in that output.
    found: Vec<u8>,
    /// The function that contains the current statements, and the functions that run their arguments.
    function: Option<Vec<u8>>,
    passes_arguments: HashSet<Vec<u8>>,
    /// The commands that programs run because of environment variables, until the first command is
    /// found.
    by_environment: Vec<Launch>,
    /// The values that the current text assigns to variables, and whether bash splits them as usual.
    held: HashMap<Vec<u8>, Held>,
    splits_as_usual: bool,
    start_file: start_file::StartFile,
}

pub(super) fn walk(
    script: Script,
    start: Directory,
    surroundings: Surroundings<'_>,
    environment: Vec<Assign>,
) -> Analysis {
    let mut values = guess::Values::default();
    environment.iter().for_each(|assign| values.assigned(assign));
    let by_environment = launch::by_variables(&environment).collect();
    let mut walker = Walker {
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
        held: HashMap::new(),
        splits_as_usual: true,
        start_file: start_file::StartFile::default(),
    };
    walker.script(script);
    walker.out.distrust_cat();
    walker.out
}

impl Walker<'_> {
    fn script(&mut self, script: Script) {
        self.out.complete &= script.complete;
        self.out.problems.extend(script.problems);
        self.out.notes.extend(script.notes);
        self.out.nulls.extend(script.nulls);
        if self.shells == 0 {
            let numeric = script.held.iter().filter(|(_, held)| held.numeric);
            self.out.numeric.extend(numeric.map(|(name, _)| name.clone()));
        }
        let named = script.held.contains_key(start_file::VARIABLE);
        self.note_start_file(named, false, crate::Span::default());
        let outer = std::mem::replace(&mut self.held, script.held);
        let split = std::mem::replace(&mut self.splits_as_usual, script.splits_as_usual);
        for statement in &script.statements {
            self.statement(statement);
        }
        (self.held, self.splits_as_usual) = (outer, split);
    }

    fn within(&mut self, kind: Nesting, inner: impl FnOnce(&mut Self)) {
        self.nesting.push(kind);
        inner(self);
        self.nesting.pop();
    }

    /// Runs `inner` as a subshell, which does not change the directory of its parent.
    fn apart(&mut self, inner: impl FnOnce(&mut Self)) {
        let (before, success) = (self.directory.clone(), self.on_success.clone());
        inner(self);
        self.directory = before;
        self.on_success = success;
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Simple(simple) => self.simple(simple),
            Statement::Pipeline(parts) => self.pipeline(parts),
            Statement::List(items) => self.list(items),
            Statement::Negated(inner) => self.statement(inner),
            Statement::Nested(nested) => self.nested(nested),
            Statement::Function { name, body, span } => {
                self.out.defined.insert(name.clone());
                self.push(Found {
                    span: *span,
                    words: vec![Word::known(b"function", *span)],
                    ..Found::default()
                });
                self.apart(|walker| {
                    walker.directory = Directory::unknown();
                    let outer = walker.function.replace(name.clone());
                    walker.within(Nesting::Function, |w| body.iter().for_each(|s| w.statement(s)));
                    walker.function = outer;
                });
                if body.iter().any(changes_directory) {
                    self.directory = Directory::unknown();
                }
            }
        }
    }

    fn list(&mut self, items: &[(Join, Statement)]) {
        let mut any = self.directory.clone();
        self.on_success = any.clone();
        for (join, statement) in items {
            if *join == Join::And {
                self.directory = self.on_success.clone();
                self.statement(statement);
                any = any.or(&self.directory);
            } else {
                self.directory = any;
                self.statement(statement);
                any = self.directory.clone();
            }
        }
        self.directory = any;
    }

    fn pipeline(&mut self, parts: &[Statement]) {
        let feeding = self.feeding;
        let last_reader = parts.iter().rposition(feed::reads_arguments).unwrap_or(0);
        let piped = self.piped.take();
        for (index, part) in parts.iter().enumerate() {
            self.feeding = feeding || index < last_reader;
            let before = index.checked_sub(1).and_then(|before| parts.get(before));
            self.found = before.map(|before| feed::found(before, part)).unwrap_or_default();
            self.apart(|walker| walker.within(Nesting::Pipeline, |w| w.statement(part)));
            self.piped = guess::output(part);
        }
        self.piped = piped;
        self.feeding = feeding;
        if parts.iter().any(changes_directory) {
            // `lastpipe` may run the last part in the shell itself.
            self.directory = Directory::unknown();
        }
        self.on_success = self.directory.clone();
    }

    fn nested(&mut self, nested: &Nested) {
        if nested.kind == Nesting::Compound && nested.body.iter().any(changes_directory) {
            // The order in which a loop or a branch runs is unknown.
            self.directory = Directory::unknown();
        }
        if !nested.redirects.is_empty() || !nested.words.is_empty() {
            let mut assignments = Vec::new();
            if let Some(name) = &nested.binds {
                assignments.push(Assign {
                    name: name.clone(),
                    values: nested.words.clone(),
                    span: nested.span,
                });
            }
            self.entry(&[], &assignments, &nested.redirects, &nested.words, nested.span);
        }
        let inner = |walker: &mut Self| {
            walker.within(nested.kind, |w| nested.body.iter().for_each(|s| w.statement(s)));
        };
        if nested.kind == Nesting::Subshell {
            self.apart(inner);
        } else {
            inner(self);
        }
        self.on_success = self.directory.clone();
    }

    /// Returns the words with values applied: a word that is a variable is no flag if none of its values
    /// is a flag.
    fn with_values<'w>(&self, words: &'w [Word]) -> Cow<'w, [Word]> {
        let no_flag = |word: &Word| {
            let held = word.only.as_ref().and_then(|name| self.held.get(name));
            held.is_some_and(|held| {
                held.no_flag && (word.exactly_one || (held.unsplit && self.splits_as_usual))
            })
        };
        if !words.iter().any(no_flag) {
            return Cow::Borrowed(words);
        }
        let valued = |word: &Word| Word { flagless: word.flagless || no_flag(word), ..word.clone() };
        Cow::Owned(words.iter().map(valued).collect())
    }

    fn simple(&mut self, simple: &Simple) {
        let words = self.with_values(&simple.words);
        self.entry(&words, &simple.assignments, &simple.redirects, &[], simple.span);
        self.change_directory(&words);
    }

    /// Adds a command, the substitutions in its words, and the commands that it launches.
    fn entry(
        &mut self,
        words: &[Word],
        assignments: &[Assign],
        redirects: &[Redir],
        loose: &[Word],
        span: crate::Span,
    ) {
        let assignments = &declare::all(words, assignments);
        assignments.iter().for_each(|assign| self.values.assigned(assign));
        self.values.set_by(words);
        self.out.aliases.extend(made_aliases(words));
        let mut launched = launch::launches(words, assignments);
        launch::begin_with(&mut launched.launches, &std::mem::take(&mut self.found));
        let named = assignments.iter().any(|assign| assign.name == start_file::VARIABLE);
        self.note_start_file(named, launched.interactive, span);
        let powershell = launched.powershell.take().map(|given| self.of_powershell(given, redirects));
        let index = self.push(Found {
            words: words.to_vec(),
            span,
            redirects: redirects.to_vec(),
            assignments: assignments.to_vec(),
            safe_launcher: launched.safe,
            opaque: launched.opaque,
            elsewhere: launched.elsewhere,
            reads: launched.reads,
            powershell,
            ..Found::default()
        });
        let targets = redirects.iter().filter_map(|redirect| redirect.target.as_ref());
        for word in words.iter().chain(targets).filter(|word| process::is_reached(word, &self.directory)) {
            if self.out.problems.len() < limits::MAX_REASONS {
                self.out.problems.push(Problem { code: "proc_environ_access", span: word.span });
            }
        }
        for word in loose.iter().chain(words) {
            self.hazards_of_loose(index, word, words.is_empty());
            self.substitutions(&word.substitutions);
        }
        let values = assignments.iter().flat_map(|assign| &assign.values);
        let targets = redirects.iter().filter_map(|redirect| redirect.target.as_ref());
        for word in values.chain(targets) {
            if !loose.iter().any(|seen| seen.span == word.span) {
                self.substitutions(&word.substitutions);
            }
        }
        // No rule covers code that the shell runs from a file.
        self.out.complete &= !launched.unseen;
        if launched.opaque {
            self.fail("launcher_not_understood", span);
        }
        for launch in launched.launches.into_iter().chain(std::mem::take(&mut self.by_environment)) {
            self.launched(index, launch);
        }
        if launched.runs_input {
            self.run_input(index, redirects, span);
        }
        self.guess(index, words);
    }

    /// Returns the text that PowerShell receives in its words and, if it may read it, on standard input.
    fn of_powershell(&mut self, given: PowerShell, redirects: &[Redir]) -> Vec<u8> {
        let mut texts = vec![given.text];
        if given.reads_input {
            let targets = redirects.iter().filter_map(|redirect| redirect.target.as_ref());
            texts.extend(targets.map(|target| target.text.as_ref().unwrap_or(&target.lead).clone()));
            texts.extend(self.piped.take());
        }
        texts.join(&b'\n')
    }

    /// Handles a shell that runs its standard input: text in the command, or a file by name.
    fn run_input(&mut self, index: usize, redirects: &[Redir], span: crate::Span) {
        // Only the last redirect takes effect, but the others are searched, too.
        let mut given = false;
        for redirect in redirects.iter().filter(|redirect| matches!(redirect.descriptor, None | Some(0))) {
            let Some(target) = &redirect.target else {
                continue;
            };
            match redirect.op {
                RedirOp::Heredoc | RedirOp::HereString => {
                    given = true;
                    self.launched(index, Launch::Text(target.text.clone(), target.span));
                }
                RedirOp::Read => given = target.text.is_some(),
                RedirOp::Write | RedirOp::Duplicate => given = false,
            }
        }
        if !given {
            if let Some(text) = self.piped.take() {
                self.launched(index, Launch::Text(Some(text), span));
            }
            self.fail("launched_text_unknown", span);
        }
    }

    /// Records hazards in the words of `for`, `case` and `[[`, which belong to no command.
    fn hazards_of_loose(&mut self, index: usize, word: &Word, loose: bool) {
        if !loose || word.hazards.is_empty() {
            return;
        }
        if let Some(found) = self.out.commands.get_mut(index) {
            found.assignments.push(Assign { name: Vec::new(), values: vec![word.clone()], span: word.span });
        }
    }

    fn push(&mut self, mut found: Found) -> usize {
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

    fn fail(&mut self, code: &'static str, span: crate::Span) {
        self.out.complete = false;
        if self.out.problems.len() < limits::MAX_REASONS {
            self.out.problems.push(Problem { code, span });
        }
    }

    fn substitutions(&mut self, substitutions: &[Rc<Substitution>]) {
        // Those in launched words were listed with the launcher.
        if self.nesting.last() == Some(&Nesting::Launched) {
            return;
        }
        for substitution in substitutions {
            let kind = match substitution.kind {
                SubKind::Command => Nesting::Substitution,
                SubKind::ProcessIn | SubKind::ProcessOut => Nesting::ProcessSubstitution,
            };
            let feeding = std::mem::replace(&mut self.feeding, kind == Nesting::Substitution);
            let launcher = self.launcher.take();
            self.apart(|walker| {
                walker.within(kind, |w| substitution.body.iter().for_each(|s| w.statement(s)));
            });
            self.launcher = launcher;
            self.feeding = feeding;
        }
    }

    fn launched(&mut self, by: usize, launch: Launch) {
        let above = self.launcher.replace(by);
        match launch {
            Launch::Command { .. }
                if self.nesting.len() >= limits::MAX_NESTING || self.words > limits::MAX_LISTED_WORDS =>
            {
                self.fail("too_deep", self.out.commands.get(by).map(|found| found.span).unwrap_or_default());
            }
            Launch::Command { words, assignments } => {
                let span = words.first().map_or(crate::Span::default(), |first| {
                    let last = words.last().unwrap_or(first);
                    crate::Span::new(first.span.start, last.span.end.max(first.span.end))
                });
                self.within(Nesting::Launched, |walker| {
                    walker.entry(&words, &assignments, &[], &[], span);
                });
            }
            Launch::Text(Some(text), span) if self.shells < limits::MAX_SHELL_DEPTH => {
                if !self.is_read_by_bash(by) && crate::parse::is_only_bash(&text) {
                    self.fail("parse_incomplete", span);
                }
                let surroundings =
                    Surroundings { splits_as_usual: self.splits_as_usual, ..self.surroundings };
                let script = crate::parse::parse(&text, SpanMap::Word(span), surroundings);
                self.shells += 1;
                self.apart(|walker| walker.within(Nesting::ShellText, |w| w.script(script)));
                self.shells -= 1;
            }
            Launch::Text(_, span) => {
                if let Some(found) = self.out.commands.get_mut(by) {
                    found.opaque = true;
                }
                self.fail("launched_text_unknown", span);
            }
        }
        self.launcher = above;
    }

    /// Reports whether bash reads the text that this command launches; `sh` is another shell.
    fn is_read_by_bash(&self, launcher: usize) -> bool {
        let program = self.out.commands.get(launcher).and_then(Found::program).map(launch::base_name);
        matches!(
            program,
            Some(
                b"bash"
                    | b"rbash"
                    | b"eval"
                    | b"trap"
                    | b"alias"
                    | b"source"
                    | b"."
                    | b"mapfile"
                    | b"readarray"
            ) | Some(b"compgen" | b"complete")
        )
    }

    fn change_directory(&mut self, words: &[Word]) {
        let before = self.directory.clone();
        let command = crate::parse::behind_time(words);
        let program = command.first().and_then(|word| word.text.as_deref());
        let entered = match program {
            Some(b"cd" | b"pushd") if command.len() == words.len() => self.entered(words),
            Some(name) if CHANGES_DIRECTORY.contains(&name) => Directory::unknown(),
            Some(name) if self.out.defined.contains(name) => Directory::unknown(),
            None if !words.is_empty() => Directory::unknown(),
            _ => before.clone(),
        };
        self.directory = before.or(&entered);
        self.on_success = entered;
    }

    fn entered(&self, words: &[Word]) -> Directory {
        let mut operands = words
            .iter()
            .skip(1)
            .filter(|word| !matches!(word.text.as_deref(), Some(b"-P" | b"-L" | b"-e" | b"-n" | b"--")));
        match (operands.next(), operands.next()) {
            (None, _) => Directory::at(self.surroundings.home),
            (Some(word), None) => match word.text.as_deref().map(std::str::from_utf8) {
                Some(Ok(text)) if text != "-" && !text.starts_with('+') => self.directory.enter(text),
                _ => Directory::unknown(),
            },
            _ => Directory::unknown(),
        }
    }
}

/// Builtins that may change the shell's directory.
const CHANGES_DIRECTORY: &[&[u8]] =
    &[b"cd", b"pushd", b"popd", b"eval", b"source", b".", b"builtin", b"command"];

/// Reports whether the statement may change the shell's directory.
fn changes_directory(statement: &Statement) -> bool {
    match statement {
        Statement::Simple(simple) => {
            let program = crate::parse::behind_time(&simple.words).first();
            let changes = |name: &[u8]| CHANGES_DIRECTORY.contains(&name);
            program.is_some_and(|word| word.text.as_deref().is_none_or(changes))
        }
        Statement::Pipeline(parts) => parts.iter().any(changes_directory),
        Statement::List(items) => items.iter().any(|(_, item)| changes_directory(item)),
        Statement::Negated(inner) => changes_directory(inner),
        Statement::Nested(nested) => {
            nested.kind != Nesting::Subshell && nested.body.iter().any(changes_directory)
        }
        Statement::Function { .. } => false,
    }
}

/// Returns the names that this command defines as aliases.
fn made_aliases(words: &[Word]) -> impl Iterator<Item = Vec<u8>> {
    let makes = words.first().is_some_and(|word| word.text.as_deref() == Some(b"alias"));
    let made = words.iter().skip(1).filter(move |_| makes);
    made.filter_map(|word| {
        let text = word.text.as_deref()?;
        let at = text.iter().position(|byte| *byte == b'=')?;
        text.get(..at).map(<[u8]>::to_vec)
    })
}
