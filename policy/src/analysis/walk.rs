//! The walk over the tree. It adds one entry for each command in the order of the text; launched
//! commands directly follow their launcher.

mod command;
mod download;
mod guess;
mod pipeline;
mod powershell;
mod walker;

use std::borrow::Cow;
use std::rc::Rc;

use super::directory::Directory;
use super::found::{Analysis, Found};
use crate::decision::{Nesting, Span};
use crate::launch;
use crate::parse::{
    Assign, Join, Nested, RedirOp, Script, Simple, Statement, SubKind, Substitution, Surroundings, Word,
};
use walker::Walker;

pub(super) fn walk(
    script: Script,
    start: Directory,
    surroundings: Surroundings<'_>,
    environment: Vec<Assign>,
) -> Analysis {
    let mut walker = Walker::new(start, surroundings, environment);
    walker.script(script);
    walker.out.distrust_cat();
    walker.out
}

pub(super) fn walk_powershell(
    text: &[u8],
    start: Directory,
    surroundings: Surroundings<'_>,
    environment: Vec<Assign>,
) -> Analysis {
    let mut walker = Walker::new(start, surroundings, environment);
    walker.powershell(text, None);
    walker.out
}

impl Walker<'_> {
    fn script(&mut self, script: Script) {
        self.out.complete &= script.complete;
        self.out.problems.extend(script.problems);
        self.out.notes.extend(script.notes);
        self.out.nulls.extend(script.nulls);
        if self.shells == 0 {
            let numeric = script.assigned.iter().filter(|(_, properties)| properties.numeric);
            self.out.numeric.extend(numeric.map(|(name, _)| name.clone()));
        }
        let named = script.assigned.contains_key(walker::START_FILE_VARIABLE);
        self.note_start_file(named, false, Span::default());
        let outer = std::mem::replace(&mut self.assigned, script.assigned);
        let split = std::mem::replace(&mut self.splits_as_usual, script.splits_as_usual);
        for statement in &script.statements {
            self.statement(statement);
        }
        (self.assigned, self.splits_as_usual) = (outer, split);
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
        let last_reader = parts.iter().rposition(reads_arguments).unwrap_or(0);
        let piped = self.piped.take();
        for (index, part) in parts.iter().enumerate() {
            self.feeding = feeding || index < last_reader;
            let before = index.checked_sub(1).and_then(|before| parts.get(before));
            self.found = before.map(|before| prefix_of_found(before, part)).unwrap_or_default();
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

    /// Returns the words with values applied. A word that is a variable is not a flag if none of its values is one.
    fn with_values<'w>(&self, words: &'w [Word]) -> Cow<'w, [Word]> {
        let no_flag = |word: &Word| {
            let properties = word.only.as_ref().and_then(|name| self.assigned.get(name));
            properties.is_some_and(|properties| {
                properties.no_flag && (word.exactly_one || (properties.unsplit && self.splits_as_usual))
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

    fn substitutions(&mut self, substitutions: &[Rc<Substitution>]) {
        // The walk of the launcher has already listed the substitutions in launched words.
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

/// Actions of find that print something other than paths, or run a command that may.
const PRINTS_OTHERWISE: &[&[u8]] =
    &[b"-printf", b"-ls", b"-exec", b"-execdir", b"-ok", b"-okdir", b"-files0-from"];

/// Returns the known prefix of the words that `xargs` reads from `find`. `find` is the first part, and `xargs` the
/// second. Empty if the prefix is unknown.
fn prefix_of_found(before: &Statement, part: &Statement) -> Vec<u8> {
    let (Statement::Simple(find), Statement::Simple(xargs)) = (before, part) else {
        return Vec::new();
    };
    let own_input = xargs.redirects.iter().all(|redirect| redirect.op == RedirOp::Write);
    if own_input && launch::reads_ended_by_nul(&xargs.words) { start_of(find) } else { Vec::new() }
}

fn start_of(find: &Simple) -> Vec<u8> {
    let Some((program, rest)) = find.words.split_first() else {
        return Vec::new();
    };
    let is_find = program.text.as_deref() == Some(b"find");
    let known = rest.iter().all(|word| match &word.text {
        Some(text) => !PRINTS_OTHERWISE.contains(&text.as_slice()),
        None => false,
    });
    if is_find && known { launch::start_of_found(rest) } else { Vec::new() }
}

/// Reports whether the statement turns its input into arguments.
fn reads_arguments(statement: &Statement) -> bool {
    match statement {
        Statement::Simple(simple) => simple
            .words
            .iter()
            .any(|word| matches!(word.text.as_deref(), Some(b"xargs" | b"parallel" | b"read"))),
        Statement::Pipeline(parts) => parts.iter().any(reads_arguments),
        Statement::List(items) => items.iter().any(|(_, item)| reads_arguments(item)),
        Statement::Negated(inner) => reads_arguments(inner),
        Statement::Nested(nested) => nested.body.iter().any(reads_arguments),
        Statement::Function { .. } => false,
    }
}
