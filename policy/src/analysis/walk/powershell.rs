//! The walk over a PowerShell text. Its commands are added in the order of the text; native programs are followed as
//! those of bash.

use std::collections::HashSet;

use airlock_powershell::{
    Argument, Command, ConstructKind, Element, Member, Redirection, RedirectionTarget, Script, Span as Place,
    Target, Value,
};

use super::walker::Walker;
use super::{download, pipeline};
use crate::analysis::directory::Directory;
use crate::analysis::found::{Found, InPowerShell, MethodCall};
use crate::decision::{Nesting, Span};
use crate::launch::Launch;
use crate::limits;
use crate::parse::{Problem, Redir, RedirOp, Word};
use crate::powershell::{self, Call, Constants, Resolved};

/// A text with its place in the request.
struct Text<'t> {
    text: &'t str,
    /// The place of the whole text, if it is inside a word.
    within: Option<Span>,
    /// The functions that it defines, in lower case.
    functions: HashSet<String>,
    constants: &'t Constants<'t>,
}

impl Text<'_> {
    fn place(&self, at: Place) -> Span {
        self.within.unwrap_or_else(|| Span::new(at.start, at.end))
    }

    fn written(&self, at: Place) -> Vec<u8> {
        self.text.get(at.start..at.end).unwrap_or_default().as_bytes().to_vec()
    }
}

impl Walker<'_> {
    /// Adds the commands of a PowerShell text, which may be inside a word.
    pub(super) fn powershell(&mut self, text: &[u8], within: Option<Span>) {
        let whole = within.unwrap_or_else(|| Span::new(0, text.len()));
        let Ok(text) = std::str::from_utf8(text) else {
            self.fail("powershell_not_understood", whole);
            return;
        };
        let script = airlock_powershell::parse(text);
        let functions =
            script.constructs.iter().filter(|construct| construct.kind == ConstructKind::Function);
        let names = functions.filter_map(|construct| construct.name.as_deref());
        let functions: HashSet<String> =
            names.map(|name| name.rsplit(':').next().unwrap_or(name).to_ascii_lowercase()).collect();
        let defined: HashSet<Vec<u8>> = functions.iter().map(|name| name.clone().into_bytes()).collect();
        self.out.defined.extend(defined.iter().cloned());
        self.out.defined_in_powershell.extend(defined);
        let constants = Constants::of(&script);
        let text = Text { text, within, functions, constants: &constants };
        if let Some(fault) = script.fault {
            let at = Place { start: fault.at, end: text.text.len() };
            self.fail("powershell_not_understood", text.place(at));
        }
        self.powershell_script(&script, &text);
    }

    fn powershell_script(&mut self, script: &Script, text: &Text<'_>) {
        for effect in powershell::effects(script, text.constants) {
            self.out.hides |= effect.hides;
            if self.out.problems.len() < limits::MAX_REASONS {
                self.out.problems.push(Problem { code: effect.code, span: text.place(effect.span) });
            }
        }
        if script.commands.iter().any(|command| command.within.is_some() && moves(command)) {
            self.directory = Directory::unknown();
        }
        for redirection in &script.redirections {
            let redirects: Vec<Redir> = self.redirect(redirection, text).into_iter().collect();
            if !redirects.is_empty() {
                self.entry(&[], &[], &redirects, &[], text.place(redirection.span));
            }
        }
        self.files_read(script, text);
        self.out.constants.extend(pipeline::constants(script, text.text));
        let mut starts = Vec::with_capacity(script.commands.len());
        for command in &script.commands {
            if self.is_full() {
                self.fail("too_many_commands", text.place(command.span));
                break;
            }
            starts.push(self.out.commands.len());
            self.powershell_command(command, text);
        }
        self.feed(script, text.text, &starts);
        let methods = script.members.iter().filter_map(|member| self.method(member, text));
        let methods: Vec<MethodCall> = methods.collect();
        self.out.methods.extend(methods);
        let executed = download::executed(script, text.text, &starts, &self.out.commands);
        self.out.executed_downloads.extend(executed.into_iter().map(|place| text.place(place)));
    }

    fn powershell_command(&mut self, command: &Command, text: &Text<'_>) {
        let place = |at: Place| text.place(at);
        let span = place(command.span);
        let home = self.surroundings.home.to_owned();
        let redirects: Vec<Redir> =
            command.redirections.iter().filter_map(|redirection| self.redirect(redirection, text)).collect();
        let words = powershell::words(command, text.text, &home, &place);
        let name = command.name().unwrap_or_default();
        let mut own = InPowerShell {
            elements: command.elements.iter().map(|element| reported(element, &place)).collect(),
            is_function: text.functions.contains(&name.to_ascii_lowercase()),
            readings: command.name().map_or_else(Vec::new, |name| readings(name, &words)),
            is_own_code: false,
            call: None,
            on_windows: None,
            fed: None,
        };
        let index = self.out.commands.len();
        let block = first(command).is_some_and(|value| text.constants.is_block(value));
        let calls =
            command.name().is_some_and(|name| text.constants.calls_function(name, command.span.start));
        match command.name().map(powershell::resolve) {
            None if block => self.add_powershell(Found { span, redirects, ..Found::default() }, own),
            None => {
                own.readings = self
                    .possible_names(command, text)
                    .iter()
                    .flat_map(|name| readings(name, &words))
                    .collect();
                let rest = words.into_iter().skip(1);
                let words = std::iter::once(Word::unknown(true, span)).chain(rest).collect();
                self.add_powershell(Found { words, span, redirects, opaque: true, ..Found::default() }, own);
            }
            Some(Resolved::Cmdlet(cmdlet)) => {
                let call = Call::new(cmdlet, command, text.text, &home, text.constants, &place);
                let mut words = words;
                if let Some(first) = words.first_mut() {
                    *first = Word::known(cmdlet.name.as_bytes(), first.span);
                }
                let opaque = call.hides;
                own.call = Some(call.clone());
                self.add_powershell(Found { words, span, redirects, opaque, ..Found::default() }, own);
                self.moved(command, &call);
                self.run_by_cmdlet(index, &call);
            }
            // The commands of the function's body are commands of the text.
            Some(Resolved::Program | Resolved::UnknownCmdlet) if calls => {
                own.is_own_code = true;
                self.add_powershell(Found { words, span, redirects, ..Found::default() }, own);
            }
            Some(resolved) => {
                let cmdlet = powershell::on_windows(name);
                let call = |cmdlet| Call::new(cmdlet, command, text.text, &home, text.constants, &place);
                own.on_windows = cmdlet.map(call);
                self.entry(&words, &[], &redirects, &[], span);
                if let Some(found) = self.out.commands.get_mut(index) {
                    found.opaque |= !matches!(resolved, Resolved::Program);
                    found.in_powershell = Some(Box::new(own));
                }
            }
        }
    }

    /// Returns the call of a static method that changes files or runs programs.
    fn method(&self, member: &Member, text: &Text<'_>) -> Option<MethodCall> {
        let (Target::Type(of), Some(arguments)) = (&member.target, &member.arguments) else {
            return None;
        };
        let name = format!("{}::{}", powershell::folded(of), member.name.as_deref()?.to_ascii_lowercase());
        let arguments = arguments.iter().map(|argument| {
            let place = text.place(argument.span);
            match argument.value.as_string() {
                Some(known) => Word::known(known.as_bytes(), place),
                None => Word { written: text.written(argument.span), ..Word::unknown(true, place) },
            }
        });
        Some(MethodCall {
            name,
            arguments: arguments.collect(),
            span: text.place(member.span),
            directory: self.directory.clone(),
        })
    }

    /// Returns names that the command may have if its name is not a constant.
    fn possible_names(&self, command: &Command, text: &Text<'_>) -> Vec<String> {
        let Some(Element::Argument(name)) = command.elements.first() else {
            return Vec::new();
        };
        let written = String::from_utf8_lossy(&text.written(name.span)).into_owned();
        powershell::possible_values(&written, &self.out.constants)
    }

    fn add_powershell(&mut self, found: Found, own: InPowerShell) {
        self.push(Found { in_powershell: Some(Box::new(own)), ..found });
    }

    /// Adds the files that static members read. .NET takes a path relative to the directory of the process.
    fn files_read(&mut self, script: &Script, text: &Text<'_>) {
        let moves = script.commands.iter().any(moves);
        let home = self.surroundings.home.to_owned();
        for (file, place) in powershell::files_read(script) {
            let span = text.place(file.map_or(place, |file| file.span));
            let known = file.filter(|_| !moves).and_then(|file| powershell::target(file, &home, false, span));
            let word = known.unwrap_or_else(|| Word::unknown(false, span));
            let own = InPowerShell { is_own_code: true, ..InPowerShell::default() };
            self.add_powershell(
                Found { span: text.place(place), reads: vec![word], ..Found::default() },
                own,
            );
        }
    }

    /// Follows a change of the directory.
    fn moved(&mut self, command: &Command, call: &Call) {
        if !call.changes_directory() {
            return;
        }
        let path = call.parameters.iter().find(|(name, ..)| matches!(*name, "Path" | "LiteralPath"));
        let target = path.and_then(|(_, words, _)| match words.as_slice() {
            [Word { text: Some(text), .. }] => std::str::from_utf8(text).ok(),
            _ => None,
        });
        let plain = |path: &&str| !path.contains([':', '~', '*', '?', '[', '+']) && !path.starts_with('-');
        self.directory = match target.filter(plain) {
            // The directory may not exist.
            Some(path) if command.within.is_none() => self.directory.or_entered(&path.replace('\\', "/")),
            _ => Directory::unknown(),
        };
    }

    /// Adds the commands that a cmdlet runs, if its words show them.
    fn run_by_cmdlet(&mut self, index: usize, call: &Call) {
        let values = |wanted: &str| {
            let found = call.parameters.iter().find(|(name, ..)| *name == wanted);
            found.map(|(_, words, _)| words.clone()).unwrap_or_default()
        };
        match call.cmdlet.name {
            "Invoke-Expression" if self.shells < limits::MAX_SHELL_DEPTH => {
                let texts = values("Command");
                let known = texts.iter().filter_map(|word| Some((word.text.clone()?, word.span)));
                for (text, span) in known.collect::<Vec<_>>() {
                    self.nested_powershell(index, &text, span);
                }
            }
            "Start-Process" => {
                let split = |word: Word| match &word.text {
                    Some(text) => {
                        let parts =
                            text.split(|byte| byte.is_ascii_whitespace()).filter(|part| !part.is_empty());
                        parts.map(|part| Word::known(part, word.span)).collect()
                    }
                    None => vec![word],
                };
                let words: Vec<Word> = values("FilePath")
                    .into_iter()
                    .chain(values("ArgumentList").into_iter().flat_map(split))
                    .collect();
                if words.first().is_some_and(|word| word.text.is_some()) {
                    self.launched(index, Launch::Command { words, assignments: Vec::new() });
                }
            }
            _ => {}
        }
    }

    /// Adds the commands of a PowerShell text that `pwsh` runs. If they are all that runs, the text itself does not have
    /// to be compared with rules.
    pub(super) fn powershell_by(&mut self, index: usize, text: &[u8], span: Span, is_all: bool) {
        let outer = (std::mem::replace(&mut self.out.complete, true), std::mem::take(&mut self.out.hides));
        self.nested_powershell(index, text, span);
        let launched = self.out.commands.get(index + 1..).unwrap_or_default();
        let all_seen = is_all
            && self.out.complete
            && !self.out.hides
            && !launched.iter().any(|found| found.opaque || found.powershell.is_some());
        self.out.complete &= outer.0;
        self.out.hides |= outer.1;
        if let Some(found) = self.out.commands.get_mut(index).filter(|_| all_seen) {
            found.powershell = None;
        }
    }

    /// Adds the commands of a PowerShell text that another command runs.
    pub(super) fn nested_powershell(&mut self, by: usize, text: &[u8], span: Span) {
        let above = self.launcher.replace(by);
        self.shells += 1;
        self.apart(|walker| walker.within(Nesting::ShellText, |walker| walker.powershell(text, Some(span))));
        self.shells -= 1;
        self.launcher = above;
    }

    /// Returns a redirection to a file. Others only change where text is printed.
    fn redirect(&self, redirection: &Redirection, text: &Text<'_>) -> Option<Redir> {
        let RedirectionTarget::File { name, appends } = &redirection.to else {
            return None;
        };
        if matches!(&name.value, Value::Variable(name) if name.eq_ignore_ascii_case("null")) {
            return None;
        }
        let span = text.place(name.span);
        let target = powershell::target(name, self.surroundings.home, true, span);
        Some(Redir {
            op: RedirOp::Write,
            text: if *appends { ">>" } else { ">" },
            descriptor: None,
            target: Some(
                target.unwrap_or_else(|| Word {
                    written: text.written(name.span),
                    ..Word::unknown(true, span)
                }),
            ),
            span: text.place(redirection.span),
        })
    }
}

fn first(command: &Command) -> Option<&Argument> {
    match command.elements.first()? {
        Element::Argument(argument) => Some(argument),
        Element::Parameter { .. } => None,
    }
}

/// Reports whether the command changes the directory.
fn moves(command: &Command) -> bool {
    matches!(command.name().map(powershell::resolve), Some(Resolved::Cmdlet(cmdlet)) if powershell::changes_directory(cmdlet))
}

fn reported(element: &Element, place: &dyn Fn(Place) -> Span) -> (Option<String>, Span) {
    match element {
        Element::Parameter { span, .. } => (None, place(*span)),
        Element::Argument(argument) => (argument.value.as_string().map(str::to_owned), place(argument.span)),
    }
}

/// Returns the words in lower case, with each name that a rule may use.
fn readings(name: &str, words: &[Word]) -> Vec<Vec<Word>> {
    let lowered = |word: &Word| Word {
        text: word.text.as_ref().map(|text| text.to_ascii_lowercase()),
        lead: word.lead.to_ascii_lowercase(),
        ..word.clone()
    };
    let rest: Vec<Word> = words.iter().skip(1).map(lowered).collect();
    let span = words.first().map(|word| word.span).unwrap_or_default();
    let with = |name: &String| {
        std::iter::once(Word::known(name.as_bytes(), span)).chain(rest.iter().cloned()).collect()
    };
    powershell::readings(name).iter().map(with).collect()
}
