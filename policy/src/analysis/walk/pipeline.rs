//! The pipelines of a PowerShell text: the parts before a command, and the strings that the text assigns to variables.
//! Approximate: built-in deny rules use them, and no proof does.

use std::collections::HashMap;

use airlock_powershell::{Command, Script, Span as Place};

use super::walker::Walker;
use crate::analysis::found::Fed;
use crate::parse::Word;
use crate::tables::CmdletEffect;

/// The largest number of pipelines that are searched for the one of a command, and of values of a variable.
const MOST: usize = 64;

/// Returns the pipelines that contain this part, the innermost one first.
pub(super) fn around(script: &Script, part: Place) -> impl Iterator<Item = Place> {
    // The parser lists pipelines in the order of their ends.
    let from = script.pipelines.partition_point(|pipeline| pipeline.end < part.end);
    let later = script.pipelines.get(from..).unwrap_or_default().iter().take(MOST);
    later.filter(move |pipeline| pipeline.start <= part.start).copied()
}

/// Returns the strings that the text assigns to variables, by the variable in lower case.
pub(super) fn constants(script: &Script, text: &str) -> HashMap<String, Vec<String>> {
    let mut all: HashMap<String, Vec<String>> = HashMap::new();
    for assignment in &script.assignments {
        let (Some(name), Some(place)) = (&assignment.variable, assignment.value_span) else {
            continue;
        };
        let value = text.get(place.start..place.end).and_then(constant);
        let values = value.map(|value| (all.entry(name.to_ascii_lowercase()).or_default(), value));
        if let Some((values, value)) = values.filter(|(values, _)| values.len() < MOST) {
            values.push(value.to_owned());
        }
    }
    all
}

/// Returns the string in `= 'x'`.
fn constant(text: &str) -> Option<&str> {
    let value = text.trim_start().strip_prefix('=')?.trim();
    let quote = value.chars().next().filter(|first| matches!(first, '\'' | '"'))?;
    let inner = value.strip_prefix(quote)?.strip_suffix(quote)?;
    (!inner.contains(['\'', '"', '$', '`', '\n'])).then_some(inner)
}

impl Walker<'_> {
    /// Records the earlier parts of the pipelines whose results the commands of a text change. `starts` contains the
    /// index of each command of the text.
    pub(super) fn feed(&mut self, script: &Script, text: &str, starts: &[usize]) {
        for (command, index) in script.commands.iter().zip(starts) {
            let call = self.out.commands.get(*index).and_then(|found| found.call());
            let Some(call) = call.filter(|call| call.cmdlet.effect == CmdletEffect::Changes) else {
                continue;
            };
            let item = |word: &Word| is_item(&word.written);
            let by_item = call.parameters.iter().flat_map(|(_, words, _)| words).any(item);
            let block = command.within.and_then(|at| script.commands.get(at)).filter(|_| by_item);
            let Some(fed) = block.or_else(|| command.piped.then_some(command)) else {
                continue;
            };
            let fed = fed.piped.then(|| parts_before(script, text, fed, starts)).flatten();
            if let Some(own) =
                self.out.commands.get_mut(*index).and_then(|found| found.in_powershell.as_mut())
            {
                own.fed = fed;
            }
        }
    }
}

/// Reports whether the value is the current item of a pipeline, or a property of it.
fn is_item(written: &[u8]) -> bool {
    let lower = written.to_ascii_lowercase();
    let written = lower.trim_ascii_start();
    let written = written.strip_prefix(b"\"").unwrap_or(written);
    written.starts_with(b"$_") || written.starts_with(b"$psitem") || written.starts_with(b"$($_")
}

fn parts_before(script: &Script, text: &str, command: &Command, starts: &[usize]) -> Option<Fed> {
    let pipeline = around(script, command.span).next()?;
    let from = script.commands.partition_point(|other| other.span.start < pipeline.start);
    let before = script.commands.iter().zip(starts).skip(from).take(MOST);
    let before = before.take_while(|(other, _)| other.span.start < command.span.start);
    let own = before.filter(|(other, _)| other.within == command.within);
    let commands: Vec<usize> = own.map(|(_, index)| *index).collect();
    let written = text.get(pipeline.start..command.span.start).filter(|_| commands.is_empty());
    Some(Fed { commands, text: written.unwrap_or_default().to_owned() })
}
