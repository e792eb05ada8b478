//! Languages in which a program's text runs other programs: awk, sed, editors, PowerShell. This module finds literal
//! commands. The read-only proof must show that no other program runs.

use super::arguments;
use super::launches::{Launch, Launches, PowerShell};
use crate::decision::Span;
use crate::parse::Word;
use crate::tables::names;

fn found(texts: Vec<(Vec<u8>, Span)>) -> Launches {
    let launches = texts.into_iter().map(|(text, span)| Launch::Text(Some(text), span)).collect();
    Launches { launches, ..Launches::default() }
}

/// Finds `system("text")`, `"text" | getline` and `print | "text"`.
pub(super) fn awk(rest: &[Word]) -> Launches {
    let mut texts = Vec::new();
    for word in rest {
        let Some(text) = word.text.as_deref().filter(|text| runs_in_awk(text)) else {
            continue;
        };
        let mut at = 0;
        while let Some(open) = next(text, at, b'"') {
            let (value, end) = literal(text, open + 1);
            let before = trimmed_end(text.get(..open).unwrap_or_default());
            let behind = text.get(end..).unwrap_or_default().trim_ascii_start();
            let called =
                before.strip_suffix(b"(").is_some_and(|call| call.trim_ascii_end().ends_with(b"system"));
            if called || before.ends_with(b"|") || before.ends_with(b"|&") || behind.starts_with(b"|") {
                texts.push((value, word.span));
            }
            at = end;
        }
    }
    found(texts)
}

fn runs_in_awk(text: &[u8]) -> bool {
    text.contains(&b'|') || text.windows(6).any(|part| part == b"system")
}

fn trimmed_end(text: &[u8]) -> &[u8] {
    text.trim_ascii_end()
}

fn next(text: &[u8], from: usize, wanted: u8) -> Option<usize> {
    let at = text.get(from..)?.iter().position(|byte| *byte == wanted)?;
    Some(from + at)
}

/// Returns the text of a string literal, and its end.
fn literal(text: &[u8], from: usize) -> (Vec<u8>, usize) {
    let mut value = Vec::new();
    let mut at = from;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => return (value, at + 1),
            b'\\' => {
                at += 1;
                value.extend(text.get(at));
            }
            other => value.push(*other),
        }
        at += 1;
    }
    (value, at)
}

/// Finds the command of `e text`.
pub(super) fn sed(rest: &[Word]) -> Launches {
    let mut texts = Vec::new();
    for word in rest {
        let Some(text) = word.text.as_deref().filter(|text| text.contains(&b'e')) else {
            continue;
        };
        for line in text.split(|byte| matches!(byte, b'\n' | b';' | b'{')) {
            let command = line.iter().position(|byte| !is_address(*byte));
            let command = command.and_then(|at| line.get(at..)).unwrap_or_default();
            if let Some(run) = command.strip_prefix(b"e ") {
                texts.push((run.to_vec(), word.span));
            }
        }
    }
    found(texts)
}

fn is_address(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b' ' | b'\t' | b'$' | b',' | b'~' | b'+' | b'!')
}

/// Finds `-c '!text'`, `+!text` and `--cmd 'r !text'`.
pub(super) fn editor(rest: &[Word]) -> Launches {
    let mut texts = Vec::new();
    let mut before: &[u8] = b"";
    for word in rest {
        let text = word.text.as_deref().unwrap_or_default();
        let is_command =
            matches!(before, b"-c" | b"--cmd") || text.starts_with(b"+") || text.starts_with(b"-c");
        if let Some(at) = text.iter().position(|byte| *byte == b'!').filter(|_| is_command) {
            texts.push((text.get(at + 1..).unwrap_or_default().to_vec(), word.span));
        }
        before = text;
    }
    found(texts)
}

/// Handles PowerShell started from bash. Its text is kept unparsed for the comparison with rules.
pub(super) fn powershell(rest: &[Word]) -> Launches {
    let switches =
        rest.iter().take_while(|word| folded(word).is_some_and(|word| names::is_powershell_switch(&word)));
    let own = rest.get(switches.count()..).unwrap_or_default();
    if is_script(own)
        || matches!(own, [word] if folded(word).is_some_and(|word| names::tells_of_powershell(&word)))
    {
        return Launches::default();
    }
    let text =
        rest.iter().map(|word| word.text.as_deref().unwrap_or(&word.lead)).collect::<Vec<_>>().join(&b' ');
    let is_dash = |word: &Word| word.text.as_deref() == Some(b"-");
    let reads_input = own.is_empty() || own.iter().any(|word| word.text.is_none() || is_dash(word));
    let (script, is_all) = arguments::script(rest).unzip();
    let is_all = is_all == Some(true);
    Launches { powershell: Some(PowerShell { script, is_all, text, reads_input }), ..Launches::default() }
}

fn folded(word: &Word) -> Option<Vec<u8>> {
    word.text.as_deref().map(<[u8]>::to_ascii_lowercase)
}

/// Recognizes `x.ps1` and `-File x.ps1`: as with other shells, the text is in a file.
fn is_script(words: &[Word]) -> bool {
    let name = match words {
        [flag, name, ..] if matches!(folded(flag).as_deref(), Some(b"-file" | b"-f")) => name,
        [name, ..] => name,
        [] => return false,
    };
    let text = name.text.as_deref().unwrap_or_default();
    !text.starts_with(b"-") && text.to_ascii_lowercase().ends_with(b".ps1") && !text.contains(&b' ')
}
