//! The words that a native program receives from PowerShell, and the names of files that PowerShell itself opens.

use airlock_powershell::{Argument, Command, Element, Quote, Value};

use crate::decision::Span;
use crate::parse::Word;

/// Returns the words of a command, the name first.
pub(crate) fn words(
    command: &Command,
    text: &str,
    home: &str,
    place: &dyn Fn(airlock_powershell::Span) -> Span,
) -> Vec<Word> {
    let mut out = Vec::new();
    let mut rest = command.elements.iter();
    while let Some(element) = rest.next() {
        match element {
            Element::Parameter { name, value, span } => {
                let written = text.get(span.start..span.end).unwrap_or_default();
                if name == "-" {
                    out.push(Word::known(b"--", place(*span)));
                } else if let Some(value) = value {
                    let head = text.get(span.start..value.span.start).unwrap_or_default();
                    parameter(&mut out, head, value, text, place(*span));
                } else {
                    out.push(Word::known(written.as_bytes(), place(*span)));
                }
            }
            Element::Argument(argument) if command.verbatim && argument.value.as_string() == Some("--%") => {
                if let Some(Element::Argument(verbatim)) = rest.next() {
                    split(&mut out, verbatim.value.as_string().unwrap_or_default(), place(verbatim.span));
                }
            }
            Element::Argument(argument) => {
                let is_name = out.is_empty();
                out.push(word(argument, text, home, is_name, place(argument.span)));
            }
        }
    }
    out
}

/// Adds `-name:value`, which is one word if nothing separates both.
fn parameter(out: &mut Vec<Word>, head: &str, value: &Argument, text: &str, span: Span) {
    let trimmed = head.trim_end();
    let value_word = word(value, text, "", false, span);
    if trimmed.len() < head.len() {
        out.push(Word::known(trimmed.as_bytes(), span));
        out.push(value_word);
        return;
    }
    match value_word.text {
        Some(known) => out.push(Word::known(&[head.as_bytes(), &known].concat(), span)),
        None => out.push(Word { lead: head.as_bytes().to_vec(), ..Word::unknown(true, span) }),
    }
}

/// Adds the words of the text after `--%`.
fn split(out: &mut Vec<Word>, text: &str, span: Span) {
    if text.contains(['"', '\'', '%', '*', '?', '[', '~']) {
        out.push(Word { written: text.as_bytes().to_vec(), ..Word::unknown(false, span) });
        return;
    }
    out.extend(text.split_whitespace().map(|part| Word::known(part.as_bytes(), span)));
}

/// Returns an argument as a word.
fn word(argument: &Argument, text: &str, home: &str, is_name: bool, span: Span) -> Word {
    let written = text.get(argument.span.start..argument.span.end).unwrap_or_default();
    let unknown = |one: bool| Word { written: written.as_bytes().to_vec(), ..Word::unknown(one, span) };
    match &argument.value {
        Value::String(value, Quote::None) => {
            bare(value, home, is_name, span).unwrap_or_else(|| unknown(true))
        }
        Value::String(value, _) => Word::known(value.as_bytes(), span),
        Value::Number { .. } => Word::known(written.as_bytes(), span),
        Value::Expandable(lead) => Word { lead: lead.as_bytes().to_vec(), ..unknown(true) },
        Value::Array(values) => {
            let plain = values
                .iter()
                .all(|value| matches!(&value.value, Value::String(_, Quote::None) | Value::Number { .. }));
            let one =
                plain && !written.contains(|char: char| char.is_whitespace() || "*?[~`'\"".contains(char));
            if one { Word::known(written.as_bytes(), span) } else { unknown(false) }
        }
        _ => unknown(false),
    }
}

/// Returns a word without quotes: a glob, a path in HOME, or itself. `None` if it is not known.
fn bare(value: &str, home: &str, is_name: bool, span: Span) -> Option<Word> {
    if value.contains(['*', '?', '[']) {
        if is_name {
            return None;
        }
        return Some(Word {
            glob: true,
            lead: value.as_bytes().to_vec(),
            written: value.as_bytes().to_vec(),
            ..Word::unknown(false, span)
        });
    }
    if value == "~" || value.starts_with("~/") {
        let rest = value.get(1..).unwrap_or_default();
        let known = (!home.is_empty()).then(|| Word::known(format!("{home}{rest}").as_bytes(), span));
        return known;
    }
    if value.starts_with('~') {
        return None;
    }
    Some(Word::known(value.as_bytes(), span))
}

/// Returns the file that a cmdlet or redirection opens. `None` if the argument is not in the file system, or if the text
/// does not show whether it is. A backslash separates directories.
pub(crate) fn target(argument: &Argument, home: &str, globs: bool, span: Span) -> Option<Word> {
    const FILE_SYSTEM: [&str; 2] = ["filesystem::", "microsoft.powershell.core\\filesystem::"];
    let value = argument.value.as_string()?;
    let lower = value.to_ascii_lowercase();
    let provider = FILE_SYSTEM.iter().find(|prefix| lower.starts_with(**prefix));
    let value = provider.map_or(value, |prefix| value.get(prefix.len()..).unwrap_or_default());
    let path = value.replace('\\', "/");
    let path = match lower.strip_prefix("temp:") {
        Some(_) => format!("/tmp/{}", path.get(5..).unwrap_or_default()),
        None => path,
    };
    if path.contains(':') {
        return None;
    }
    if globs && path.contains(['*', '?', '[', '`']) {
        let glob = path.contains('`').then_some(()).is_none();
        let lead = if glob { path.clone() } else { String::new() };
        return Some(Word {
            glob,
            lead: lead.into_bytes(),
            written: path.into_bytes(),
            ..Word::unknown(false, span)
        });
    }
    if path == "~" || path.starts_with("~/") {
        return Some(Word::known(format!("{home}{}", path.get(1..).unwrap_or_default()).as_bytes(), span));
    }
    if path.starts_with('~') {
        return Some(Word { foreign_home: true, ..Word::known(path.as_bytes(), span) });
    }
    Some(Word::known(path.as_bytes(), span))
}
