//! One command of the walk: its entry, the substitutions in its words, and the commands that it launches.

use std::borrow::Cow;

use super::walker::{self, Walker};
use crate::analysis::found::Found;
use crate::analysis::process;
use crate::decision::{Nesting, Span};
use crate::launch::{self, Launch, PowerShell};
use crate::limits;
use crate::parse::{
    Assign, DECLARING, Problem, Redir, RedirOp, SpanMap, Surroundings, Word, assignment_name,
};

impl Walker<'_> {
    /// Adds a command, the substitutions in its words, and the commands that it launches.
    pub(super) fn entry(
        &mut self,
        words: &[Word],
        assignments: &[Assign],
        redirects: &[Redir],
        loose: &[Word],
        span: Span,
    ) {
        let assignments = &all_assignments(words, assignments);
        assignments.iter().for_each(|assign| self.values.assigned(assign));
        self.values.set_by(words);
        self.out.aliases.extend(defined_aliases(words));
        let mut launched = launch::launches(words, assignments);
        launch::begin_with(&mut launched.launches, &std::mem::take(&mut self.found));
        let named = assignments.iter().any(|assign| assign.name == walker::START_FILE_VARIABLE);
        self.note_start_file(named, launched.interactive, span);
        let script =
            launched.powershell.as_mut().and_then(|given| Some((given.script.take()?, given.is_all)));
        let input = self.input_of_launchers(redirects);
        let powershell = launched.powershell.take().map(|given| self.of_powershell(given, &input));
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
        if let Some(((text, place), is_all)) = script.filter(|_| self.shells < limits::MAX_SHELL_DEPTH) {
            self.powershell_by(index, &text, place, is_all);
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
            self.run_input(index, &input, span);
        }
        self.guess(index, words);
    }

    /// Returns the redirects that determine the input of the next command: its own or, if it has none, those of the
    /// launcher that passes its input on, as in `timeout 5 bash <<< 'ls'`.
    fn input_of_launchers<'r>(&self, own: &'r [Redir]) -> Cow<'r, [Redir]> {
        let is_launched = own.is_empty() && self.nesting.last() == Some(&Nesting::Launched);
        let mut next = self.launcher.filter(|_| is_launched);
        while let Some(found) = next.and_then(|index| self.out.commands.get(index)) {
            if !found.safe_launcher {
                break;
            }
            if !found.redirects.is_empty() {
                return Cow::Owned(found.redirects.clone());
            }
            next = found.launcher.filter(|_| found.nesting.last() == Some(&Nesting::Launched));
        }
        Cow::Borrowed(own)
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
    fn run_input(&mut self, index: usize, redirects: &[Redir], span: Span) {
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

    pub(super) fn launched(&mut self, by: usize, launch: Launch) {
        let above = self.launcher.replace(by);
        match launch {
            Launch::Command { .. }
                if self.nesting.len() >= limits::MAX_NESTING || self.words > limits::MAX_LISTED_WORDS =>
            {
                self.fail("too_deep", self.out.commands.get(by).map(|found| found.span).unwrap_or_default());
            }
            Launch::Command { words, assignments } => {
                let span = words.first().map_or(Span::default(), |first| {
                    let last = words.last().unwrap_or(first);
                    Span::new(first.span.start, last.span.end.max(first.span.end))
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

    /// Adds the commands that a command with an unknown program could be.
    fn guess(&mut self, index: usize, words: &[Word]) {
        // An incomplete text is searched as text.
        let Some((program, rest)) = words.split_first().filter(|_| self.out.complete) else {
            return;
        };
        if let Some(name) = &program.text {
            if self.passes_arguments.contains(name) && !rest.is_empty() {
                self.launched(index, Launch::Command { words: rest.to_vec(), assignments: Vec::new() });
            }
            return;
        }
        let parameter =
            program.variables.first().is_some_and(|name| matches!(name.as_slice(), b"@" | b"*" | b"1"));
        if let Some(function) = self.function.clone().filter(|_| parameter) {
            self.passes_arguments.insert(function);
        }
        for text in self.values.names(program) {
            let split = text.split(u8::is_ascii_whitespace).filter(|part| !part.is_empty());
            let named = split.map(|part| Word::known(part, program.span));
            let words: Vec<Word> = named.chain(rest.iter().cloned()).collect();
            if !words.is_empty() {
                self.launched(index, Launch::Command { words, assignments: Vec::new() });
            }
        }
    }
}

/// Returns the assignments that the grammar recognized, and those that are words.
///
/// Assignments in the words of `export` and similar builtins. The grammar recognizes them only if the builtin's name is
/// plain. bash assigns them for any spelling of the name, and also after `command` and `builtin`.
fn all_assignments(words: &[Word], seen: &[Assign]) -> Vec<Assign> {
    let mut all = seen.to_vec();
    let Some((program, rest)) = words.split_first() else { return all };
    if program.text.as_deref().is_some_and(|name| DECLARING.contains(&name)) {
        let is_new = |assign: &Assign| {
            !seen.iter().any(|known| known.span == assign.span && known.name == assign.name)
        };
        all.extend(rest.iter().filter_map(assigned_by_word).filter(is_new));
    }
    all
}

/// Returns the assignment in a word `NAME=value`. Its substitutions are listed with the word.
fn assigned_by_word(word: &Word) -> Option<Assign> {
    let name = assignment_name(&word.lead)?.to_vec();
    let from = word.lead.iter().position(|byte| *byte == b'=')? + 1;
    let behind = |text: &Vec<u8>| text.get(from..).unwrap_or_default().to_vec();
    let value = Word {
        text: word.text.as_ref().map(behind),
        lead: behind(&word.lead),
        substitutions: Vec::new(),
        ..word.clone()
    };
    Some(Assign { name, values: vec![value], span: word.span })
}

/// Returns the names that this command defines as aliases.
fn defined_aliases(words: &[Word]) -> impl Iterator<Item = Vec<u8>> {
    let makes = words.first().is_some_and(|word| word.text.as_deref() == Some(b"alias"));
    let made = words.iter().skip(1).filter(move |_| makes);
    made.filter_map(|word| {
        let text = word.text.as_deref()?;
        let at = text.iter().position(|byte| *byte == b'=')?;
        text.get(..at).map(<[u8]>::to_vec)
    })
}
