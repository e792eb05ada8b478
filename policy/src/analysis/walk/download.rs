//! The parts of a PowerShell text that run something that the text gets from another host. The values are followed
//! through pipelines, arguments, variables, functions and files. Approximate: in doubt, a value comes from another host.
//! The built-in deny rules use the result, and no proof does.

mod executing;
mod flow;

use std::collections::HashSet;

use airlock_powershell::{
    Argument, Command, ConstructKind, Element, Member, RedirectionTarget, Script, Span, Value,
};

use crate::analysis::found::Found;
use crate::parse::Word;
use crate::powershell::{Call, folded};
use crate::tables::names;
use flow::{Flow, variables};

/// Parameters that set the variable that their value names.
const SETTERS: &[&str] = &["OutVariable", "PipelineVariable", "Variable"];

/// A text with the values and files that come from another host.
struct Downloads<'s> {
    script: &'s Script,
    flow: Flow<'s>,
    /// The commands that were found for each command of the text.
    found: &'s [&'s [Found]],
    /// The files to which the text writes something from another host, and the texts that name them.
    files: HashSet<String>,
}

/// Returns the places of these parts. `starts` contains the index of each command of the text.
pub(super) fn executed(script: &Script, text: &str, starts: &[usize], all: &[Found]) -> Vec<Span> {
    let ends = starts.iter().skip(1).copied().chain(std::iter::once(all.len()));
    let found: Vec<&[Found]> =
        starts.iter().zip(ends).map(|(from, to)| all.get(*from..to).unwrap_or_default()).collect();
    let sources = sources(script, &found);
    if sources.is_empty() {
        return Vec::new();
    }
    let flow = Flow::new(script, text, sources);
    let mut downloads = Downloads { script, flow, found: &found, files: HashSet::new() };
    downloads.follow_functions();
    downloads.spread();
    downloads.collect_files();
    downloads.executing()
}

/// Returns the parts that get something from another host.
fn sources(script: &Script, found: &[&[Found]]) -> Vec<Span> {
    let commands = script.commands.iter().zip(found).filter(|(_, found)| found.iter().any(downloads));
    let members = script.members.iter().filter(|member| {
        let name = member.name.as_deref().map(str::to_ascii_lowercase);
        !member.is_static && name.is_some_and(|name| names::is_download_method(&name))
    });
    let types = script.types.iter().filter(|used| names::is_download_type(&folded(&used.name)));
    let mut sources: Vec<Span> = commands.map(|(command, _)| command.span).collect();
    sources.extend(members.map(|member| member.span));
    sources.extend(types.map(|used| used.span));
    sources
}

fn downloads(found: &Found) -> bool {
    let name = found.folded_program();
    if name == "new-object" {
        let words = found.words.iter().filter_map(|word| word.text.as_deref());
        return words.map(String::from_utf8_lossy).any(|word| names::is_download_type(&folded(&word)));
    }
    names::downloads(&name)
}

impl<'s> Downloads<'s> {
    /// Returns the commands of the text, each with those that were found for it.
    fn commands(&self) -> impl Iterator<Item = (&'s Command, &'s [Found])> + use<'s> {
        let script = self.script;
        script.commands.iter().zip(self.found.iter().copied())
    }

    /// Adds the calls of functions that get something from another host.
    fn follow_functions(&mut self) {
        let functions = self.script.constructs.iter().filter(|own| own.kind == ConstructKind::Function);
        let getting: Vec<&str> = functions
            .filter(|own| self.flow.is_tainted(self.flow.block_behind(own.span.end)))
            .filter_map(|own| own.name.as_deref())
            .collect();
        let is_one = |name: &str| getting.iter().any(|known| known.eq_ignore_ascii_case(name));
        let calls = self.script.commands.iter().filter(|command| command.name().is_some_and(is_one));
        self.flow.add_sources(calls.map(|command| command.span));
    }

    /// Finds the variables with a value from another host.
    fn spread(&mut self) {
        loop {
            let mut added = false;
            for assignment in &self.script.assignments {
                let (Some(name), Some(value)) = (&assignment.variable, assignment.value_span) else {
                    continue;
                };
                if self.flow.is_tainted(value) {
                    added |= self.flow.taint(name);
                }
            }
            for (command, found) in self.commands() {
                for name in found.first().map(set_by).unwrap_or_default() {
                    if self.flow.is_tainted(command.span) || self.flow.is_fed(command) {
                        added |= self.flow.taint(&name);
                    }
                }
            }
            if !added || self.flow.is_used_up() {
                return;
            }
        }
    }

    /// Finds the files with contents from another host.
    fn collect_files(&mut self) {
        let mut files: Vec<Word> = Vec::new();
        for (command, found) in self.commands() {
            let Some(own) = found.first() else { continue };
            let gets = found.iter().any(downloads);
            if !gets && !self.flow.is_tainted(command.span) && !self.flow.is_fed(command) {
                continue;
            }
            files.extend(own.call().into_iter().flat_map(Call::targets).cloned());
            files.extend(own.redirects.iter().filter_map(|redirect| redirect.target.clone()));
            if gets && own.call().is_none() {
                files.extend(own.words.iter().skip(1).cloned());
            }
        }
        for redirection in &self.script.redirections {
            let RedirectionTarget::File { name, .. } = &redirection.to else { continue };
            let statement =
                Span { start: self.flow.statement(redirection.span.start), end: redirection.span.start };
            if self.flow.is_tainted(statement) {
                files.push(self.flow.word(name));
            }
        }
        for member in self.script.members.iter().filter(|member| writes(member)) {
            if self.flow.is_tainted(member.span) {
                let arguments = member.arguments.iter().flatten();
                files.extend(arguments.map(|argument| self.flow.word(argument)));
            }
        }
        for word in files {
            let written = String::from_utf8_lossy(&word.written).trim().to_owned();
            match &word.text {
                Some(text) => {
                    let text = String::from_utf8_lossy(text);
                    self.files.extend(text.rsplit('/').next().map(file_name));
                    self.files.insert(file_name(&text));
                }
                None if variables(&written).len() == 1 && written.starts_with('$') => {
                    self.flow.taint(written.trim_start_matches('$').trim_matches(['{', '}']));
                }
                None => {
                    self.files.insert(file_name(&written));
                }
            }
        }
        self.files.remove("");
    }
}

/// Returns the name of a file in the form in which names are compared.
fn file_name(text: &str) -> String {
    let path = text.trim().trim_matches(['"', '\'']).replace('\\', "/").to_ascii_lowercase();
    path.strip_prefix("./").map(str::to_owned).unwrap_or(path)
}

/// Reports whether the method writes a file that an argument names.
fn writes(member: &Member) -> bool {
    let name = member.name.as_deref().unwrap_or_default().to_ascii_lowercase();
    name.starts_with("downloadfile") || name.starts_with("writeall") || name.starts_with("appendall")
}

/// Returns the names of the variables that a command sets.
fn set_by(found: &Found) -> Vec<String> {
    let Some(call) = found.call() else { return Vec::new() };
    let by_name = matches!(call.cmdlet.name, "Set-Variable" | "New-Variable");
    let sets = |name: &str| SETTERS.contains(&name) || (by_name && name == "Name");
    let values = call.parameters.iter().filter(|(name, ..)| sets(name)).flat_map(|(_, words, _)| words);
    values.filter_map(|word| Some(String::from_utf8_lossy(word.text.as_deref()?).into_owned())).collect()
}

/// Returns the places of the arguments that may be code: those that are neither a script block nor data.
fn arguments(command: &Command) -> Vec<Span> {
    const DATA: [&str; 3] = ["argumentlist", "args", "inputobject"];
    let mut places = Vec::new();
    let mut is_data = false;
    for element in command.elements.iter().skip(1) {
        let (argument, data): (Option<&Argument>, bool) = match element {
            Element::Parameter { name, value, .. } => {
                let name = name.to_ascii_lowercase();
                let data = name.len() > 2 && DATA.iter().any(|full| full.starts_with(&name));
                is_data = data && value.is_none();
                (value.as_ref(), data)
            }
            Element::Argument(argument) => (Some(argument), std::mem::take(&mut is_data)),
        };
        let is_code = |argument: &&Argument| !data && !matches!(argument.value, Value::ScriptBlock);
        places.extend(argument.filter(is_code).map(|argument| argument.span));
    }
    places
}
